"""The whole verifier as a person runs it, once: seconds beside its budget, and where they went."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

from numerics.verify.records import REQUIRED_GRADES
from tests.bench.stopwatch import side_by_side
from tests.bench.table import Row

BUDGET = 120.0
ROOT = Path(__file__).resolve().parents[2]


def processor_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_verify_every_claim(benchmark: BenchmarkFixture, report: Callable[[Row], None], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "numerics", "verify", "--report", str(tmp_path)]
    # `make bench` pins its own process to one thread; `make verify-theory` does not.
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    before = processor_seconds_of_children()
    timed = side_by_side(
        benchmark,
        lambda: subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False),
        rounds=1,
    )
    cpu, cores = processor_seconds_of_children() - before, os.cpu_count() or 1
    outcome = {0: "all verified", 1: "NOT all verified"}.get(timed.value.returncode, "could not run")
    note = f"{outcome}; at least {cpu / cores:.0f} s on {cores} idle cores"
    report(Row("python -m numerics verify, new process", timed.own.wall, cpu, budget=BUDGET, note=note))

    if (tmp_path / "results.json").exists():
        _report_grades(json.loads((tmp_path / "results.json").read_text(encoding="utf-8")), report)
    # What a run costs is known whatever it found; a benchmark of something broken still does not pass.
    assert timed.value.returncode == 0, timed.value.stdout + timed.value.stderr


def _report_grades(results: dict[str, Any], report: Callable[[Row], None]) -> None:
    spent = {
        str(grade): sum(e["seconds"] for c in results["claims"] for e in c["evidence"] if e["grade"] == grade)
        for grade in REQUIRED_GRADES
    }
    for grade, seconds in spent.items():
        report(Row(f"  of which {grade}", seconds, ratio=seconds / sum(spent.values()), beside="share of all grades"))
