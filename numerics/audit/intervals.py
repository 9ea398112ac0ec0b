"""How certain a number is: Student-t intervals over sequences, delete-one jackknife for functions of means.

Sequences are taken for independent draws of one law.  Exact numbers have bounds equal to the value; a number without an
interval, or one that is not defined, says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import scipy.stats
from jaxtyping import Float64

#: Coverage of every interval.
LEVEL = 0.95

ONE_SEQUENCE = "one sequence has no interval; audit at least two"


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; ``None`` where there is none, and then ``note`` says why."""

    value: float | None
    low: float | None
    high: float | None
    method: str
    note: str = ""

    def record(self) -> dict[str, object]:
        """For JSON; ``note`` only where there is one."""
        return {name: held for name, held in asdict(self).items() if name != "note" or held}

    @property
    def sign(self) -> int:
        """-1 or 1 where the whole interval lies on one side of 0, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)


def exact(value: float, low: float | None = None, high: float | None = None, method: str = "exact") -> Estimate:
    """A number without sampling uncertainty; bounds only where it comes from an iteration."""
    return Estimate(value, value if low is None else low, value if high is None else high, method)


def undefined(reason: str) -> Estimate:
    """No number, and why."""
    return Estimate(None, None, None, "undefined", reason)


def of_mean(values: Float64[np.ndarray, " N"]) -> Estimate:
    """Mean over sequences, with Student's t.

    >>> of_mean(np.array([1.0, 2.0, 3.0]))
    Estimate(value=2.0, low=-0.48..., high=4.48..., method='Student t over 3 sequences', note='')
    """
    mean, count = float(values.mean()), len(values)
    if count < 2:
        return Estimate(mean, None, None, "one sequence", ONE_SEQUENCE)
    return _around(mean, float(values.std(ddof=1) / count**0.5), count, f"Student t over {count} sequences")


def of_function(
    function: Callable[[Float64[np.ndarray, "*left k"]], Float64[np.ndarray, "*left"]],
    values: Float64[np.ndarray, "N k"],
    what: str = "sequences",
) -> Estimate:
    """A smooth function of means over sequences, with the delete-one jackknife and Student's t.

    >>> of_function(lambda mean: mean[..., 0] ** 2, np.array([[1.0], [2.0], [3.0]])).value
    4.0
    """
    mean, count = values.mean(axis=0), len(values)

    def held(means: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(function(means))

    value = float(held(mean))
    if not np.isfinite(value):
        return undefined("the denominator vanishes")
    if count < 2:
        return Estimate(value, None, None, "one sequence", ONE_SEQUENCE)
    without = held((count * mean - values) / (count - 1))
    if not np.isfinite(without).all():
        return Estimate(value, None, None, "jackknife", "the number is not defined without one of the sequences")
    error = float(np.sqrt((count - 1) * np.mean((without - without.mean()) ** 2)))
    return _around(value, error, count, f"jackknife and Student t over {count} {what}")


def _around(value: float, error: float, count: int, method: str) -> Estimate:
    width = float(scipy.stats.t.ppf((1 + LEVEL) / 2, count - 1)) * error
    return Estimate(value, value - width, value + width, method)


@dataclass(frozen=True)
class Curve:
    """A function of distance with pointwise intervals from the means of equal groups of sequences."""

    value: Float64[np.ndarray, " L"]
    low: Float64[np.ndarray, " L"] | None
    high: Float64[np.ndarray, " L"] | None
    groups: int

    def record(self, distances: np.ndarray) -> dict[str, object]:
        """For JSON, at some of the distances."""
        held = {"value": self.value, "low": self.low, "high": self.high}
        method = f"pointwise Student t over the means of {self.groups} groups of sequences"
        return {
            "distance": distances.tolist(),
            **{name: None if part is None else part[distances].tolist() for name, part in held.items()},
            **({"method": method} if self.low is not None else {"method": "one sequence", "note": ONE_SEQUENCE}),
        }


def of_groups(means: Float64[np.ndarray, "groups L"], sizes: Float64[np.ndarray, " groups"]) -> Curve:
    """A curve from one curve a group of sequences; groups differ in size by one at most."""
    groups, value = len(means), np.average(means, axis=0, weights=sizes)
    if groups < 2:
        return Curve(value, None, None, groups)
    width = scipy.stats.t.ppf((1 + LEVEL) / 2, groups - 1) * means.std(axis=0, ddof=1) / groups**0.5
    return Curve(value, value - width, value + width, groups)
