"""The steepest descent direction of the unmasked reconstruction loss in the scores, by distance.

With e_i = o_i - X_i the gradient at uniform attention is ``(m_ij / (L n_i)) E[e_i . (X_j - o_i)]``: for the full mask
-JCJ / L^2 (theory.md G8), so that descent writes +JCJ.  Profiles are of -L^2 times the gradient: mean score by |i - j|,
in units of a squared token.  They need no L x L array; the direction itself is one, for sequences of moderate length.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Complex128, Float64

from numerics.audit.sequences import Sequences
from numerics.errors import InputError
from numerics.structured.scores import Mask
from numerics.structured.toeplitz import lag_spectrum, lag_sums

#: Longest sequences for which the direction itself, an L x L array, is made: 128 MiB.
MOST_POSITIONS = 4096


class DescentSums:
    """Running sums over the sequences of one group."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._cross: Complex128[np.ndarray, " frequencies"] | float = 0.0
        self._own = np.zeros(mask.count)

    def add(self, rows: Float64[np.ndarray, "rows L"]) -> None:
        """Take in the rows of more sequences."""
        mask = self._mask
        means = (mask.others.apply(rows) + mask.sees_itself * rows) / mask.keys
        errors = (means - rows) * (mask.count / mask.keys)  # L^2 times 1 / (L n_i)
        self._cross = self._cross + lag_spectrum(errors, rows)
        self._own += (errors * means).sum(axis=0)

    def profile(self, sequences: int) -> Float64[np.ndarray, " L"]:
        """Mean score of the descent direction at the distances 0 .. L - 1 (0 where the mask allows no pair).

        Args:
            sequences: how many were taken in.
        """
        count, allowed = self._mask.count, self._mask.matrix.by_lag
        running = np.concatenate([[0.0], np.cumsum(self._own)])
        lags = np.arange(1 - count, count)
        inside = running[np.minimum(count, count - lags)] - running[np.maximum(0, -lags)]
        by_lag = allowed * (lag_sums(np.asarray(self._cross), count) - inside)
        return -_by_distance(by_lag, allowed) / sequences


def descent_direction(mask: Mask, sequences: Sequences) -> Float64[np.ndarray, "L L"]:
    """-L^2 times the gradient itself: JCJ under the full mask.  Raises :class:`InputError` for long sequences."""
    count = mask.count
    if count > MOST_POSITIONS:
        raise InputError(
            f"the direction is an L x L array, written up to L={MOST_POSITIONS}: L={count}; leave --direction out, "
            "its profile by distance is in the report"
        )
    cross, own = np.zeros((count, count)), np.zeros(count)
    for _, chunk in sequences.chunks():
        means = (mask.others.apply(chunk.rows) + mask.sees_itself * chunk.rows) / mask.keys
        cross += (means - chunk.rows).T @ chunk.rows
        own += ((means - chunk.rows) * means).sum(axis=0)
    return -mask.matrix.dense() * (cross - own[:, None]) * (count / mask.keys)[:, None] / sequences.count


def mean_by_distance(sums_by_lag: Float64[np.ndarray, " lags"]) -> Float64[np.ndarray, " L"]:
    """Means over all pairs at each distance, from sums over the pairs at each lag."""
    return _by_distance(sums_by_lag, np.ones_like(sums_by_lag))


def _by_distance(sums: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    count = (len(sums) + 1) // 2
    pairs = allowed * (count - np.abs(np.arange(1 - count, count)))

    def folded(values: np.ndarray) -> np.ndarray:
        far = values[count - 1 :].copy()
        far[1:] += values[count - 2 :: -1]
        return far

    return np.asarray(folded(sums) / np.maximum(folded(pairs), 1))
