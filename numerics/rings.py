"""Arithmetic for evaluating statements: float64, exact rationals, balls, and the integers modulo a prime.

A ring supplies array operations on numpy arrays of its elements.  Evaluation modulo a prime turns equality of two
polynomials into a test with a known error probability (Schwartz 1980, Zippel 1979).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import flint
import numpy as np

#: The Mersenne prime 2^31 - 1: products of two residues fit into 64 bits.
PRIME = 2**31 - 1


@runtime_checkable
class Ring(Protocol):
    """Array arithmetic over one kind of number."""

    def number(self, value: Fraction) -> Any: ...

    def array(self, values: Any) -> np.ndarray: ...

    def add(self, left: np.ndarray, right: np.ndarray) -> np.ndarray: ...

    def multiply(self, left: np.ndarray, right: np.ndarray) -> np.ndarray: ...

    def total(self, values: np.ndarray, axis: int) -> np.ndarray: ...

    def matmul(self, left: np.ndarray, right: np.ndarray) -> np.ndarray: ...

    def invert(self, values: np.ndarray) -> np.ndarray: ...


class Floats:
    """float64."""

    dtype: Any = np.float64

    def number(self, value: Fraction) -> Any:
        return float(value)

    def array(self, values: Any) -> np.ndarray:
        return np.asarray(values, dtype=self.dtype)

    def add(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.asarray(left + right)

    def multiply(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.asarray(left * right)

    def total(self, values: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(values.sum(axis=axis))

    def matmul(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.asarray(np.matmul(left, right))

    def invert(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(1 / values)


class Absolute(Floats):
    """float64 sizes: every number is replaced by its absolute value, so that a sum bounds all that it may cancel."""

    def number(self, value: Fraction) -> Any:
        return abs(float(value))

    def array(self, values: Any) -> np.ndarray:
        return np.asarray(np.abs(np.asarray(values, dtype=np.float64)))


class Rationals(Floats):
    """Exact rational numbers, as ``flint.fmpq`` in object arrays."""

    dtype = object

    def number(self, value: Fraction) -> Any:
        return flint.fmpq(value.numerator, value.denominator)

    def array(self, values: Any) -> np.ndarray:
        given = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
        if given.dtype.kind in "iub":
            # Few distinct integers, many entries: convert each value once.
            distinct, places = np.unique(given, return_inverse=True)
            return np.asarray(elementwise(self._element, distinct.astype(object))[places].reshape(given.shape))
        return elementwise(self._element, given)

    @staticmethod
    def _element(value: Any) -> Any:
        if isinstance(value, flint.fmpq):
            return value
        exact = Fraction(value)
        return flint.fmpq(exact.numerator, exact.denominator)


class Balls(Rationals):
    """Real balls of ``flint.arb`` at the current working precision."""

    def number(self, value: Fraction) -> Any:
        return flint.arb(flint.fmpq(value.numerator, value.denominator))

    @staticmethod
    def _element(value: Any) -> Any:
        if isinstance(value, flint.arb):
            return value
        exact = to_fraction(value)
        return flint.arb(flint.fmpq(exact.numerator, exact.denominator))


@dataclass(frozen=True)
class PrimeField:
    """Residues modulo a prime below 2^31, as int64 arrays."""

    prime: int = PRIME

    def number(self, value: Fraction) -> Any:
        return value.numerator * pow(value.denominator, -1, self.prime) % self.prime

    def array(self, values: Any) -> np.ndarray:
        given = np.asarray(values)
        if given.dtype.kind in "iub":
            return given.astype(np.int64) % self.prime
        return elementwise(lambda v: self.number(to_fraction(v)), given).astype(np.int64)

    def add(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.asarray((left + right) % self.prime)

    def multiply(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.asarray(left * right % self.prime)

    def total(self, values: np.ndarray, axis: int) -> np.ndarray:
        # 2^31 residues below 2^31 stay below 2^62, far more than any axis here.
        return np.asarray(values.sum(axis=axis, dtype=np.int64) % self.prime)

    def matmul(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        # Residues are split into 16-bit halves: products of halves, summed over up to 2^21 terms, are exact in float64.
        low, high = (left & 0xFFFF).astype(float), (left >> 16).astype(float)
        low_r, high_r = (right & 0xFFFF).astype(float), (right >> 16).astype(float)
        parts = (
            (np.matmul(high, high_r), 1 << 32),
            (np.matmul(high, low_r) + np.matmul(low, high_r), 1 << 16),
            (np.matmul(low, low_r), 1),
        )
        result = np.zeros(parts[0][0].shape, dtype=np.int64)
        for values, shift in parts:
            result = (result + values.astype(np.int64) % self.prime * (shift % self.prime)) % self.prime
        return np.asarray(result)

    def invert(self, values: np.ndarray) -> np.ndarray:
        values = np.asarray(values)
        if (values % self.prime == 0).any():
            raise ZeroDivisionError("a denominator vanishes modulo the prime; draw another instance")
        result, base, exponent = np.ones_like(values), values.copy(), self.prime - 2
        while exponent:
            if exponent & 1:
                result = result * base % self.prime
            base = base * base % self.prime
            exponent >>= 1
        return np.asarray(result)


def to_fraction(value: Any) -> Fraction:
    """A Python fraction from an int, float, Fraction or ``flint.fmpq``, exactly."""
    return Fraction(int(value.p), int(value.q)) if isinstance(value, flint.fmpq) else Fraction(value)


def elementwise(function: Any, values: Any) -> np.ndarray:
    """An object array of ``function`` of every element."""
    given = np.asarray(values, dtype=object)
    made = np.empty(given.shape, dtype=object)
    for position in np.ndindex(given.shape):
        made[position] = function(given[position])
    return made
