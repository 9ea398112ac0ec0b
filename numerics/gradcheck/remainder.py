"""The Taylor remainder of a claimed slope, split into the half that knows the slope and the half that knows kinks.

With r(t) = f(x + t) - f(x) - t * claimed, the *odd* half (r(h) - r(-h))/2 = (f' - claimed) h + O(h**3) has order 1
exactly when the claim is wrong, and the *even* half (r(h) + r(-h))/2 = f'' h**2/2 + O(h**4) has order 1 exactly when
the left and right slopes differ. The classical remainder R1(h), the larger of |r(h)| and |r(-h)|, is the sum of their
absolute values. The split matters in low precision: the odd half of a right claim dies out as h**3, so that slope
errors of 1e-3 are visible in float32, where curvature would hide them from R1 alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .ladder import ROUNDINGS, Array, Flags, Ladder

# A measured difference must exceed its error estimate by this factor to count as real. The estimate is a bound on
# independent parts (truncation, rounding) that adds up absolutely; 3 is the usual distance for "not an accident".
SIGNIFICANT = 3.0

# Remainders below ten times the rounding floor are left out of the order: at ten times, the error is 10 %.
CLEAR_OF_FLOOR = 10.0


PLATEAU = (
    "the function is flat at small steps but has a slope at larger ones: its values are quantised, or x lies on a"
    " plateau"
)


@dataclass(frozen=True, eq=False)
class Remainder:
    """Odd and even halves of the remainder of m claimed slopes on K steps, largest step first.

    Attributes:
        steps: shape [K].
        odd, even: the halves, shape [K, m].
        odd_floor, even_floor: rounding floors of the halves, shape [K, m].
        movement: R0(h), shape [K, m].
        claimed: the claimed slopes, shape [m].
        quantum: see ``Ladder``, shape [m].
    """

    steps: Array
    odd: Array
    even: Array
    odd_floor: Array
    even_floor: Array
    movement: Array
    claimed: Array
    quantum: Array

    @property
    def total(self) -> Array:
        """R1(h), the larger of the two one-sided remainders, shape [K, m]."""
        return np.abs(self.odd) + np.abs(self.even)

    @property
    def total_floor(self) -> Array:
        """Rounding floor of R0 and R1: two values, each with its own rounding error, shape [K, m]."""
        return self.even_floor


@dataclass(frozen=True, eq=False)
class Estimate:
    """What the remainder says about m slopes, each from the three steps that determine it best.

    Attributes:
        slope_error: true slope minus claimed slope, extrapolated to step 0, shape [m].
        uncertainty: error bound of ``slope_error`` (truncation, rounding, unseen kinks), shape [m]; inf when no three
            steps give a limit that all smaller steps agree with.
        half_gap: half of (right slope minus left slope), shape [m].
        half_gap_uncertainty: error bound of ``half_gap``, shape [m].
        level: index of the middle one of the three steps, shape [m].
        kink: whether left and right slopes differ, shape [m].
        plateau: whether the function is exactly flat at small steps but has a slope at larger ones, shape [m].
    """

    slope_error: Array
    uncertainty: Array
    half_gap: Array
    half_gap_uncertainty: Array
    level: NDArray[np.intp]
    kink: Flags
    plateau: Flags

    @property
    def wrong(self) -> Flags:
        """Whether the claim is refuted, off by more than three error bounds, shape [m]."""
        return np.asarray((np.abs(self.slope_error) > SIGNIFICANT * self.uncertainty) & ~self.plateau)

    @property
    def consistent(self) -> Flags:
        """Whether the claim lies within the error bound, shape [m]."""
        return np.asarray(np.abs(self.slope_error) <= self.uncertainty)

    @property
    def resolution(self) -> Array:
        """Smallest error of the claim that could not have passed, shape [m].

        A claim that is off by e passes only if the measured slope error, known to +- uncertainty, lies within
        +- uncertainty, so only if e is at most twice the uncertainty.
        """
        return 2 * self.uncertainty


def secant_scale(remainder: Remainder) -> Array:
    """Steepest secant through x that is clear of rounding, shape [m]; 0 where the function does not move at all.

    It says what a non-zero slope would look like: for cos at 0 the slope is 0 but secants reach about h/2.
    """
    moves = remainder.movement > remainder.total_floor
    return np.asarray(np.where(moves, remainder.movement / remainder.steps[:, None], 0.0).max(axis=0))


def split_remainder(ladder: Ladder, claimed: Array, claim_epsilon: float) -> Remainder:
    """Both halves of the remainder of the claimed slopes.

    Args:
        ladder: values of m functions on K steps.
        claimed: the m claimed slopes.
        claim_epsilon: relative spacing of the numbers that the claim was computed in; a claim is itself rounded.
    """
    noise = ladder.value_noise()
    claim_noise = ROUNDINGS * claim_epsilon * np.abs(claimed) * ladder.steps[:, None]
    right = ladder.right - ladder.center - ladder.right_steps[:, None] * claimed
    left = ladder.left - ladder.center + ladder.left_steps[:, None] * claimed
    return Remainder(
        steps=ladder.steps,
        odd=(right - left) / 2,
        even=(right + left) / 2,
        odd_floor=noise + claim_noise,  # half of two value errors
        even_floor=2 * noise + claim_noise,  # the same, and the error of f(x)
        movement=ladder.movement,
        claimed=claimed,
        quantum=ladder.quantum,
    )


def extrapolate(quotients: Array, steps: Array, noise: Array, power: int) -> tuple[Array, Array, Flags]:
    """Limit of quotients q(h) = q(0) + O(h**power) as h falls to 0, from every three consecutive steps.

    One Richardson extrapolation of the two smaller steps. Truncation is bounded by their whole difference, not by the
    correction made, and by the previous difference divided by the step ratio, so that one accidental agreement
    cannot pass for convergence.

    Args:
        quotients: shape [K, m].
        steps: shape [K], largest first.
        noise: rounding floors of the quotients, shape [K, m].
        power: leading power of h in the truncation error.

    Returns:
        Extrapolated values, their error bounds, and whether each agrees with the quotients at *all* smaller steps up
        to their rounding; each of shape [K - 2, m]. A limit that smaller steps contradict was none: the function has
        a shorter length than those steps, or a kink within them.
    """
    ratios = (steps[:-1] / steps[1:])[:, None]
    differences = np.diff(quotients, axis=0)
    gain = ratios[1:] ** power
    values = quotients[2:] + differences[1:] / (gain - 1)
    truncation = np.maximum(np.abs(differences[1:]), np.abs(differences[:-1]) / ratios[1:])
    bounds = truncation + (gain * noise[2:] + noise[1:-1]) / (gain - 1)
    smaller = np.arange(len(steps)) > np.arange(len(values))[:, None] + 2
    agrees = np.abs(quotients - values[:, None]) <= SIGNIFICANT * (bounds[:, None] + noise)
    return values, bounds, np.asarray((agrees | ~smaller[:, :, None]).all(axis=1))


def estimate(remainder: Remainder) -> Estimate:
    """Slope error and kink of every function, each from the three steps that determine it best."""
    heights = remainder.steps[:, None]
    slopes, slope_bounds, slope_holds = extrapolate(
        remainder.odd / heights, remainder.steps, remainder.odd_floor / heights, power=2
    )
    gaps, gap_bounds, gap_holds = extrapolate(
        remainder.even / heights, remainder.steps, remainder.even_floor / heights, power=1
    )
    # Kinks between x - h and x + h bend the odd half as much as the even half, and the even half shows it: its
    # quotient extrapolates to 0 for a smooth function. What is left over, and how much that changes from the step
    # before, is added to the bound. So a kink near x but not at x moves the choice to smaller steps (pytorch#57166),
    # and a kink at x makes the bound reach both one-sided slopes.
    changes = np.abs(np.diff(gaps, axis=0))
    slope_bounds = slope_bounds + np.abs(gaps) + np.concatenate([gap_bounds[:1], changes])

    columns = np.arange(slopes.shape[1])
    best = np.argmin(np.where(slope_holds, slope_bounds, np.inf), axis=0)
    slope_error = slopes[best, columns]
    uncertainty = np.where(slope_holds[best, columns], slope_bounds[best, columns], np.inf)
    best_gap = np.argmin(np.where(gap_holds, gap_bounds, np.inf), axis=0)
    half_gap = gaps[best_gap, columns]
    half_gap_uncertainty = np.where(gap_holds[best_gap, columns], gap_bounds[best_gap, columns], np.inf)

    # Flat at small steps, sloped at larger ones: rounding hides the slope at the small steps, or a plateau ends before
    # the large ones. The values cannot tell, so neither slope is believed.
    sloped = np.abs(remainder.claimed + slope_error) > SIGNIFICANT * uncertainty
    return Estimate(
        slope_error=slope_error,
        uncertainty=uncertainty,
        half_gap=half_gap,
        half_gap_uncertainty=half_gap_uncertainty,
        level=best + 1,
        kink=np.abs(half_gap) > SIGNIFICANT * half_gap_uncertainty,
        plateau=(remainder.quantum > 0) & sloped,
    )


def observed_order(half: Array, floor: Array, steps: Array) -> float | None:
    """Order in h of one half of the remainder at the smallest steps that are clear of the rounding floor.

    The median of the last three local slopes in log-log. Where the remainder then falls below the floor, the drop is
    at least as steep as from its last clear value to the floor, which gives a lower bound that replaces a smaller
    median: next to a kink the remainder has order 1 until the steps become smaller than the distance to the kink.

    Args:
        half: one half of the remainder of one function, shape [K].
        floor: its rounding floor, shape [K].
        steps: shape [K], largest first.

    Returns:
        The order, or None when fewer than two steps are clear of the floor (the remainder is zero to rounding).
    """
    size = np.abs(half)
    clear = size > CLEAR_OF_FLOOR * floor
    pairs = np.flatnonzero(clear[1:] & clear[:-1])
    if not len(pairs):
        return None
    log_ratios = np.log(steps[pairs] / steps[pairs + 1])
    order = float(np.median((np.log(size[pairs] / size[pairs + 1]) / log_ratios)[-3:]))
    after = int(pairs[-1]) + 2
    if after < len(steps) and size[after] <= floor[after]:
        with np.errstate(divide="ignore"):
            drop = np.log(size[after - 1] / floor[after]) / np.log(steps[after - 1] / steps[after])
        order = max(order, float(drop))
    return order
