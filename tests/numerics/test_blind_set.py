"""Null spaces and projections are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerics.blind_set import centre_rows, null_space, project_onto_blind_set
from numerics.real import project_in_floats
from numerics.rings import to_fraction
from numerics.strategies import masks, poolings, rational_arrays
from theory import hypotheses

FULL = np.ones((4, 4), dtype=bool)
DIAGONAL = ~np.eye(4, dtype=bool)


def _mean(count):
    return np.array([Fraction(1, count)] * count, dtype=object)


@pytest.mark.parametrize(
    ("constraint", "mask", "dimension"),
    [
        (hypotheses.zero_column_sums, FULL, 12),  # L(L-1)
        (hypotheses.zero_row_sums, FULL, 12),
        (hypotheses.symmetric, FULL, 10),
        (hypotheses.zero_diagonal, FULL, 12),
        (hypotheses.zero_pooled_key_weight, FULL, 13),  # all column sums equal
        (hypotheses.zero_centred_column_sums, DIAGONAL, 13),  # 5 blind, 4 row constants, 4 diagonal entries
        (hypotheses.antisymmetric_core, FULL, 10),  # 16 minus the 6 symmetric doubly centred patterns
    ],
)
def test_null_spaces_have_the_dimension_that_counting_gives(constraint, mask, dimension):
    assert len(null_space([constraint], mask, _mean(4))) == dimension


def test_the_diagonal_blind_set_is_empty_at_two_and_one_circulant_at_three():
    for count, dimension in ((2, 0), (3, 1), (4, 5)):
        mask = ~np.eye(count, dtype=bool)
        basis = null_space([hypotheses.zero_centred_column_sums], mask, _mean(count))
        centred = np.array([centre_rows(b.astype(float), mask.astype(float)).ravel() for b in basis])
        assert np.linalg.matrix_rank(centred) == dimension


@st.composite
def projections(draw):
    count = draw(st.integers(2, 5))
    return draw(rational_arrays(count, count)), draw(masks(count)), draw(poolings(count))[0]


@given(projections())
def test_projection_is_blind_idempotent_and_orthogonal(case):
    pattern, mask, pooling = case
    projected = project_onto_blind_set(pattern, mask, pooling)
    exact = np.vectorize(to_fraction, otypes=[object])(projected)
    keys = mask.sum(axis=1)
    assert all(total == 0 for total in exact.sum(axis=1))
    assert all(sum(pooling[i] / int(keys[i]) * exact[i, j] for i in range(len(mask))) == 0 for j in range(len(mask)))
    assert (exact[~mask] == 0).all()
    assert (project_onto_blind_set(exact, mask, pooling) == projected).all()
    assert (exact * (pattern * mask - exact)).sum() == 0


def test_blind_energy_of_alibi_depends_on_the_mask():
    distance = -np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    shares = []
    for mask in (np.ones((8, 8), dtype=bool), ~np.eye(8, dtype=bool), np.tril(np.ones((8, 8), dtype=bool))):
        projected = project_onto_blind_set(distance, mask, _mean(8)).astype(float)
        shares.append((projected**2).sum() / (centre_rows(distance.astype(float), mask) ** 2).sum())
    assert shares[0] == pytest.approx(4 * (2 * 64 + 7) / (3 * (3 * 64 + 8)))
    assert shares == pytest.approx([0.90, 0.78, 0.03], abs=0.005)


@given(projections())
def test_float_projection_agrees_with_the_exact_one(case):
    pattern, mask, pooling = case
    exact = project_onto_blind_set(pattern, mask, pooling).astype(float)
    got = project_in_floats(pattern.astype(float), mask, pooling.astype(float))
    # The normal matrix holds squared pooling weights: condition up to (5 L)^2 twice, times the unit roundoff.
    assert np.abs(got - exact).max() <= 1e-9 * max(1.0, np.abs(pattern.astype(float)).max())
