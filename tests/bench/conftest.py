"""Collects the rows of the closing table, prints it, and adds it to the JSON that pytest-benchmark writes."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.table import Row, render

#: `make bench` is meant to be run before every release, so it has to be quick (seconds).
WHOLE_RUN_BUDGET = 420.0

_rows = pytest.StashKey[list[Row]]()
_began = pytest.StashKey[tuple[float, float]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_rows] = []
    config.stash[_began] = (time.perf_counter(), os.getloadavg()[0])


@pytest.fixture
def report(request: pytest.FixtureRequest, benchmark: BenchmarkFixture) -> Iterator[Callable[[Row], None]]:
    """Adds a row to the closing table and to the benchmark's record."""
    mine: list[dict[str, Any]] = []

    def add(row: Row) -> None:
        request.config.stash[_rows].append(row)
        mine.append(row.record())

    yield add
    benchmark.extra_info["rows"] = mine


@pytest.fixture
def not_run(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Skips a benchmark, and says so in the closing table too."""

    def skip(what: str, reason: str) -> None:
        request.config.stash[_rows].append(Row(what, None, note=reason))
        pytest.skip(f"{what}: {reason}")

    return skip


def _all_rows(config: pytest.Config) -> list[Row]:
    seconds = time.perf_counter() - config.stash[_began][0]
    return [*config.stash[_rows], Row("this whole benchmark run", seconds, budget=WHOLE_RUN_BUDGET)]


def _load(config: pytest.Config) -> dict[str, Any]:
    return {"cores": os.cpu_count(), "before": config.stash[_began][1], "after": os.getloadavg()[0]}


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(config: pytest.Config, benchmarks: list[Any], output_json: dict[str, Any]) -> None:
    output_json["rows"] = [row.record() for row in _all_rows(config)]
    output_json["load_average"] = _load(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    rows = _all_rows(config)
    if len(rows) == 1:
        return
    load = _load(config)
    terminalreporter.section("cost")
    terminalreporter.write(render(rows, shutil.get_terminal_size((140, 24)).columns))
    terminalreporter.write_line(
        "Seconds are wall time, medians over rounds; ratios are of processor time, both sides in turn in this run.  "
        f"Load average {load['before']:.1f} before and {load['after']:.1f} after, on {load['cores']} cores: "
        "above the number of cores, wall time includes waiting for other work."
    )
    over = [row.what for row in rows if row.inside is False]
    terminalreporter.write_line(f"Over budget: {'; '.join(over)}" if over else "Every budget was kept.")
