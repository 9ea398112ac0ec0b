"""Which number format a function of one variable really computes in.

Step sizes and rounding floors follow from the format. It is the coarsest of three: the format of the point, the
format of the returned value, and the format that the values *fit into*: ``float(torch.sin(x32))`` returns a Python
float, yet every value is a float32 number. Source: pytorch#5351, jax#3130, jax#7742 (false alarms in low precision).
Checked by ``tests/numerics/gradcheck/test_traps.py`` in bfloat16, float16, float32 and float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .errors import PrecisionError, ShapeError

# Finest last: the first one that fits is the answer.
_NARROW_FORMATS = (torch.bfloat16, torch.float16, torch.float32)


def epsilon(number_format: torch.dtype) -> float:
    """Distance from 1 to the next larger number of the format (twice the unit roundoff).

    >>> epsilon(torch.float64) == 2.0**-52
    True
    """
    return float(torch.finfo(number_format).eps)


def format_name(number_format: torch.dtype) -> str:
    """Plain name of a format, without the ``torch.`` prefix.

    >>> format_name(torch.bfloat16)
    'bfloat16'
    """
    return str(number_format).removeprefix("torch.")


def round_to(value: float, number_format: torch.dtype) -> float:
    """The number of the given format nearest to ``value``, as a Python float.

    >>> round_to(0.7, torch.bfloat16)
    0.69921875
    """
    return float(torch.tensor(value, dtype=torch.float64).to(number_format).item())


def coarser(first: torch.dtype, second: torch.dtype) -> torch.dtype:
    """The format with the larger ``epsilon``."""
    return first if epsilon(first) >= epsilon(second) else second


def format_of(value: Any) -> torch.dtype:
    """The format that ``value`` is stored in; integers and Python numbers count as float64.

    Raises:
        PrecisionError: for complex values, which have no slope along the real line here.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        if isinstance(value, complex):
            raise PrecisionError(f"a value must be real: {value!r}; check the real and imaginary parts one by one")
        return torch.float64
    if not isinstance(dtype, torch.dtype):
        if np.issubdtype(dtype, np.complexfloating):
            raise PrecisionError(f"a value must be real: dtype={dtype}; check the real and imaginary parts one by one")
        # longdouble is read as float64: every value passes through a Python float anyway.
        return {"float16": torch.float16, "float32": torch.float32}.get(str(dtype), torch.float64)
    if dtype.is_complex:
        raise PrecisionError(f"a value must be real: dtype={dtype}; check the real and imaginary parts one by one")
    return dtype if dtype.is_floating_point else torch.float64


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
        for narrow in _NARROW_FORMATS:
            if all(round_to(value, narrow) == value for value in [*informative, values[0]]):
                return narrow
    return number_format
