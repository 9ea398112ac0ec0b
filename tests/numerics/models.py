"""Small models around attention, in every kind of number: what the tests of composition are made of."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from numerics import definition
from numerics.blind_set import null_space
from numerics.numbers import BALLS, EXACT, coefficient, path_parameter, working
from numerics.rings import elementwise, to_fraction
from theory.hypotheses import zero_pooled_key_weight

BITS = 256
CHECKERBOARD = np.array([[1, -1], [-1, 1]], dtype=object)


def rationals(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random sevenths: no ball around one has radius zero by accident."""
    return np.array([Fraction(int(v), 7) for v in rng.integers(-9, 10, int(np.prod(shape)))], dtype=object).reshape(
        shape
    )


def mean(count: int) -> np.ndarray:
    return np.full(count, Fraction(1, count), dtype=object)


def full(count: int) -> np.ndarray:
    return np.ones((count, count), dtype=bool)


def diagonal(count: int) -> np.ndarray:
    return ~np.eye(count, dtype=bool)


def blind_pattern(mask: np.ndarray, pooling: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random rational pattern with v = 0 for a mask and pooling."""
    basis = null_space([zero_pooled_key_weight], mask, pooling)
    return np.asarray(np.tensordot(rationals(rng, len(basis)), basis, axes=1))


def attention_along(pattern: np.ndarray, mask: np.ndarray, numbers: Any) -> Any:
    """Attention as power series in α."""
    return definition.attention(
        path_parameter(numbers), numbers.convert(pattern), numbers.convert(mask.astype(np.int64)), numbers.exp
    )


def exact_slope(function: Callable[[Any], Any]) -> Fraction:
    """The coefficient of α of a function of numbers, exactly; ``function`` is given EXACT."""
    with working(order=2):
        return to_fraction(coefficient(function(EXACT), 1)[()])


def ball_slope(function: Callable[[Any], Any]) -> Any:
    """An enclosure of the coefficient of α; ``function`` is given BALLS."""
    with working(bits=BITS, order=2):
        return coefficient(function(BALLS), 1)[()]


def encloses_zero(ball: Any, scale: float) -> bool:
    """Zero inside, and a radius that would not hide half the digits of a value of this scale."""
    return bool(ball.contains(0)) and float(ball.rad()) <= 2.0 ** (-BITS // 2) * scale


def root(values: np.ndarray) -> np.ndarray:
    """Square roots of ball series."""
    return elementwise(lambda v: v.sqrt(), values)


def layer_norm(tokens: np.ndarray, epsilon: Fraction) -> np.ndarray:
    """LayerNorm over the last axis of ball series, without scale and shift; ``epsilon`` stands inside the root."""
    width = tokens.shape[-1]
    centred = tokens - tokens.sum(-1)[..., None] / width
    variance = (centred * centred).sum(-1) / width + flint.arb(flint.fmpq(epsilon.numerator, epsilon.denominator))
    return np.asarray(centred / root(variance)[..., None])
