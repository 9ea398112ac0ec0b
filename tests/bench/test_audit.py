"""The audit and the long-sequence closed forms within their budgets of time and memory, beside the definition."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from numerics.audit.autodiff import slopes_by_autograd
from numerics.patterns import attention_mask, score_pattern
from numerics.structured.pooled import blind_energy
from numerics.structured.scores import Scores, named_scores
from numerics.structured.slopes import SequenceSlopes, sequence_slopes
from tests.bench.stopwatch import side_by_side
from tests.bench.table import Row

ROOT = Path(__file__).resolve().parents[2]
AUTODIFF = "automatic differentiation"
SEQUENCES, PATHX = 64, 16_384

#: Runs a command and prints the largest memory of its process, in KiB, as the last line of standard error.
_MEASURED = (
    "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(code)"
)
_CLOSED_FORMS = """
import numpy as np
from tests.bench.test_audit import closed_forms, walks
closed_forms(walks({length}))
"""


def walks(length: int, sequences: int = SEQUENCES) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((sequences, length)).cumsum(axis=1) / length**0.5


def closed_forms(rows: np.ndarray) -> tuple[Scores, SequenceSlopes]:
    """Blind energy, pooled weights, unmasked, masked and order slopes of every sequence, d = 1."""
    length = rows.shape[1]
    scores, mean = named_scores("alibi", "full", length), np.full(length, 1 / length)
    assert blind_energy(scores, mean) is not None
    scores.key_weight(mean), scores.key_curvature(mean)
    return scores, sequence_slopes(scores, rows, np.arange(len(rows)))


def memory_of(arguments: list[str], folder: Path) -> float:
    """Runs Python with these arguments; its largest memory in GiB."""
    environment = {n: v for n, v in os.environ.items() if not n.endswith("_NUM_THREADS")} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _MEASURED, sys.executable, *arguments]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stderr.split()[-1]) / 2**20


@pytest.mark.parametrize("length", [512, 1024, 2048])
def test_closed_forms_beside_the_definition(
    length: int, benchmark: BenchmarkFixture, report: Callable[[Row], None]
) -> None:
    rows = walks(length)
    pattern, mask = score_pattern("alibi", length), attention_mask("full", length)
    timed = side_by_side(
        benchmark,
        lambda: closed_forms(rows),
        {AUTODIFF: lambda: slopes_by_autograd(pattern, mask, rows[:, :, None])},
        rounds=3,
        warm=True,
    )
    by_autodiff = slopes_by_autograd(pattern, mask, rows[:, :, None])
    np.testing.assert_allclose(timed.value[1].unmasked, by_autodiff, rtol=1e-9, atol=1e-9 * np.abs(by_autodiff).max())
    what = f"closed forms, L = {length}, {SEQUENCES} sequences"
    report(Row(what, timed.own.wall, timed.own.cpu, timed.ratio(AUTODIFF), AUTODIFF))


def test_closed_forms_at_the_length_of_pathx(
    benchmark: BenchmarkFixture, report: Callable[[Row], None], tmp_path: Path
) -> None:
    rows = walks(PATHX)
    timed = side_by_side(benchmark, lambda: closed_forms(rows), rounds=3, warm=True)
    memory = memory_of(["-c", _CLOSED_FORMS.format(length=PATHX)], tmp_path)
    assert memory < 2
    assert timed.own.wall < 10
    note = f"{memory:.2f} GiB of 2; the definition would need L x L arrays of 2 GiB"
    report(
        Row(f"closed forms, L = {PATHX}, {SEQUENCES} sequences", timed.own.wall, timed.own.cpu, budget=10, note=note)
    )


@pytest.mark.parametrize(("sequences", "length", "budget"), [(10_000, 1024, 60.0), (SEQUENCES, PATHX, 30.0)])
def test_audit_as_a_person_runs_it(
    sequences: int,
    length: int,
    budget: float,
    benchmark: BenchmarkFixture,
    report: Callable[[Row], None],
    tmp_path: Path,
) -> None:
    np.savez(tmp_path / "walks.npz", tokens=walks(length, sequences)[:, :, None])
    arguments = ["-m", "numerics", "audit", "--tokens", "walks.npz"]
    timed = side_by_side(benchmark, lambda: memory_of(arguments, tmp_path), rounds=1)
    assert timed.value < 4
    what = f"python -m numerics audit, {sequences} sequences, L = {length}, new process"
    report(Row(what, timed.own.wall, budget=budget, note=f"{timed.value:.2f} GiB of 4"))
