"""The numeric routes on real crops (P1, reconstruction half): cost beside one evaluation of the definition."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from numerics.inputs import photograph_crops
from numerics.instances import Instance
from numerics.measure import Setup, by_forward_mode, by_reverse_mode
from numerics.numbers import FLOATS
from numerics.real import RealOptions, exact_instance, float_instance
from numerics.routes.autodiff import claimed_value
from numerics.routes.enclosure import enclose
from numerics.routes.replay import replay
from numerics.routes.sampling import sample
from numerics.routes.slope import slope_check
from numerics.tolerance import tolerance
from tests.bench.stopwatch import side_by_side
from tests.bench.table import Row
from theory import claims, find_claim
from theory.claim import Claim, Part, Quantity
from theory.derivation import Derivation

EVALUATION = "one evaluation"
EXAMPLES = 50


@dataclass(frozen=True)
class Case:
    """A statement on one instance, with its derivation and its objective at uniform attention."""

    instance: Instance
    chain: Derivation
    evaluate: Callable[[], Any]

    def agrees(self, slope: np.ndarray) -> bool:
        deviation = float(np.abs(slope - claimed_value(PART, self.instance)).max())
        return deviation <= tolerance(self.instance, PART.quantity)


PART = find_claim("P1").parts[1]


@cache
def case(side: int, crops: str) -> Case:
    """Grey crops of side x side pixels: one, exactly, or all of them in float64."""
    data = photograph_crops(side)
    instance = exact_instance(PART, data) if crops == "one" else float_instance(PART, data, RealOptions())
    setup, uniform = Setup(instance, FLOATS), torch.zeros((), dtype=torch.float64)
    return Case(
        instance, PART.derivation(), lambda: setup.value(PART.quantity, setup.attention(uniform, setup.pattern))
    )


@dataclass(frozen=True)
class Route:
    """What the verifier calls (timed), whether its answer is right (not timed), and rounds at L = 1024."""

    run: Callable[[Case], Any]
    right: Callable[[Case, Any], bool]
    rounds: int = 5


ROUTES = {
    "replay modulo a prime": Route(lambda c: replay(c.chain, PART, c.instance), lambda c, found: found is None, 2),
    "ball enclosure": Route(lambda c: enclose(PART, c.instance), lambda c, ball: ball.meets and ball.narrow, 1),
    "reverse mode": Route(lambda c: by_reverse_mode(c.instance, PART.quantity), Case.agrees),
    "forward mode": Route(lambda c: by_forward_mode(c.instance, PART.quantity), Case.agrees),
    "slope test": Route(
        lambda c: slope_check(PART, c.instance, np.random.default_rng(0)), lambda c, check: check.passed, 3
    ),
}
FLOAT_ROUTES = ("reverse mode", "forward mode", "slope test")


@pytest.mark.parametrize(
    ("name", "side", "crops"),
    [(name, side, "one") for side in (8, 32) for name in ROUTES] + [(name, 32, "all") for name in FLOAT_ROUTES],
)
def test_route(name: str, side: int, crops: str, benchmark: BenchmarkFixture, report: Callable[[Row], None]) -> None:
    route, work = ROUTES[name], case(side, crops)
    sequences, length, _ = work.instance.tokens.shape
    rounds, least_seconds = (15, 5e-3) if side == 8 else (route.rounds, 0.2)
    work.evaluate()
    timed = side_by_side(
        benchmark,
        lambda: route.run(work),
        {EVALUATION: work.evaluate},
        rounds=rounds,
        warm=rounds > 2,
        least_seconds=least_seconds,
    )
    assert route.right(work, timed.value)
    what = f"{name}, L = {length}, {sequences} crop{'s' * (sequences > 1)}"
    report(Row(what, timed.own.wall, timed.own.cpu, timed.ratio(EVALUATION), EVALUATION))


def measured(claim: Claim) -> Part | None:
    """The first part that is sampled."""
    return next((part for part in claim.parts if part.quantity is not Quantity.ALGEBRAIC), None)


@pytest.mark.parametrize("identifier", [claim.id for claim in claims() if measured(claim)])
def test_sampled_examples(identifier: str, benchmark: BenchmarkFixture, report: Callable[[Row], None]) -> None:
    claim = find_claim(identifier)
    part = measured(claim)
    assert part is not None
    timed = side_by_side(
        benchmark,
        lambda: sample(part, least_length=claim.least_length, examples=EXAMPLES, number=0),
        rounds=1,
    )
    assert timed.value.examples
    rate = timed.value.examples / timed.own.cpu
    what = f"{timed.value.examples} sampled examples of {identifier}, {part.label}"
    report(Row(what, timed.own.wall, timed.own.cpu, note=f"{rate:.0f} examples/s"))
