"""Reconstruction slopes at uniform attention, one number a sequence, in O(L log L) each.

C is a mean over sequences, so that every slope is a mean of per-sequence slopes: with ``y = A x`` and o the mean over
the keys, the unmasked one is ``(1/L) sum_i y_i . (o_i - x_i)`` (theory.md G1).  With a share rho of the positions
masked (G7), q = 1 - rho and A without its diagonal,

    (1/L) sum_i [ q^2 o_i . y_i + ((q - q^2) / n_i) sum_j A_ij |x_j|^2 - (q + q^2 m_ii / n_i) x_i . y_i ].

The *order slope* is the part of the masked slope that rests on order: the pattern's score of a query for itself is
replaced by the mean over its other keys, and only products of different positions are counted.  It is exactly 0 for
independent tokens without a mean and for exchangeable tokens of equal length, whose masked slope is not: that only says
that a masked position holds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from numerics.structured.scores import Scores


@dataclass(frozen=True)
class Sums:
    """Sums over queries that the masked slopes are made of, one a sequence, y = A x without the diagonal.

    ``mean_pull``: o . y; ``energy_pull``: (1/n) sum_j A_ij |x_j|^2; ``token_pull``: x . y; ``own_pull``:
    (m_ii/n) x . y.
    """

    mean_pull: Float64[np.ndarray, " N"]
    energy_pull: Float64[np.ndarray, " N"]
    token_pull: Float64[np.ndarray, " N"]
    own_pull: Float64[np.ndarray, " N"]


@dataclass(frozen=True)
class SequenceSlopes:
    """What one pass over some sequences leaves: slopes for any masking ratio.

    ``unmasked`` is the slope without masking; ``tokens`` and ``order`` hold the sums for the pattern and for the
    pattern with neutral self scores.
    """

    unmasked: Float64[np.ndarray, " N"]
    tokens: Sums
    order: Sums
    token_count: int

    def masked(self, ratio: float) -> Float64[np.ndarray, " N"]:
        """Slopes with each position masked with probability ``ratio`` (G7), normalised by the expected count."""
        return _masked(self.tokens, 1 - ratio, (1 - ratio) * ratio, self.token_count)

    def ordered(self, ratio: float) -> Float64[np.ndarray, " N"]:
        """The part of the masked slopes that rests on order; see the top of this module."""
        return _masked(self.order, 1 - ratio, -((1 - ratio) ** 2), self.token_count)


def _masked(sums: Sums, seen: float, of_energy: float, token_count: int) -> Float64[np.ndarray, " N"]:
    pull = seen**2 * (sums.mean_pull - sums.own_pull) + of_energy * sums.energy_pull - seen * sums.token_pull
    return np.asarray(pull / token_count)


def sequence_slopes(
    scores: Scores, rows: Float64[np.ndarray, "rows L"], starts: Int64[np.ndarray, " N"]
) -> SequenceSlopes:
    """Slopes of sequences given as rows of L numbers, one row a feature.

    Args:
        scores: pattern and mask.
        rows: all features of the first sequence, then of the second, and so on.
        starts: where the rows of every sequence begin.

    Example: two positions, the pattern that looks at oneself, tokens (1, 0), unmasked slope -1/4 (Proposition 1).

    >>> from numerics.structured.scores import DenseScores, Mask
    >>> scores = DenseScores(np.array([[1.0, -1.0], [-1.0, 1.0]]), Mask("full", 2))
    >>> sequence_slopes(scores, np.array([[1.0, 0.0]]), np.array([0])).unmasked.round(15).tolist()
    [-0.25]
    """
    mask, keys = scores.mask, scores.mask.keys
    own = mask.sees_itself
    pull, others = scores.pulls(rows)
    means = (others + own * rows) / keys
    # Energies add over features, so that one row a sequence is enough for them.
    energies = np.add.reduceat(rows**2, starts, axis=0)
    energy_pull, energy_others = scores.pulls(energies)
    # A neutral self score moves this much attention back to every other key.
    other_keys = np.maximum(keys - own, 1)
    shift = scores.self_slope / other_keys
    neutral = pull + shift * others

    def total(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values.sum(axis=1), starts)

    def sums(pulled: np.ndarray, energy: np.ndarray) -> Sums:
        of_tokens = rows * pulled
        return Sums(
            total(means * pulled), (energy / keys).sum(axis=1), total(of_tokens), total(of_tokens * (own / keys))
        )

    plain = sums(pull, energy_pull)
    self_part = total(scores.self_slope * rows * (means - rows))
    unmasked = (plain.mean_pull - plain.token_pull + self_part) / mask.count
    return SequenceSlopes(unmasked, plain, sums(neutral, energy_pull + shift * energy_others), mask.count)


def zero_loss(
    scores: Scores, rows: Float64[np.ndarray, "rows L"], starts: Int64[np.ndarray, " N"]
) -> Float64[np.ndarray, " N"]:
    """``(1/2L) sum_i |x_i - o_i|^2`` of every sequence: the unmasked reconstruction loss at uniform attention."""
    mask = scores.mask
    means = (mask.others.apply(rows) + mask.sees_itself * rows) / mask.keys
    return np.asarray(np.add.reduceat(((rows - means) ** 2).sum(axis=1), starts) / (2 * mask.count))
