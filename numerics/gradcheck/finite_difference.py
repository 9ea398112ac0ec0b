"""The derivative of a function of one variable by finite differences, with an error bar that can be trusted.

Central differences on a ladder of steps scaled to the input and the number format, one Richardson extrapolation, and
the step at which truncation plus rounding is smallest. The error bar is absolute, hence also valid where the true
derivative is 0 (scipy#18811), and includes truncation, which is no error of whoever claimed the derivative
(gam#2461). The sweep over all steps (the V-curve) is part of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from .ladder import NOT_DETERMINISTIC, as_tuple
from .precision import epsilon, format_name
from .remainder import PLATEAU, estimate, secant_scale, split_remainder
from .scalar import sample_scalar


class DerivativeStatus(StrEnum):
    """How a derivative estimate ended; only SUCCESS is a number to build on."""

    SUCCESS = "success"
    NOISY = "noisy"
    KINK = "kink"
    NON_FINITE = "non-finite"


@dataclass(frozen=True)
class StepSweep:
    """The V-curve: central differences over all steps, largest step first (all tuples of length K).

    Attributes:
        steps: step h, in units of the input.
        values: central difference at h.
        differences: absolute difference between the central difference and the final estimate.
        rounding: rounding floor of the central difference at h.
    """

    steps: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    differences: tuple[float, ...] = ()
    rounding: tuple[float, ...] = ()


@dataclass(frozen=True)
class DerivativeEstimate:
    """A derivative with its error bar.

    Attributes:
        value: the estimate (nan when status is NON_FINITE); the mean of the one-sided slopes when it is KINK.
        error: absolute error bound: truncation, rounding, and kinks that cannot be ruled out (so that at a kink it
            reaches both one-sided slopes). inf when the function is not deterministic or its values are quantised;
            otherwise a NOISY bound may be too small by a factor of a few.
        step: middle one of the three steps that the estimate rests on.
        status: SUCCESS, NOISY, KINK or NON_FINITE.
        reason: one sentence.
        method: how the value was found.
        working_precision: number format that the function computes in.
        nfev: number of function evaluations.
        sweep: the V-curve.
    """

    value: float
    error: float
    step: float
    status: DerivativeStatus
    reason: str
    method: str
    working_precision: str
    nfev: int
    sweep: StepSweep


METHOD = "central differences, one Richardson extrapolation, best of all steps"


def differentiate(
    function: Callable[[Any], Any],
    at: Any = 0.0,
    *,
    scale: float | None = None,
    largest_step: float | None = None,
    step_count: int = 15,
    relative_error: float = 1e-3,
    seed: int = 0,
) -> DerivativeEstimate:
    """Estimate f'(at) with an error bar.

    Args:
        function: takes a number of the same type as ``at`` (float, numpy scalar or 0-d tensor), returns one number.
        at: the point.
        scale: size of slopes that matter; by default the larger of the estimate and the steepest secant seen.
        largest_step: largest step in units of the input; by default a quarter of max(abs(at), 1).
        step_count: number of steps; 7 + 2 * step_count evaluations are used.
        relative_error: the status is NOISY when the error bar exceeds this share of the scale.
        seed: draws the factor that keeps steps away from dyadic numbers.

    Raises:
        GradientCheckError: if an argument is out of range or the function does not return one real number.

    Example:
        >>> import math
        >>> result = differentiate(math.sin, 1.0)
        >>> result.status, abs(result.value - math.cos(1.0)) <= result.error <= 1e-8
        (<DerivativeStatus.SUCCESS: 'success'>, True)
        >>> flat = differentiate(math.cos, 0.0)  # a zero derivative is a success, with an absolute error bar
        >>> flat.status, abs(flat.value) <= flat.error <= 1e-9
        (<DerivativeStatus.SUCCESS: 'success'>, True)
    """
    ladder, number_format, calls = sample_scalar(function, at, largest_step, step_count, seed)

    def result(
        value: float, error: float, step: float, status: DerivativeStatus, reason: str, sweep: StepSweep
    ) -> DerivativeEstimate:
        precision = format_name(number_format)
        return DerivativeEstimate(value, error, step, status, reason, METHOD, precision, calls, sweep)

    if not ladder.usable:
        reason = ladder.non_finite_reason()
        return result(math.nan, math.inf, math.nan, DerivativeStatus.NON_FINITE, reason, StepSweep())
    rounding_of_claim = epsilon(number_format)
    # Two passes: nodes x + h and x - h are rounded and so not quite symmetric; subtracting a first estimate of the
    # slope removes that asymmetry from the even half.
    first = estimate(split_remainder(ladder, np.zeros(1), rounding_of_claim)).slope_error
    remainder = split_remainder(ladder, first, rounding_of_claim)
    found = estimate(remainder)
    value, error = float((first + found.slope_error)[0]), float(found.uncertainty[0])
    step = float(remainder.steps[found.level[0]])
    central = first + remainder.odd / remainder.steps[:, None]
    sweep = StepSweep(
        steps=as_tuple(remainder.steps),
        values=as_tuple(central),
        differences=as_tuple(np.abs(central - value)),
        rounding=as_tuple(remainder.odd_floor / remainder.steps[:, None]),
    )
    if not ladder.deterministic:
        return result(value, math.inf, step, DerivativeStatus.NOISY, NOT_DETERMINISTIC, sweep)
    if found.kink[0]:
        gap = float(found.half_gap[0])
        reason = f"left and right slopes differ: {value - gap:.6g} and {value + gap:.6g}"
        return result(value, error, step, DerivativeStatus.KINK, reason, sweep)
    if found.plateau[0]:
        return result(value, math.inf, step, DerivativeStatus.NOISY, PLATEAU, sweep)
    reference = max(abs(value), float(secant_scale(remainder)[0])) if scale is None else abs(scale)
    if error > relative_error * reference:
        reason = f"the error bar {error:.2g} exceeds {relative_error:.2g} of the slope scale {reference:.2g}"
        return result(value, error, step, DerivativeStatus.NOISY, reason, sweep)
    return result(value, error, step, DerivativeStatus.SUCCESS, "truncation and rounding are under control", sweep)
