"""What labels see of a pattern through a pooling: blind energy (G3) and visible dimensions (N3).

The part of the centred pattern that labels see is its component along ``q_i m_ij (lambda_j - mean_i lambda)``,
q = omega / n: the orthogonal complement of the blind set.  Its energy is ``v' S^+ v`` with the weighted graph Laplacian
``S = diag(M' q^2) - M' diag(q^2 / n) M``.  One row (CLS) and the full mask have closed forms; otherwise conjugate
gradients give bounds, because ``2 lambda'v - lambda'S lambda`` never exceeds the energy and misses it by
``r' S^+ r``, r the residual.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg
from jaxtyping import Float64

from numerics.structured.scores import Mask, Scores
from numerics.structured.toeplitz import Toeplitz

#: Conjugate gradients stop here; what is then missing widens the bounds.
MOST_ITERATIONS = 2000


@dataclass(frozen=True)
class Bounded:
    """A number with certain bounds (up to rounding), and how it was found."""

    value: float
    low: float
    high: float
    method: str


def blind_energy(scores: Scores, pooling: Float64[np.ndarray, " L"]) -> Bounded | None:
    """Share of the centred pattern's energy that labels cannot see; ``None`` where the centred pattern is zero.

    Args:
        scores: pattern and mask.
        pooling: weights over positions that sum to one.

    >>> from numerics.structured.scores import named_scores
    >>> length = 1024
    >>> found = blind_energy(named_scores("alibi", "full", length), np.full(length, 1 / length))
    >>> abs(found.value - 4 * (2 * length**2 + 7) / (3 * (3 * length**2 + 8))) < 1e-12
    True
    """
    if scores.energy == 0:
        return None
    seen = visible_energy(scores, pooling)
    low, value, high = (min(max(1 - e / scores.energy, 0.0), 1.0) for e in (seen.high, seen.value, seen.low))
    return Bounded(value, low, high, seen.method)


def visible_energy(scores: Scores, pooling: Float64[np.ndarray, " L"]) -> Bounded:
    """Energy of the part of the centred pattern that labels see."""
    read = np.flatnonzero(pooling)
    if len(read) == 1:
        return _exactly(float(scores.row_energy[read[0]]))
    weight = scores.key_weight(pooling)
    if scores.mask.name == "full" and np.ptp(pooling) == 0:
        return _exactly(scores.mask.count**3 * float(weight @ weight))
    return _by_conjugate_gradients(weight, scores.mask, pooling)


def read_energy(scores: Scores, pooling: Float64[np.ndarray, " L"]) -> float:
    """Energy of the centred pattern in the rows that the pooling reads: the others do not reach the prediction."""
    return float(scores.row_energy[pooling != 0].sum())


def visible_dimension(mask: Mask, pooling: Float64[np.ndarray, " L"]) -> tuple[int, int]:
    """How many directions of the centred scores one pooling probe sees, and how many there are.

    r linearly independent mean-like probes see r times as many under the full mask (N3).  Positions that no query
    compares with another, such as the two positions of the diagonal mask at L = 2, are not seen.

    >>> visible_dimension(Mask("full", 8), np.full(8, 1 / 8))
    (7, 56)
    """
    directions = mask.keys - 1
    read = np.flatnonzero(pooling)
    if len(read) == 1:
        return int(directions[read[0]]), int(directions.sum())
    # In every other named mask the keys of neighbouring queries overlap, so that S has one null direction.
    return (mask.count - 1 if directions.any() else 0), int(directions.sum())


def _exactly(value: float) -> Bounded:
    return Bounded(value, value, value, "exact")


def _by_conjugate_gradients(
    weight: Float64[np.ndarray, " L"], mask: Mask, pooling: Float64[np.ndarray, " L"]
) -> Bounded:
    squares = (pooling / mask.keys) ** 2
    scale = float(squares.max())
    squares, target = squares / scale, weight - weight.mean()
    diagonal = mask.sum_queries(squares)

    def laplacian(values: np.ndarray) -> np.ndarray:
        seen = mask.sum_keys(np.ravel(values))
        return np.asarray(diagonal * np.ravel(values) - mask.sum_queries(squares / mask.keys * seen))

    shape = (mask.count, mask.count)
    solution = scipy.sparse.linalg.cg(
        scipy.sparse.linalg.LinearOperator(shape, laplacian, dtype=np.float64),
        target,
        rtol=1e-13,
        maxiter=MOST_ITERATIONS,
        M=scipy.sparse.linalg.LinearOperator(shape, lambda r: np.ravel(r) / diagonal, dtype=np.float64),
    )[0]
    image = laplacian(solution)
    residual = target - image
    low = float(2 * solution @ target - solution @ image)
    missing = float(residual @ residual) / _least_eigenvalue(squares / mask.keys, mask)
    return Bounded(low / scale, low / scale, (low + missing) / scale, "conjugate gradients, certain bounds")


def _least_eigenvalue(edge: Float64[np.ndarray, " L"], mask: Mask) -> float:
    """Lower bound of the second eigenvalue of S, by comparison with a complete graph or with a path of neighbours."""
    if mask.name == "causal":
        return mask.count * float(edge.min())  # every pair of positions shares the last query
    keys = mask.matrix.by_lag > 0
    both = np.zeros_like(mask.matrix.by_lag)
    both[:-1] = keys[:-1] & keys[1:]  # query i sees both j and j + 1
    edges = Toeplitz(both).transposed().apply(edge)[:-1]
    return float(edges.min()) * (2 - 2 * math.cos(math.pi / mask.count))
