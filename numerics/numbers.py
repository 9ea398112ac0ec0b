"""Three kinds of numbers in which the definition is evaluated: exact rational series, ball series, float64 tensors.

Series are power series in the path parameter, so that derivatives of any order at uniform attention are read off as
coefficients.  flint keeps precision and series length process-wide; :func:`working` sets and restores both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import torch

from numerics.rings import Balls, Rationals, elementwise


@dataclass(frozen=True)
class Numbers:
    """How the definition's inputs are converted, and the elementwise functions that it and the losses use."""

    name: str
    convert: Callable[[Any], Any]
    exp: Callable[[Any], Any]
    log: Callable[[Any], Any]
    concatenate: Callable[[list[Any]], Any]


def scalar_array(value: Any) -> np.ndarray:
    """A 0-d object array; numpy would otherwise take a series for a sequence and broadcast over its coefficients."""
    held = np.empty((), dtype=object)
    held[()] = value
    return held


def _series_function(kind: Any, name: str) -> Callable[[np.ndarray], np.ndarray]:
    def apply(values: np.ndarray) -> np.ndarray:
        # A vanishing path (0 * alpha) degenerates to a plain number in no case: kind() lifts whatever arrives.
        return elementwise(lambda v: getattr(v if isinstance(v, kind) else kind([v]), name)(), values)

    return apply


EXACT = Numbers(
    "exact rationals",
    Rationals().array,
    _series_function(flint.fmpq_series, "exp"),
    _series_function(flint.fmpq_series, "log"),
    np.concatenate,
)
BALLS = Numbers(
    "balls",
    Balls().array,
    _series_function(flint.arb_series, "exp"),
    _series_function(flint.arb_series, "log"),
    np.concatenate,
)


def _tensor(values: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(values, dtype=np.float64))


FLOATS = Numbers("float64", _tensor, torch.exp, torch.log, torch.cat)


@contextmanager
def working(*, bits: int = 256, order: int = 2) -> Iterator[None]:
    """Set flint's precision and the number of series coefficients (``order + 1`` powers would need ``order + 1``)."""
    before = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec, flint.ctx.cap = bits, order
    try:
        yield
    finally:
        flint.ctx.prec, flint.ctx.cap = before


def path_parameter(numbers: Numbers) -> np.ndarray:
    """The series ``alpha`` itself, as the step of the definition."""
    kind = flint.fmpq_series if numbers is EXACT else flint.arb_series
    return scalar_array(kind([0, 1]))


def coefficient(values: Any, power: int) -> np.ndarray:
    """Coefficient of ``alpha^power`` of every element."""
    held = values if isinstance(values, np.ndarray) else scalar_array(values)
    return elementwise(lambda v: v[power], held)
