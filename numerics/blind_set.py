"""Null spaces of hypotheses on a score pattern, exactly, and the projector onto the blind set of a mask.

A hypothesis of ``theory`` is a linear constraint on the pattern; its matrix comes from evaluating the constraint on
every basis pattern, so that no hypothesis is typed a second time here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from jaxtyping import Bool, Shaped

from numerics.evaluate import BATCH, Environment
from numerics.rings import Rationals, to_fraction
from theory import objects
from theory.claim import Constraint


def constraint_matrix(
    constraints: Sequence[Constraint], mask: Bool[np.ndarray, "L L"], pooling: Shaped[np.ndarray, " L"]
) -> list[list[Fraction]]:
    """Rows: one linear equation each; columns: entries of the pattern, row by row."""
    count = len(mask)
    ring = Rationals()
    patterns = np.eye(count * count, dtype=np.int64).reshape(count * count, count, count)
    environment = Environment(
        ring,
        count,
        1,
        {
            objects.pattern: ((BATCH, "i", "j"), ring.array(patterns)),
            objects.mask: (("i", "j"), ring.array(mask.astype(np.int64))),
            objects.pooling: (("i",), ring.array(pooling)),
        },
    )
    rows: list[list[Fraction]] = []
    for constraint in constraints:
        values = environment.evaluate(constraint.expression, constraint.free)
        for equation in values.reshape(count * count, -1).T:
            rows.append([to_fraction(v) for v in equation])
    return rows


def null_space(
    constraints: Sequence[Constraint], mask: Bool[np.ndarray, "L L"], pooling: Shaped[np.ndarray, " L"]
) -> Shaped[np.ndarray, "basis L L"]:
    """Integer basis of the patterns that satisfy all constraints: an array basis x L x L of Python integers.

    >>> from theory.hypotheses import zero_column_sums
    >>> basis = null_space([zero_column_sums], np.ones((2, 2), dtype=bool), np.full(2, Fraction(1, 2)))
    >>> basis.tolist()
    [[[-1, 0], [1, 0]], [[0, -1], [0, 1]]]
    """
    count = len(mask)
    rows = constraint_matrix(constraints, mask, pooling) or [[Fraction(0)] * count**2]
    integer_rows = []
    for row in rows:
        scale = math.lcm(*(value.denominator for value in row))
        integer_rows.append([int(value * scale) for value in row])
    reduced, denominator, rank = flint.fmpz_mat(integer_rows).rref()
    table = [[int(v) for v in line] for line in reduced.tolist()][:rank]
    pivots = [next(n for n, v in enumerate(line) if v) for line in table]
    basis = []
    for free in (n for n in range(count**2) if n not in pivots):
        vector = [0] * count**2
        vector[free] = int(denominator)
        for line, pivot in zip(table, pivots, strict=True):
            vector[pivot] = -line[free]
        divisor = math.gcd(*vector)
        sign = 1 if int(denominator) > 0 else -1
        basis.append([sign * v // divisor for v in vector])
    return np.array(basis, dtype=object).reshape(len(basis), count, count)


def centre_rows(pattern: Any, mask: Any) -> Any:
    """Subtract each row's mean over its keys; zero outside the mask."""
    kept = pattern * mask
    return (kept - (kept.sum(1) / mask.sum(1))[:, None]) * mask


def project_onto_blind_set(
    pattern: Shaped[np.ndarray, "L L"], mask: Bool[np.ndarray, "L L"], pooling: Shaped[np.ndarray, " L"]
) -> Shaped[np.ndarray, "L L"]:
    """Exact Frobenius projection of a pattern onto the blind patterns of a mask and pooling.

    The blind patterns supported on the mask have zero row sums and ``sum_i (omega_i / n_i) Gamma_ij = 0``.  The
    projection is ``mask * (pattern - r_i - q_i w_j)`` with multipliers r, w from the normal equations, solved exactly.

    Args: pattern and mask L x L, pooling L, of anything that converts to a fraction.
    Returns: L x L array of ``flint.fmpq``.
    """
    count = len(mask)
    ring = Rationals()
    exact, key_weight = ring.array(pattern * mask), ring.array(pooling) / ring.array(mask.sum(1))
    size = 2 * count
    system = [[flint.fmpq(0)] * size for _ in range(size)]
    right = [[flint.fmpq(0)] for _ in range(size)]
    for i in range(count):
        system[i][i] = flint.fmpq(int(mask[i].sum()))
        right[i][0] = exact[i].sum()
        for j in range(count):
            if mask[i, j]:
                system[i][count + j] = key_weight[i]
                system[count + j][i] = key_weight[i]
                system[count + j][count + j] += key_weight[i] ** 2
                right[count + j][0] += key_weight[i] * exact[i, j]
    multipliers = _any_solution(system, right)
    rows, columns = multipliers[:count], multipliers[count:]
    projected = np.empty((count, count), dtype=object)
    for i in range(count):
        for j in range(count):
            inside = exact[i, j] - rows[i] - key_weight[i] * columns[j]
            projected[i, j] = inside if mask[i, j] else flint.fmpq(0)
    return projected


def _any_solution(system: list[list[Any]], right: list[list[Any]]) -> list[Any]:
    """A solution of a consistent, possibly singular system, free unknowns set to zero."""
    size = len(system)
    augmented = flint.fmpq_mat([[*line, *value] for line, value in zip(system, right, strict=True)])
    reduced, rank = augmented.rref()
    solution = [flint.fmpq(0)] * size
    for row in range(rank):
        pivot = next(n for n in range(size + 1) if reduced[row, n] != 0)
        if pivot == size:
            raise ArithmeticError("the normal equations are inconsistent; the mask has a row without keys")
        solution[pivot] = reduced[row, size]
    return solution
