"""A score pattern centred within a named mask, as an operator: full matrices only for patterns that come as one.

With r_i the mean score of query i over its n_i keys, the attention slope at uniform attention is
``A_ij = m_ij (Delta_ij - r_i) / n_i`` (theory.md G1).  Both kinds of pattern answer the same questions: products with A
(its diagonal kept apart, because token masking treats a query's own position differently), pooled key weights and the
energy of the centred pattern.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from numerics.patterns import keys_by_lag, score_pattern, scores_by_distance
from numerics.structured.toeplitz import Toeplitz, spectrum

#: Centred scores below this many units in the last place of the pattern are rounding of a constant pattern.
_CONSTANT = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Mask:
    """A named mask; ``others`` is its matrix without the diagonal, ``sees_itself`` its diagonal (0 or 1)."""

    name: str
    count: int

    @cached_property
    def matrix(self) -> Toeplitz:
        return Toeplitz(keys_by_lag(self.name, self.count).astype(np.float64))

    @property
    def sees_itself(self) -> float:
        return float(self.matrix.by_lag[self.count - 1])

    @cached_property
    def others(self) -> Toeplitz:
        return Toeplitz(_without_lag_zero(self.matrix.by_lag))

    @cached_property
    def keys(self) -> Float64[np.ndarray, " L"]:
        """Number n_i of keys of every query."""
        return self.matrix.row_sums()

    @cached_property
    def _transposed(self) -> Toeplitz:
        return self.matrix.transposed()

    def sum_keys(self, values: Float64[np.ndarray, " L"]) -> Float64[np.ndarray, " L"]:
        """Sum over the keys of every query."""
        # Running sums keep the relative precision of causal weights, which fall by many orders of magnitude.
        return np.cumsum(values) if self.name == "causal" else self.matrix.apply(values)

    def sum_queries(self, values: Float64[np.ndarray, " L"]) -> Float64[np.ndarray, " L"]:
        """Sum over the queries that see a key."""
        return np.cumsum(values[::-1])[::-1] if self.name == "causal" else self._transposed.apply(values)


class Scores(ABC):
    """A pattern centred within a mask.  ``row_energy`` holds ``sum_j centred_ij ** 2`` of every query."""

    mask: Mask
    row_energy: Float64[np.ndarray, " L"]
    #: A_ii: how the attention of a query to itself changes; 0 where the mask forbids it.
    self_slope: Float64[np.ndarray, " L"]

    @abstractmethod
    def pulls(
        self, rows: Float64[np.ndarray, "rows L"]
    ) -> tuple[Float64[np.ndarray, "rows L"], Float64[np.ndarray, "rows L"]]:
        """``sum_(j != i) A_ij x_j`` and ``sum_(j != i) m_ij x_j`` for every row x."""

    @abstractmethod
    def key_weight(self, pooling: Float64[np.ndarray, " L"]) -> Float64[np.ndarray, " L"]:
        """``v_j = sum_i omega_i A_ij`` (G1): labels see exactly this."""

    @abstractmethod
    def key_curvature(self, pooling: Float64[np.ndarray, " L"]) -> Float64[np.ndarray, " L"]:
        """``u_j``, the second derivative of the pooled weight of key j (G4)."""

    @abstractmethod
    def row(self, query: int) -> Float64[np.ndarray, " L"]:
        """The scores of one query up to a common shift, anything outside the mask."""

    @property
    def energy(self) -> float:
        """Squared Frobenius norm of the centred pattern."""
        return float(self.row_energy.sum())

    def neutral_size(self) -> float:
        """``(1/L) sum_i (1/n_i) sum_(j != i) |score_ij - mean over the other keys|``: bounds order slopes.

        One row at a time, so that memory stays O(L).
        """
        allowed, total = self.mask.others.by_lag > 0, 0.0
        for query, keys in enumerate(self.mask.keys):
            first = self.mask.count - 1 - query
            held = self.row(query)[allowed[first : first + self.mask.count]]
            total += float(np.abs(held - held.mean()).sum() / keys) if held.size else 0.0
        return total / self.mask.count


class StructuredScores(Scores):
    """A pattern that depends on j - i alone, given by lag: O(L) memory, O(L log L) a product.

    >>> scores = StructuredScores(np.array([-1.0, 0.0, -1.0]), Mask("full", 2))
    >>> scores.energy, scores.self_slope.tolist()
    (1.0, [0.25, 0.25])
    """

    def __init__(self, by_lag: Float64[np.ndarray, " lags"], mask: Mask) -> None:
        self.mask = mask
        allowed = mask.matrix.by_lag
        # A common shift changes no centred score, and keeps the running sums small.
        shifted = allowed * (by_lag - (allowed * by_lag).sum() / allowed.sum())
        if np.abs(shifted).max() <= _CONSTANT * np.abs(by_lag).max():
            shifted = np.zeros_like(shifted)
        self._all, self._others = Toeplitz(shifted), Toeplitz(_without_lag_zero(shifted))
        self._squared = Toeplitz(shifted**2)
        self._mean = self._all.row_sums() / mask.keys
        self._variance = np.maximum(self._squared.row_sums() / mask.keys - self._mean**2, 0.0)
        self.row_energy = mask.keys * self._variance
        self.self_slope = mask.sees_itself * (shifted[mask.count - 1] - self._mean) / mask.keys

    def row(self, query: int) -> Float64[np.ndarray, " L"]:
        """A slice of the entries by lag."""
        first = self.mask.count - 1 - query
        return self._all.by_lag[first : first + self.mask.count]

    def pulls(
        self, rows: Float64[np.ndarray, "rows L"]
    ) -> tuple[Float64[np.ndarray, "rows L"], Float64[np.ndarray, "rows L"]]:
        """Two products by the fast Fourier transform."""
        transformed = spectrum(rows)
        sums = self.mask.others.apply_to_spectrum(transformed)
        return (self._others.apply_to_spectrum(transformed) - self._mean * sums) / self.mask.keys, sums

    def key_weight(self, pooling: Float64[np.ndarray, " L"]) -> Float64[np.ndarray, " L"]:
        """By products with transposed matrices."""
        weight = pooling / self.mask.keys
        return self._all.transposed().apply(weight) - self.mask.sum_queries(weight * self._mean)

    def key_curvature(self, pooling: Float64[np.ndarray, " L"]) -> Float64[np.ndarray, " L"]:
        """By products with transposed matrices."""
        weight, mean = pooling / self.mask.keys, self._mean
        bend = self._squared.transposed().apply(weight) - 2 * self._all.transposed().apply(weight * mean)
        return bend + self.mask.sum_queries(weight * (mean**2 - self._variance))


class DenseScores(Scores):
    """Any pattern, as an L x L array."""

    def __init__(self, pattern: Float64[np.ndarray, "L L"], mask: Mask) -> None:
        self.mask = mask
        allowed = mask.matrix.dense()
        kept = pattern * allowed
        centred = allowed * (kept - (kept.sum(axis=1) / mask.keys)[:, None])
        centred[np.abs(centred) <= _CONSTANT * np.abs(pattern).max()] = 0.0
        self._centred, self._allowed = centred, allowed
        self.row_energy = (centred**2).sum(axis=1)
        self.self_slope = np.diag(centred) / mask.keys
        self._others = centred / mask.keys[:, None]
        np.fill_diagonal(self._others, 0.0)

    def row(self, query: int) -> Float64[np.ndarray, " L"]:
        """A row of the centred pattern."""
        return self._centred[query]

    def pulls(
        self, rows: Float64[np.ndarray, "rows L"]
    ) -> tuple[Float64[np.ndarray, "rows L"], Float64[np.ndarray, "rows L"]]:
        """One matrix product, and one by the fast Fourier transform."""
        return rows @ self._others.T, self.mask.others.apply(rows)

    def key_weight(self, pooling: Float64[np.ndarray, " L"]) -> Float64[np.ndarray, " L"]:
        """By one matrix product."""
        return (pooling / self.mask.keys) @ self._centred

    def key_curvature(self, pooling: Float64[np.ndarray, " L"]) -> Float64[np.ndarray, " L"]:
        """By one matrix product."""
        spread = self._allowed * (self._centred**2 - (self.row_energy / self.mask.keys)[:, None])
        return (pooling / self.mask.keys) @ spread


def named_scores(pattern: str, mask: str, token_count: int) -> Scores:
    """The named pattern under the named mask: dense where the pattern is a file, structured otherwise.

    >>> named_scores("periodic", "full", 5).key_weight(np.full(5, 0.2)).round(15).any()
    np.False_
    """
    held = Mask(mask, token_count)
    if pattern.endswith(".npy"):
        return DenseScores(score_pattern(pattern, token_count), held)
    near = scores_by_distance(pattern, token_count)
    return StructuredScores(np.concatenate([near[:0:-1], near]), held)


def _without_lag_zero(by_lag: Float64[np.ndarray, " lags"]) -> Float64[np.ndarray, " lags"]:
    kept = by_lag.copy()
    kept[len(kept) // 2] = 0.0
    return kept
