"""Functions of one number: called with the caller's own type, sampled in the format that they really compute in.

That format is the coarsest of three: the format of the point, the format of the returned value, and the format that
the values *fit into*: ``float(torch.sin(x32))`` returns a Python float, yet every value is a float32 number.
Checked by ``tests/numerics/gradcheck/test_traps.py`` in bfloat16, float16, float32 and float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .errors import GradientCheckError, ShapeError
from .ladder import Ladder, jitter, sample, step_ladder
from .precision import NARROW_FORMATS, coarser, format_of, round_to


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else np.shape(value)


def _element_count(value: Any) -> int:
    return math.prod(_shape(value))


class ScalarFunction:
    """A function of one number, called with the type that the caller's point has, answering in Python floats.

    Attributes:
        calls: evaluations so far.
        value_format: coarsest format returned so far.
    """

    def __init__(self, function: Callable[[Any], Any], at: Any) -> None:
        if _element_count(at) != 1:
            raise ShapeError(f"the point must be one number: shape={_shape(at)}; use check_jacobian for vectors")
        self._function = function
        self._like = at
        self.point_format = format_of(at)
        self.value_format = self.point_format
        self.calls = 0

    def __call__(self, point: float) -> float:
        self.calls += 1
        value = self._function(self._as_argument(point))
        self.value_format = coarser(self.value_format, format_of(value))
        if _element_count(value) != 1:
            raise ShapeError(
                f"the function must return one number: shape={_shape(value)}; reduce it or use check_jacobian"
            )
        return float(value.detach().item()) if isinstance(value, torch.Tensor) else float(np.asarray(value).item())

    def _as_argument(self, point: float) -> Any:
        if isinstance(self._like, torch.Tensor):
            number_format = self.point_format  # an integer tensor is passed on as float64
            return torch.full_like(self._like, point, dtype=number_format, requires_grad=False)
        if isinstance(self._like, (np.generic, np.ndarray)) and np.issubdtype(self._like.dtype, np.floating):
            return np.full(self._like.shape, point, dtype=self._like.dtype)[()]
        return point


def working_format(function: ScalarFunction, at: float, step: float) -> torch.dtype:
    """The format in which ``function`` computes near ``at``; costs three evaluations.

    Args:
        function: the wrapped function.
        at: the point.
        step: a generic (not dyadic) step, so that the values of a float64 function have no reason to be short numbers.

    Returns:
        The coarsest of the point's format, the values' format, and a narrower format that holds all three values.
    """
    values = [function(at)]
    for point in (at - step, at + step):
        try:
            values.append(function(point))
        except (ArithmeticError, ValueError):  # outside the domain: says nothing about the format
            continue
    number_format = function.value_format
    # Values at x are often short numbers for a good reason (exp(0) = 1), and so are zeros. A float64 value at a generic
    # point is a float32 number by accident with probability 2**-29.
    informative = {value for value in values[1:] if np.isfinite(value)} - {values[0], 0.0}
    if number_format is torch.float64 and informative:
        for narrow in NARROW_FORMATS:
            if all(round_to(value, narrow) == value for value in [*informative, values[0]]):
                return narrow
    return number_format


def sample_scalar(
    function: Callable[[Any], Any], at: Any, largest_step: float | None, count: int, seed: int
) -> tuple[Ladder, torch.dtype, int]:
    """Find out the format that a function of one number computes in and sample it on a suitable ladder.

    Args:
        function: takes a number of the same type as ``at`` and returns one number.
        at: the point; rounded to the format found, so that a function which casts its argument sees it unchanged.
        largest_step: see ``step_ladder``.
        count: number of steps.
        seed: see ``jitter``.

    Returns:
        The ladder of one function (m = 1), the format, and the number of evaluations: 7 + 2 * count.
    """
    scalar = ScalarFunction(function, at)
    point = float(at.detach()) if isinstance(at, torch.Tensor) else float(at)
    if not math.isfinite(point):
        raise GradientCheckError(f"the point must be finite: at={point}; choose a point inside the domain")
    shrink = jitter(seed)
    probe = shrink * float(step_ladder(point, scalar.point_format, largest_step, count)[0])
    number_format = working_format(scalar, point, probe)
    point = round_to(point, number_format)
    steps = shrink * step_ladder(point, number_format, largest_step, count)
    ladder = sample(lambda node: np.array([scalar(node)]), point, steps, number_format)
    return ladder, number_format, scalar.calls
