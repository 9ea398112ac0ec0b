"""Measures of one score pattern or one attention matrix, each by its definition.

A score pattern counts only up to a constant in each row (softmax), so its rows are centred first.  What is left is a
*stripe* part, the same row for every query (N2: all that labels see at uniform attention), and a *blind* part with zero
row and column sums (G2, G3: all that reconstruction moves, G8).  The two are orthogonal and their energies add up to 1.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from numerics.errors import InputError

Pattern = Float[Tensor, "queries keys"]


def centre_rows(scores: Pattern) -> Pattern:
    """Scores minus the mean of their row: all that the softmax reads."""
    return scores - scores.mean(1, keepdim=True)


def centre_twice(scores: Pattern) -> Pattern:
    """The blind part ``J Delta J``: zero row and column sums."""
    rows = centre_rows(scores)
    return rows - rows.mean(0, keepdim=True)


def stripe_fraction(scores: Pattern) -> float:
    """Share of the row-centred energy in one row that all queries share (full mask, mean pooling); NaN for constants.

    >>> stripe_fraction(torch.tensor([[0.0, 1.0, 2.0]]).repeat(3, 1))
    1.0
    """
    rows = centre_rows(scores)
    return _share(len(scores) * rows.mean(0).square().sum(), rows.square().sum())


def blind_energy(scores: Pattern) -> float:
    """beta of G3 for the full mask and mean pooling: share of the row-centred energy in the blind part.

    >>> blind_energy(torch.eye(3, dtype=torch.float64))
    1.0
    """
    return _share(centre_twice(scores).square().sum(), centre_rows(scores).square().sum())


def alignment(scores: Pattern, pattern: Pattern) -> float:
    """Cosine between the blind parts of two score patterns; NaN where one has none."""
    one, other = centre_twice(scores), centre_twice(pattern)
    return _share((one * other).sum(), one.norm() * other.norm())


def mean_distance(attention: Pattern) -> float:
    """Mean over queries of the expected distance from query to key."""
    return float((attention * _distance(attention)).sum(1).mean())


def uniform_distance(token_count: int) -> float:
    """Mean distance of uniform attention, ``(L^2 - 1) / (3 L)``.

    >>> uniform_distance(100)
    33.33
    """
    return (token_count**2 - 1) / (3 * token_count)


def mass_within(attention: Pattern, distance: int) -> float:
    """Mean over queries of the attention on keys at most ``distance`` away, the query itself included."""
    return float((attention * (_distance(attention) <= distance)).sum(1).mean())


def uniform_mass(token_count: int, distance: int) -> float:
    """Mass within a distance of uniform attention, ``((2 w + 1) L - w (w + 1)) / L^2``.

    >>> uniform_mass(100, 5)
    0.107
    """
    if not 0 <= distance < token_count:
        raise InputError(
            f"a distance must lie within the sequence: distance={distance}, tokens={token_count}; use 0..{token_count}"
        )
    return ((2 * distance + 1) * token_count - distance * (distance + 1)) / token_count**2


def entropy(attention: Pattern) -> float:
    """Mean over queries of the entropy of attention in nats; log L where it is uniform."""
    return float(torch.special.entr(attention).sum(1).mean())


def stable_rank(matrix: Float[Tensor, "rows columns"]) -> float:
    """Squared Frobenius norm over squared spectral norm: a rank that small singular values do not enter.

    >>> stable_rank(torch.eye(4))
    4.0
    """
    singular = torch.linalg.svdvals(matrix)
    return _share(singular.square().sum(), singular[0].square())


def _distance(attention: Pattern) -> Pattern:
    queries, keys = (torch.arange(count) for count in attention.shape)
    return (queries[:, None] - keys).abs().to(attention)


def _share(part: Float[Tensor, ""], whole: Float[Tensor, ""]) -> float:
    return float(part / whole) if float(whole) > 0 else math.nan
