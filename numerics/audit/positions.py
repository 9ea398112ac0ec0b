"""The positional pattern that the first step of self-pretraining would write (theory.md Q3), full attention.

With positions P and K = PP', the positional scores after the first step are proportional to ``K JCJ K`` without masking
and to ``K R J K`` with the masking ratio rho, q = 1 - rho, R_ii = 0,

    R_ij = q C_ij - (1/L) [ q^2 sum_(k not i, j) C_kj + q C_jj ].

Only ``P'C`` (width x L), the diagonal and the column sums of C are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from numerics.audit.descent import mean_by_distance
from numerics.errors import InputError
from numerics.structured.toeplitz import lag_sums, spectrum

#: Wavelengths of the sinusoids run from 2 pi to this many times 2 pi positions (Vaswani et al. 2017).
LONGEST = 10_000.0


def positions(text: str, token_count: int) -> Float64[np.ndarray, "L width"]:
    """Position encodings by name: ``sinusoidal:WIDTH``, or an L x width ``.npy`` file.

    >>> positions("sinusoidal:4", 3).shape
    (3, 4)
    """
    if text.endswith(".npy"):
        return _load(text, token_count)
    name, _, value = text.partition(":")
    if name != "sinusoidal":
        raise InputError(f"unknown positions: {text!r}; use sinusoidal:WIDTH or an L x width .npy file")
    if not value.isascii() or not value.isdigit() or not 2 <= int(value[:9]) <= 65536 or int(value[:9]) % 2:
        raise InputError(f"sinusoidal positions need an even width from 2 to 65536: got {text!r}; write sinusoidal:64")
    half = int(value) // 2
    angles = np.outer(np.arange(token_count), LONGEST ** (-np.arange(half) / half))
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(token_count, 2 * half)


def _load(path: str, token_count: int) -> Float64[np.ndarray, "L width"]:
    if not Path(path).is_file():
        raise InputError(f"a positions file must exist: {path}; name an .npy file or write sinusoidal:64")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"positions must be a plain .npy array: {path} ({error}); save them with numpy.save") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or array.ndim != 2 or not array.shape[1]:
        raise InputError(f"positions must be one numeric array of shape L x width: {path}; save it with numpy.save")
    if len(array) != token_count:
        raise InputError(
            f"positions must be as many as the sequences are long: {path} has {len(array)} rows, L={token_count}; "
            f"use shape ({token_count}, width)"
        )
    if not np.isfinite(array).all():
        raise InputError(f"positions must be finite: {path} holds NaN or infinity; replace those entries")
    return array.astype(np.float64)


@dataclass
class PositionalSums:
    """Running sums over the sequences of one group: what Q3 needs of C."""

    encoding: Float64[np.ndarray, "L width"]

    def __post_init__(self) -> None:
        count, width = self.encoding.shape
        self._cross, self._energy, self._columns = np.zeros((width, count)), np.zeros(count), np.zeros(count)

    def add(self, rows: Float64[np.ndarray, "rows L"]) -> None:
        """Take in the rows of more sequences."""
        self._cross += (rows @ self.encoding).T @ rows
        self._energy += (rows**2).sum(axis=0)
        self._columns += rows.sum(axis=1) @ rows

    def unmasked(self, sequences: int) -> Float64[np.ndarray, "width width"]:
        """``P'JCJP``."""
        centred = self.encoding - self.encoding.mean(axis=0)
        cross = self._cross - np.outer(self.encoding.mean(axis=0), self._columns)
        return cross @ centred / sequences

    def masked(self, ratio: float, sequences: int) -> Float64[np.ndarray, "width width"]:
        """``P'RJP``."""
        count, seen = len(self.encoding), 1 - ratio
        centred = self.encoding - self.encoding.mean(axis=0)
        # R = a C - 1 b' off the diagonal, and 0 on it.
        a = seen + seen**2 / count
        b = (seen**2 * self._columns + (seen - seen**2) * self._energy) / count
        full = a * self._cross - np.outer(self.encoding.sum(axis=0), b)
        return (full - self.encoding.T * (a * self._energy - b)) @ centred / sequences


def positional_profiles(
    encoding: Float64[np.ndarray, "L width"], cores: Float64[np.ndarray, "groups width width"]
) -> Float64[np.ndarray, "groups L"]:
    """Mean of the scores ``P core P'`` by |i - j|, over L^2, for several cores."""
    count, transformed = len(encoding), spectrum(encoding.T.copy())
    sums = [lag_sums(((core.T @ transformed).conj() * transformed).sum(axis=0), count) for core in cores]
    return np.array([mean_by_distance(by_lag) for by_lag in sums]) / count**2


def inner_product(
    encoding: Float64[np.ndarray, "L width"],
    left: Float64[np.ndarray, "*left width width"],
    right: Float64[np.ndarray, "*right width width"],
) -> Float64[np.ndarray, "..."]:
    """Frobenius inner product of ``P left P'`` and ``P right P'``."""
    gram = encoding.T @ encoding
    return np.asarray((gram @ left @ gram * right).sum(axis=(-2, -1)))
