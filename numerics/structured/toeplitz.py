"""Products with Toeplitz matrices by the fast Fourier transform: O(L log L) for each row of numbers.

A Toeplitz matrix is kept as its entries at the lags j - i = -(L - 1) .. L - 1.  Rounding is normwise: an entry of a
product is off by at most a few ``log2(L)`` unit roundoffs times the norms of the two factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.fft
from jaxtyping import Complex128, Float64


def transform_size(count: int) -> int:
    """Length of the transforms for L positions: all 2 L - 1 lags stay apart."""
    return int(scipy.fft.next_fast_len(2 * count - 1, real=True))


def spectrum(rows: Float64[np.ndarray, "*rows L"]) -> Complex128[np.ndarray, "*rows frequencies"]:
    """Transform of rows of L numbers, padded with zeros; shared by several products."""
    return np.asarray(scipy.fft.rfft(rows, transform_size(rows.shape[-1]), axis=-1))


@dataclass(frozen=True)
class Toeplitz:
    """An L x L matrix with the entry ``by_lag[j - i + L - 1]`` in row i, column j.

    >>> matrix = Toeplitz(np.array([7.0, 1.0, 2.0]))  # lags -1, 0, 1
    >>> matrix.dense().tolist(), matrix.row_sums().tolist()
    ([[1.0, 2.0], [7.0, 1.0]], [3.0, 8.0])
    >>> matrix.apply(np.array([1.0, 10.0])).round(12).tolist()
    [21.0, 17.0]
    """

    by_lag: Float64[np.ndarray, " lags"]

    @property
    def count(self) -> int:
        return (len(self.by_lag) + 1) // 2

    @cached_property
    def _kernel(self) -> Complex128[np.ndarray, " frequencies"]:
        size, count = transform_size(self.count), self.count
        kernel = np.zeros(size)
        kernel[(1 - count + np.arange(2 * count - 1)) % size] = self.by_lag[::-1]
        return np.asarray(scipy.fft.rfft(kernel))

    def apply(self, rows: Float64[np.ndarray, "*rows L"]) -> Float64[np.ndarray, "*rows L"]:
        """The matrix times each row of numbers."""
        return self.apply_to_spectrum(spectrum(rows))

    def apply_to_spectrum(
        self, transformed: Complex128[np.ndarray, "*rows frequencies"]
    ) -> Float64[np.ndarray, "*rows L"]:
        """The same from the rows' :func:`spectrum`."""
        size = transform_size(self.count)
        return np.asarray(scipy.fft.irfft(transformed * self._kernel, size, axis=-1)[..., : self.count])

    def transposed(self) -> Toeplitz:
        """The transposed matrix."""
        return Toeplitz(self.by_lag[::-1].copy())

    def row_sums(self) -> Float64[np.ndarray, " L"]:
        """Sum of every row, by running sums."""
        running = np.concatenate([[0.0], np.cumsum(self.by_lag)])
        first = np.arange(self.count - 1, -1, -1)
        return np.asarray(running[first + self.count] - running[first])

    def dense(self) -> Float64[np.ndarray, "L L"]:
        """The matrix itself."""
        return self.by_lag[np.subtract.outer(-np.arange(self.count), -np.arange(self.count)) + self.count - 1]


def lag_spectrum(
    left: Float64[np.ndarray, "rows L"], right: Float64[np.ndarray, "rows L"]
) -> Complex128[np.ndarray, " frequencies"]:
    """Transform of the sums over rows and i of ``left_i right_(i + lag)``; spectra of several parts may be added."""
    return np.asarray((spectrum(left).conj() * spectrum(right)).sum(axis=0))


def lag_sums(transformed: Complex128[np.ndarray, " frequencies"], count: int) -> Float64[np.ndarray, " lags"]:
    """The sums at the lags -(L - 1) .. L - 1 from their :func:`lag_spectrum`.

    >>> rows = np.array([[1.0, 2.0, 3.0]])
    >>> lag_sums(lag_spectrum(rows, rows), 3).round(12).tolist()
    [3.0, 8.0, 14.0, 8.0, 3.0]
    """
    circular = scipy.fft.irfft(transformed, transform_size(count))
    return np.asarray(np.concatenate([circular[len(circular) - count + 1 :], circular[:count]]))
