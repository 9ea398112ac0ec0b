"""Statistics over a few seeds: paired t interval, exact sign-flip p-value, equivalence, Holm, detectable effect.

Values are differences within seeds (or one measure a seed) against a fixed bound.  A bootstrap over so few seeds would
under-cover (.84 for .95 at five seeds), so intervals are Student's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from scipy import optimize, stats

from numerics.errors import InputError

LEVEL = 0.05
POWER = 0.8
#: All 2^n sign patterns are enumerated up to this many seeds.
MOST_SEEDS = 20

Values = Float64[np.ndarray, " seeds"]


def as_values(values: Sequence[float] | Values) -> Values:
    """Finite numbers, one a seed, as an array."""
    found = np.asarray(values, dtype=np.float64)
    if len(found) < 1 or not np.isfinite(found).all():
        raise InputError(f"statistics need finite values, one a seed: {list(values)}; leave out seeds without one")
    return found


def mean_interval(values: Sequence[float] | Values, level: float = LEVEL) -> tuple[float, float, float]:
    """Mean, and the ends of Student's interval of confidence ``1 - level``; infinite for a single seed.

    >>> mean_interval([1.0, 1.0])
    (1.0, 1.0, 1.0)
    """
    found = as_values(values)
    mean, count = float(found.mean()), len(found)
    if count < 2:
        return mean, -math.inf, math.inf
    reach = float(stats.t.ppf(1 - level / 2, count - 1)) * _deviation(found) / math.sqrt(count)
    return mean, mean - reach, mean + reach


def sign_flip(values: Sequence[float] | Values, alternative: str = "two-sided") -> float:
    """Exact p-value of a zero mean when values are symmetric around it: share of the 2^n sign patterns as extreme.

    ``greater`` and ``two-sided``.  With n seeds it cannot fall below 2^-n (two-sided 2^(1-n)).

    >>> sign_flip([1.0, 2.0, 3.0])
    0.25
    """
    found = as_values(values)
    if len(found) > MOST_SEEDS:
        raise InputError(f"exact sign flips need at most {MOST_SEEDS} seeds: {len(found)} given; use fewer")
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=len(found))))
    sums, seen = signs @ found, float(found.sum())
    if alternative == "two-sided":
        sums, seen = np.abs(sums), abs(seen)
    # Sums of a few numbers in different orders differ in the last bits; equal ones must count as equal.
    slack = 1e-12 * float(np.abs(found).sum())
    return float((sums >= seen - slack).mean())


def equivalence(values: Sequence[float] | Values, margin: float) -> tuple[float, float]:
    """Two one-sided tests of ``|mean| < margin``: the larger p-value, by Student's t and by sign flips.

    >>> t, flips = equivalence([0.01, -0.02, 0.0, 0.01, 0.0, 0.02], 0.1)
    >>> t < 0.001, flips == 1 / 64
    (True, True)
    """
    if not margin > 0:
        raise InputError(f"an equivalence margin must be positive: {margin}; fix it before the run")
    found = as_values(values)
    sides = (found + margin, margin - found)
    return max(_t_greater(side) for side in sides), max(sign_flip(side, "greater") for side in sides)


def _t_greater(values: Values) -> float:
    count, deviation = len(values), _deviation(values)
    if count < 2:
        return 1.0
    if deviation == 0:
        return 0.0 if values.mean() > 0 else 1.0
    return float(stats.t.sf(values.mean() / deviation * math.sqrt(count), count - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def minimum_detectable_effect(values: Sequence[float] | Values, level: float = LEVEL, power: float = POWER) -> float:
    """Distance from the bound that a two-sided t test with these seeds and this spread would find with ``power``."""
    found = as_values(values)
    count, deviation = len(found), _deviation(found)
    if count < 2:
        return math.inf
    return detectable_shift(count, level, power) * deviation / math.sqrt(count)


def detectable_shift(count: int, level: float = LEVEL, power: float = POWER) -> float:
    """Distance of the mean, in standard errors, that a two-sided t test of ``count`` values finds with ``power``."""
    high = 2.0
    while power_of(high, count, level) < power:
        high *= 2
    return float(optimize.brentq(lambda shift: power_of(shift, count, level) - power, 0.0, high))


def power_of(shift: float, count: int, level: float = LEVEL) -> float:
    """Power of the two-sided t test when the mean is ``shift`` standard errors away.

    Averaged over 4000 quantiles of the spread; the non-central t of scipy fails for two seeds.
    """
    bound = float(stats.t.ppf(1 - level / 2, count - 1))
    quantiles = (np.arange(4000) + 0.5) / 4000
    spread = bound * np.sqrt(stats.chi2.ppf(quantiles, count - 1) / (count - 1))
    return float((stats.norm.cdf(shift - spread) + stats.norm.cdf(-shift - spread)).mean())


def _deviation(values: Values) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else math.nan
