"""Is a claimed slope right? The Taylor remainder test with three answers.

For steps h that fall geometrically, the remainder R1(h) = |f(x+h) - f(x) - h * claimed| falls as h**2 or faster when
the claim is right, as h when it is wrong. No tolerance has to be guessed. The answer is PASS, FAIL or INCONCLUSIVE:
what rounding, a kink, randomness or a domain edge hides is never passed, and never blamed on the claim.
How it is checked: ``tests/numerics/gradcheck/test_traps.py`` (one test for each public report of a checker that was
fooled) and ``test_slope_properties.py`` (random functions).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import torch

from .errors import GradientCheckError
from .ladder import NOT_DETERMINISTIC, Ladder, as_tuple
from .precision import epsilon, format_name, format_of
from .remainder import PLATEAU, Estimate, Remainder, estimate, observed_order, secant_scale, split_remainder
from .scalar import sample_scalar

# Order of the remainder of a right slope; a wrong one gives 1. Remainders used for the order are known to 10 %, so a
# local slope is known to log(1.1/0.9)/log(ratio): 0.30 at the step ratio 1.94 of float32, 0.12 at 5.0 of float64.
EXPECTED_ORDER = 2.0
ORDER_SLACK = 1 / 3


class SlopeOutcome(StrEnum):
    """Verdict on a claimed slope."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class SlopeCheck:
    """Verdict on a claimed slope and everything that it rests on. Tuples have length K, largest step first.

    Attributes:
        outcome: PASS, FAIL or INCONCLUSIVE.
        reason: one sentence.
        at: the point, rounded to the working precision.
        claimed: the claimed slope.
        estimated: slope by finite differences from the same values (nan if there is none).
        estimated_error: its absolute error bound: truncation, rounding, and kinks that cannot be ruled out.
        observed_order: order of the remainder at the smallest steps clear of rounding; the smaller of the orders of
            its odd half (1 when the claim is wrong) and its even half (1 at a kink). None: zero to rounding.
        expected_order: 2 for a right claim; even, odd or polynomial functions may give more.
        scale: the slope scale that the resolution is compared with.
        resolution: smallest error of the claim that could not have passed.
        left_slope, right_slope: one-sided slopes.
        vacuous: the function does not move beyond rounding at any step, so that a zero slope says nothing.
        steps: h, in units of the input.
        remainders: R1(h), the larger of |f(x +- h) - f(x) -+ h * claimed|.
        remainders0: R0(h), the larger of |f(x +- h) - f(x)|.
        odd_remainders, even_remainders: the halves of R1; their absolute values add up to it.
        floor: rounding floor of R0 and R1.
        working_precision: number format that the function computes in.
        nfev: number of function evaluations.
    """

    outcome: SlopeOutcome
    reason: str
    at: float
    claimed: float
    estimated: float
    estimated_error: float
    observed_order: float | None
    scale: float
    resolution: float
    left_slope: float
    right_slope: float
    vacuous: bool
    steps: tuple[float, ...]
    remainders: tuple[float, ...]
    remainders0: tuple[float, ...]
    odd_remainders: tuple[float, ...]
    even_remainders: tuple[float, ...]
    floor: tuple[float, ...]
    working_precision: str
    nfev: int
    expected_order: float = EXPECTED_ORDER

    @property
    def passed(self) -> bool:
        """Whether the outcome is PASS."""
        return self.outcome is SlopeOutcome.PASS


def check_slope(
    function: Callable[[Any], Any],
    claimed_slope: Any,
    at: Any = 0.0,
    *,
    scale: float | None = None,
    largest_step: float | None = None,
    step_count: int = 15,
    relative_resolution: float = 1e-3,
    seed: int = 0,
) -> SlopeCheck:
    """Check a claimed slope f'(at) of a function of one real variable by its Taylor remainder.

    Args:
        function: takes a number of the same type as ``at`` (float, numpy scalar or 0-d tensor), returns one number.
            It is evaluated 7 + 2 * step_count times (37 by default) and should be differentiable at ``at``.
        claimed_slope: the claim, in units of output per input. A numpy or torch scalar of low precision is taken to
            be rounded to that precision.
        at: the point.
        scale: size that a slope must have to matter, same units as the slope. By default the size of the claim or,
            for a claimed zero, the steepest secant through the point. Needed to pass a zero slope of a function that
            is constant around the point.
        largest_step: largest step in units of the input; by default a quarter of max(abs(at), 1). Set it when the
            function lives on a much smaller or larger length.
        step_count: number of steps, largest to smallest.
        relative_resolution: a PASS requires that an error of the claim by this share of the scale would show.
        seed: draws the factor that keeps steps away from dyadic numbers, on which rounding can vanish by luck.

    Returns:
        A record with the verdict. PASS: the claim lies within the error bar of the finite difference, the remainder
        has order 2 or more (or is zero), and the resolution is fine enough. FAIL: the claim is off by more than three
        error bars, by the same amount at all steps (order 1). INCONCLUSIVE: anything else, with the reason.

    Raises:
        GradientCheckError: if an argument is out of range or the function does not return one real number.

    Example:
        >>> import math
        >>> check = check_slope(math.sin, 1.0, at=0.0)
        >>> check.outcome, check.reason
        (<SlopeOutcome.PASS: 'pass'>, 'the remainder has order 3.0, at least 2')
        >>> check_slope(math.sin, 0.99, at=0.0).reason
        'the claim 0.99 is wrong: the measured slope is 1 +- 5.9e-15, the remainder has order 1.0'
        >>> check_slope(abs, 0.0, at=0.0).reason
        'left and right slopes differ: -1 and 1'
    """
    for name, value in (("scale", scale), ("relative_resolution", relative_resolution)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise GradientCheckError(f"{name} must be positive and finite: {value}; leave it out for a default")
    claimed = float(claimed_slope.detach()) if isinstance(claimed_slope, torch.Tensor) else float(claimed_slope)
    ladder, number_format, calls = sample_scalar(function, at, largest_step, step_count, seed)
    fields: dict[str, Any] = {"working_precision": format_name(number_format), "nfev": calls}
    if math.isnan(claimed):
        return _without_remainder(ladder, claimed, SlopeOutcome.FAIL, "the claimed slope is not a number", fields)
    if math.isinf(claimed):
        reason = "the claimed slope is infinite, which a remainder cannot confirm"
        return _without_remainder(ladder, claimed, SlopeOutcome.INCONCLUSIVE, reason, fields)
    if not ladder.usable:
        return _without_remainder(ladder, claimed, SlopeOutcome.INCONCLUSIVE, ladder.non_finite_reason(), fields)

    remainder = split_remainder(ladder, np.array([claimed]), epsilon(format_of(claimed_slope)))
    found = estimate(remainder)
    vacuous = bool(ladder.still[0])
    own_scale = abs(claimed) if claimed != 0 else float(secant_scale(remainder)[0])
    reference = own_scale if scale is None else scale
    orders = _orders(remainder)
    if ladder.deterministic:
        outcome, reason = _judge(
            claimed, found, orders, reference, reference * relative_resolution, vacuous and scale is None
        )
    else:
        outcome, reason = SlopeOutcome.INCONCLUSIVE, NOT_DETERMINISTIC
    if ladder.lost is not None:
        reason += f"; steps of {ladder.lost:.3g} and more left the domain and were not used"
    measured, gap = claimed + float(found.slope_error[0]), float(found.half_gap[0])
    return SlopeCheck(
        outcome=outcome,
        reason=reason,
        at=ladder.at,
        claimed=claimed,
        estimated=measured,
        estimated_error=float(found.uncertainty[0]),
        observed_order=min((order for order in orders if order is not None), default=None),
        scale=reference,
        resolution=float(found.resolution[0]),
        left_slope=measured - gap,
        right_slope=measured + gap,
        vacuous=vacuous,
        steps=as_tuple(remainder.steps),
        remainders=as_tuple(remainder.total),
        remainders0=as_tuple(remainder.movement),
        odd_remainders=as_tuple(remainder.odd),
        even_remainders=as_tuple(remainder.even),
        floor=as_tuple(remainder.total_floor),
        **fields,
    )


def _orders(remainder: Remainder) -> tuple[float | None, float | None]:
    """Observed orders of the odd and the even half."""
    return (
        observed_order(remainder.odd[:, 0], remainder.odd_floor[:, 0], remainder.steps),
        observed_order(remainder.even[:, 0], remainder.even_floor[:, 0], remainder.steps),
    )


def _judge(
    claimed: float,
    found: Estimate,
    orders: tuple[float | None, float | None],
    reference: float,
    finest_needed: float,
    vacuous: bool,
) -> tuple[SlopeOutcome, str]:
    """Verdict and reason for a finite, deterministic function."""
    measured, error = claimed + float(found.slope_error[0]), float(found.uncertainty[0])
    odd_order = orders[0]
    if found.kink[0]:
        half_gap = float(found.half_gap[0])
        reason = f"left and right slopes differ: {measured - half_gap:.6g} and {measured + half_gap:.6g}"
        if found.wrong[0]:
            return SlopeOutcome.FAIL, f"{reason}; the claim {claimed:.6g} lies outside both"
        return SlopeOutcome.INCONCLUSIVE, reason
    if found.plateau[0]:
        return SlopeOutcome.INCONCLUSIVE, PLATEAU
    if found.wrong[0] and odd_order is not None and abs(odd_order - 1) <= ORDER_SLACK:
        return SlopeOutcome.FAIL, (
            f"the claim {claimed:.6g} is wrong: the measured slope is {measured:.6g} +- {error:.2g},"
            f" the remainder has order {odd_order:.1f}"
        )
    if vacuous and claimed == 0:
        return SlopeOutcome.INCONCLUSIVE, (
            "vacuous: the function does not move beyond rounding at any step; pass scale to say how large a slope"
            " would matter, or choose a point where it moves"
        )
    resolution = float(found.resolution[0])
    if resolution > finest_needed:
        return SlopeOutcome.INCONCLUSIVE, (
            f"rounding or curvature hides slope errors up to {resolution:.2g}, too coarse for the slope scale"
            f" {reference:.2g}"
        )
    order = min((value for value in orders if value is not None), default=None)
    if not found.consistent[0] or (order is not None and order < EXPECTED_ORDER - ORDER_SLACK):
        shown = "zero to rounding" if order is None else f"of order {order:.2f}"
        return SlopeOutcome.INCONCLUSIVE, (
            f"the remainder is {shown}, the measured slope {measured:.6g} +- {error:.2g} against the claim"
            f" {claimed:.6g}: neither clearly right nor clearly wrong"
        )
    if order is None:
        return SlopeOutcome.PASS, "the remainder is zero to rounding at all steps: the function is exactly linear here"
    if math.isinf(order):
        return SlopeOutcome.PASS, "the remainder is zero at small steps: the function is exactly linear near the point"
    return SlopeOutcome.PASS, f"the remainder has order {order:.1f}, at least 2"


def _without_remainder(
    ladder: Ladder, claimed: float, outcome: SlopeOutcome, reason: str, fields: dict[str, Any]
) -> SlopeCheck:
    """A record for a claim or function that has no remainder to speak of."""
    nothing: tuple[float, ...] = ()
    return SlopeCheck(
        outcome=outcome,
        reason=reason,
        at=ladder.at,
        claimed=claimed,
        estimated=math.nan,
        estimated_error=math.inf,
        observed_order=None,
        scale=math.nan,
        resolution=math.inf,
        left_slope=math.nan,
        right_slope=math.nan,
        vacuous=False,
        steps=nothing,
        remainders=nothing,
        remainders0=nothing,
        odd_remainders=nothing,
        even_remainders=nothing,
        floor=nothing,
        **fields,
    )
