"""A geometric ladder of steps around a point, and the rounding floor of the values met on it.

Everything that the checks know about a function is one ``Ladder``: values at x, x + h and x - h for steps h that
fall geometrically. The steps scale with the input and the number format (tesseract-core#706, jax#7742), stay clear
of dyadic numbers (on which rounding can vanish by luck), and stop at the first value that is not finite
(Calculus.jl#131). Repeated evaluations expose functions that are not deterministic (pytorch#114333).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .errors import GradientCheckError
from .precision import epsilon, round_to

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Three consecutive steps give one extrapolated slope and its error; the noise fit below needs four.
MINIMUM_STEPS = 4

# Neighbouring steps closer than this differ too little for a log-log slope: with remainders known to 10 % a ratio of
# 1.5 leaves an error of log(1.1/0.9)/log(1.5) = 0.5 in the order, which is half the gap between orders 1 and 2.
_SMALLEST_RATIO = 1.5

# n roundings of relative size u = eps/2 with independent signs add up to about sqrt(n) u (Higham & Mary 2019, "A new
# approach to probabilistic rounding error analysis"). n = 256 operations give 16 u = 8 eps. Longer or worse
# conditioned computations show up in ``measured_noise`` instead.
ROUNDINGS = 8.0


NOT_DETERMINISTIC = "the function is not deterministic: repeated evaluations at one point differ beyond rounding"


@dataclass(frozen=True, eq=False)
class Ladder:
    """Values of m functions of one variable on K pairs of steps, largest step first.

    Attributes:
        at: the point x.
        right_steps, left_steps: distances of the two nodes from x, shape [K]. They agree up to rounding of x +- h.
        center: values at x, shape [m].
        right, left: values at x + h and x - h, shape [K, m].
        epsilon: spacing of the number format at 1.
        spread: largest difference between repeated evaluations at the same node, shape [m].
        lost: largest step that had to be dropped with all larger ones, because a value was not finite; else None.
        calls: evaluations used.
    """

    at: float
    right_steps: Array
    left_steps: Array
    center: Array
    right: Array
    left: Array
    epsilon: float
    spread: Array
    lost: float | None
    calls: int

    @property
    def steps(self) -> Array:
        """Mean of the two one-sided distances, shape [K]."""
        return (self.right_steps + self.left_steps) / 2

    @property
    def movement(self) -> Array:
        """R0(h), the larger of |f(x+h) - f(x)| and |f(x-h) - f(x)|, shape [K, m]."""
        return np.maximum(np.abs(self.right - self.center), np.abs(self.left - self.center))

    @property
    def quantum(self) -> Array:
        """How far a function jumps at once, where its values seem to move in steps; else 0; shape [m].

        Such a function (a hidden large constant, a rounded result) is exactly flat at the smallest step and moves on
        both sides at larger ones, first by more than the rounding of its values explains. So does a function with a
        true plateau around x. Movement on one side only is a kink nearby (a relu that is off) and no sign of steps.
        """
        both = np.minimum(np.abs(self.right - self.center), np.abs(self.left - self.center)) > 0
        last = len(both) - 1 - np.argmax(both[::-1], axis=0)
        jump = self.movement[last, np.arange(both.shape[1])]
        stepped = (self.movement[-1] == 0) & both.any(axis=0)
        beyond_rounding = jump > 2 * ROUNDINGS * self.epsilon * np.abs(self.center)
        return np.asarray(np.where(stepped & beyond_rounding, jump, 0.0))

    @property
    def magnitude(self) -> Array:
        """Largest absolute value among f(x), f(x+h) and f(x-h), shape [K, m]."""
        return np.maximum(np.maximum(np.abs(self.right), np.abs(self.left)), np.abs(self.center))

    @property
    def usable(self) -> bool:
        """Whether x itself and enough steps around it have finite values."""
        return len(self.right_steps) >= MINIMUM_STEPS and bool(np.isfinite(self.center).all())

    @property
    def deterministic(self) -> bool:
        """Whether repeated evaluations agree up to rounding (reordered sums on several threads may differ so much)."""
        if not len(self.magnitude):
            return True
        return bool((self.spread <= 2 * ROUNDINGS * self.epsilon * self.magnitude.max(axis=0)).all())

    @property
    def still(self) -> Flags:
        """Whether a function moves at no step by more than two roundings of its values, shape [m]."""
        return np.asarray((self.movement <= 2 * ROUNDINGS * self.epsilon * self.magnitude).all(axis=0))

    def non_finite_reason(self) -> str:
        """Why the ladder is not usable, as a sentence."""
        if not np.isfinite(self.center).all():
            value = self.center[~np.isfinite(self.center)][0]
            return f"the function is not finite at the point itself: f({self.at:g}) = {value}"
        return (
            f"the function is not finite at a distance of {self.lost:.3g} from {self.at:g} (edge of its domain?); too"
            " few smaller steps are left: lower largest_step"
        )

    def value_noise(self) -> Array:
        """Bound on the rounding error of one value at each step, shape [K, m]."""
        return ROUNDINGS * self.epsilon * self.magnitude + measured_noise(self) + self.quantum + self.spread


def step_ladder(at: float, number_format: torch.dtype, largest_step: float | None, count: int) -> Array:
    """Geometric steps suited to a point and a number format, largest first.

    Largest: a quarter of max(\\|x\\|, 1), so that x - h keeps the sign of a large x and is still far away for a small
    one. Smallest: eps**(2/3) of the same scale; there a relative rounding error eps of the values has grown to
    eps**(1/3) in the slope (6e-6 in float64), as much as the truncation error at the far end of any useful range,
    so smaller steps cannot say more.

    Args:
        at: the point x.
        number_format: the format that the function computes in.
        largest_step: replaces the default largest step when the function's natural length is known to differ.
        count: number of steps wanted; fewer are used when they would lie closer than a factor of 1.5.

    Raises:
        GradientCheckError: if fewer than four distinct steps fit.

    Example:
        >>> steps = step_ladder(0.0, torch.float64, None, 15)
        >>> len(steps), float(steps[0]), f"{steps[-1]:.1e}"
        (15, 0.25, '3.7e-11')
    """
    if largest_step is not None and not (math.isfinite(largest_step) and largest_step > 0):
        raise GradientCheckError(f"largest_step must be positive and finite: {largest_step}; leave it out")
    shrink = epsilon(number_format) ** (2 / 3)
    largest = max(abs(at), 1.0) / 4 if largest_step is None else largest_step
    smallest = max(4 * largest, abs(at)) * shrink
    span = largest / smallest
    count = min(count, math.floor(math.log(max(span, 1.0)) / math.log(_SMALLEST_RATIO)) + 1)
    if count < MINIMUM_STEPS:
        raise GradientCheckError(
            f"the ladder needs {MINIMUM_STEPS} steps or more: {count} fit between {smallest:.3g} and {largest:.3g};"
            " raise largest_step or step_count, or use a finer number format"
        )
    return np.asarray(np.geomspace(largest, smallest, count), dtype=np.float64)


def jitter(seed: int) -> float:
    """A factor in [0.7, 1) drawn from ``seed``, by which a ladder is shrunk so that no step is a dyadic number."""
    return float(np.random.default_rng(seed).uniform(0.7, 1.0))


def sample(
    evaluate: Callable[[float], Array], at: float, steps: Array, number_format: torch.dtype, center: Array | None = None
) -> Ladder:
    """Evaluate m functions on a ladder of steps around a point.

    Args:
        evaluate: maps a number to m values, shape [m]. Away from x, an ArithmeticError or ValueError (``math.log``
            of a negative number) counts as a value that is not finite; at x it is passed on to the caller.
        at: the point, a number of ``number_format``.
        steps: positive steps, largest first, shape [K].
        number_format: nodes are rounded to it, so that a function which casts its argument sees the node unchanged.
        center: values at x if they are known already.

    Returns:
        The ladder, cut below the largest step at which a value was not finite.
    """
    calls = 0

    def values_at(point: float) -> Array:
        nonlocal calls
        calls += 1
        return evaluate(point)

    def displaced(point: float) -> Array:
        try:
            with np.errstate(all="ignore"):  # leaving the domain is foreseen and reported in the result
                return values_at(point)
        except GradientCheckError:  # a wrong shape or format is no domain edge
            raise
        except (ArithmeticError, ValueError):
            return np.full_like(center_values, np.nan)

    center_values = values_at(at) if center is None else center
    right_nodes = np.array([round_to(at + step, number_format) for step in steps])
    left_nodes = np.array([round_to(at - step, number_format) for step in steps])
    right = np.stack([displaced(float(node)) for node in right_nodes])
    left = np.stack([displaced(float(node)) for node in left_nodes])
    # x alone does not give randomness away (dropout of a zero input is zero): repeat far and near nodes too.
    middle = len(steps) // 2
    repeats = [(values_at(at), center_values)]
    repeats += [(displaced(float(right_nodes[0])), right[0])]
    repeats += [(displaced(float(left_nodes[middle])), left[middle])]
    with np.errstate(invalid="ignore"):  # inf - inf
        differences = [np.abs(again - before) for again, before in repeats]
    spread = np.max([np.where(np.isnan(difference), 0.0, difference) for difference in differences], axis=0)

    finite = np.isfinite(right).all(axis=1) & np.isfinite(left).all(axis=1)
    first = 0 if finite.all() else int(np.flatnonzero(~finite)[-1]) + 1
    keep = slice(first, None)
    return Ladder(
        at=at,
        right_steps=right_nodes[keep] - at,
        left_steps=at - left_nodes[keep],
        center=center_values,
        right=right[keep],
        left=left[keep],
        epsilon=epsilon(number_format),
        spread=spread,
        lost=float(steps[first - 1]) if first else None,
        calls=calls,
    )


def as_tuple(values: Array) -> tuple[float, ...]:
    """Flatten to a tuple of Python floats."""
    return tuple(float(value) for value in np.ravel(values))


def measured_noise(ladder: Ladder) -> Array:
    """Amplitude of the irregular part of the values at the smallest steps, shape [m].

    A cubic with a kink at x (a kink is no noise) is fitted to the nine values on the four smallest steps; what it
    leaves over is rounding that the size of the result does not show, as in (1e6 + x) - 1e6. For noise that is
    uniform in [-a, a] the residual sum of squares is (9 - 5) a**2 / 3 on average, and it falls below a quarter of
    that in about 9 % of cases (chi-squared, 4 degrees of freedom), hence the factor 2.
    """
    near = slice(-MINIMUM_STEPS, None)
    offsets = np.concatenate([[0.0], ladder.right_steps[near], -ladder.left_steps[near]])
    changes = np.concatenate(
        [np.zeros((1, len(ladder.center))), ladder.right[near] - ladder.center, ladder.left[near] - ladder.center]
    )
    unit = offsets / np.abs(offsets).max()
    basis, _ = np.linalg.qr(np.column_stack([np.ones_like(unit), unit, unit**2, unit**3, np.abs(unit)]))
    residual = changes - basis @ (basis.T @ changes)
    freedom = basis.shape[0] - basis.shape[1]
    return np.asarray(2 * np.sqrt(3 * (residual**2).sum(axis=0) / freedom), dtype=np.float64)
