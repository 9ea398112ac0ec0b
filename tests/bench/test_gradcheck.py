"""One call of check_slope beside scipy's derivative and torch's gradcheck, on the same function.

The three answer different questions: scipy estimates a derivative; gradcheck compares automatic differentiation with
one step size, within a fixed tolerance; check_slope judges a claim (three-valued) by the remainder at 15 steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from numerics.gradcheck import check_slope
from numerics.inputs import photograph_crops
from numerics.measure import Setup
from numerics.numbers import FLOATS
from numerics.real import exact_instance
from numerics.routes.autodiff import claimed_value
from numerics.tolerance import slope_scale
from tests.bench.stopwatch import side_by_side
from tests.bench.table import Row
from theory import find_claim

ROUNDS = 31
PART = find_claim("P1").parts[1]


@dataclass
class Counted:
    """A function of one float64 tensor without dimensions that counts its calls."""

    function: Callable[[torch.Tensor], torch.Tensor]
    calls: int = 0

    def __call__(self, step: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.function(step)


def reconstruction_loss() -> tuple[Callable[[torch.Tensor], torch.Tensor], float, float]:
    """L_SPT along a blind pattern on a real crop of 64 tokens, its slope at 0, and the scale of that slope."""
    instance = exact_instance(PART, photograph_crops(8))
    setup = Setup(instance, FLOATS)
    claimed, scale = float(claimed_value(PART, instance)), slope_scale(instance, PART.quantity)
    return lambda step: setup.value(PART.quantity, setup.attention(step, setup.pattern)), claimed, scale


@pytest.mark.parametrize("name", ["tanh", "L_SPT, L = 64"])
def test_check_slope(
    name: str, benchmark: BenchmarkFixture, report: Callable[[Row], None], not_run: Callable[[str, str], None]
) -> None:
    function, claimed, scale = (torch.tanh, 1.0, 1.0) if name == "tanh" else reconstruction_loss()
    zero = torch.zeros((), dtype=torch.float64)
    counted = Counted(function)

    def by_gradcheck() -> bool:
        return torch.autograd.gradcheck(counted, (zero.clone().requires_grad_(),))

    others: dict[str, Callable[[], Any]] = {"evaluation": lambda: counted(zero), "torch gradcheck": by_gradcheck}
    try:
        from scipy.differentiate import derivative
    except ImportError:
        derivative = None
    if derivative is not None:
        elementwise = np.vectorize(lambda step: float(counted(torch.tensor(step, dtype=torch.float64))), otypes=[float])
        others["scipy derivative"] = lambda: derivative(elementwise, 0.0)

    timed = side_by_side(
        benchmark, lambda: check_slope(counted, claimed, at=zero, scale=scale), others, rounds=ROUNDS, warm=True
    )
    assert timed.value.passed
    assert by_gradcheck()
    calls = {}
    for other, call in others.items():
        counted.calls = 0
        call()
        calls[other] = counted.calls
    own = timed.own
    note = f"{timed.value.nfev} evaluations"
    report(Row(f"check_slope, {name}", own.wall, own.cpu, timed.ratio("evaluation"), "one evaluation", note=note))
    for other in ("scipy derivative", "torch gradcheck"):
        if other not in others:
            report(Row(f"{other}, {name}", None, note="scipy.differentiate needs scipy 1.15"))
            continue
        took, note = timed.others[other], f"{calls[other]} evaluations"
        report(Row(f"{other}, {name}", took.wall, took.cpu, took.cpu / own.cpu, "check_slope", note=note))
