"""Number formats: their spacing, their names, and rounding to them.

Step sizes and rounding floors follow from the format that a function computes in (pytorch#5351, jax#3130, jax#7742:
false alarms in low precision).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .errors import PrecisionError

# Finest last: the first one that holds a number is the coarsest that does.
NARROW_FORMATS = (torch.bfloat16, torch.float16, torch.float32)


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
