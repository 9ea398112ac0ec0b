"""Two sides timed in turn, in one run: the only fair ratio on a machine that does other things too.

Wall seconds say how long a person waits; ratios are of processor seconds, which other load disturbs less.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

#: A shorter measurement says more about the clock than about the function, so that quick functions are repeated.
LEAST_SECONDS = 5e-3


@dataclass(frozen=True)
class Time:
    """Wall and processor seconds of one call."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Sides:
    """Medians of the benchmarked function and of what ran beside it, and what the function returned last."""

    own: Time
    others: Mapping[str, Time] = field(default_factory=dict)
    value: Any = None

    def ratio(self, name: str) -> float:
        """How many times the processor time of the other side the benchmarked function took."""
        return self.own.cpu / self.others[name].cpu


def clock(function: Callable[[], Any], least_seconds: float = LEAST_SECONDS) -> Time:
    """Mean time of one call, over as many calls as fill ``least_seconds``."""
    calls, wall, cpu = 0, time.perf_counter(), time.process_time()
    while True:
        function()
        calls += 1
        spent = time.perf_counter() - wall
        if spent >= least_seconds:
            return Time(spent / calls, (time.process_time() - cpu) / calls)


def median(times: list[Time]) -> Time:
    """Median wall and median processor seconds."""
    return Time(statistics.median(t.wall for t in times), statistics.median(t.cpu for t in times))


def side_by_side(
    benchmark: BenchmarkFixture,
    target: Callable[[], Any],
    others: Mapping[str, Callable[[], Any]] | None = None,
    *,
    rounds: int,
    prepare: Callable[[], None] = lambda: None,
    warm: bool = False,
    least_seconds: float = LEAST_SECONDS,
    repeats: int = 1,
) -> Sides:
    """Benchmark ``target``; before each of its rounds every other side runs too.

    ``prepare`` (not timed) comes before every side; ``warm`` calls each side once beforehand.  The other sides are
    measured ``repeats`` times a round, for ``least_seconds`` each.
    """
    beside: dict[str, list[Time]] = {name: [] for name in others or {}}
    own: list[Time] = []

    def before() -> None:
        for name, other in [*(others or {}).items()] * repeats:
            prepare()
            beside[name].append(clock(other, least_seconds))
        prepare()

    def timed() -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        value = target()
        own.append(Time(time.perf_counter() - wall, time.process_time() - cpu))
        return value

    if warm:
        for function in (*(others or {}).values(), target):
            prepare()
            function()
    value = benchmark.pedantic(timed, setup=before, rounds=rounds)
    return Sides(median(own), {name: median(times) for name, times in beside.items()}, value)
