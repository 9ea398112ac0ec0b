"""The public strategies generate what their names say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from numerics import strategies
from numerics.blind_set import constraint_matrix
from numerics.losses import CrossEntropyLoss, LogisticLoss, PolynomialLoss
from theory import hypotheses
from theory.catalogue import claims
from theory.claim import MaskKind, PoolingKind

CONSTRAINTS = [
    hypotheses.zero_column_sums, hypotheses.zero_row_sums, hypotheses.zero_centred_column_sums,
    hypotheses.zero_pooled_key_weight, hypotheses.symmetric, hypotheses.zero_diagonal, hypotheses.antisymmetric_core,
]  # fmt: skip


@st.composite
def _constrained(draw, inside):
    count = draw(st.integers(3, 5))
    mask, (pooling, _) = draw(strategies.masks(count)), draw(strategies.poolings(count))
    constraint = draw(st.sampled_from(CONSTRAINTS))
    strategy = strategies.patterns_satisfying if inside else strategies.patterns_violating
    rows = np.array(constraint_matrix([constraint], mask, pooling), dtype=object)
    if not inside and not rows.any():
        return rows, None
    return rows, draw(strategy([constraint], mask, pooling))


@given(_constrained(inside=True))
def test_patterns_inside_satisfy_the_hypothesis_exactly(case):
    rows, pattern = case
    assert not (rows @ pattern.ravel()).any()


@given(_constrained(inside=False))
def test_patterns_outside_violate_the_hypothesis(case):
    rows, pattern = case
    if pattern is not None:
        assert (rows @ pattern.ravel()).any()


@given(st.data())
def test_masks_have_a_key_in_every_row_and_poolings_sum_to_one(data):
    count = data.draw(st.integers(2, 6))
    kind = data.draw(st.sampled_from(list(MaskKind)))
    mask = data.draw(strategies.masks(count, kind))
    assert mask.any(axis=1).all()
    assert kind is not MaskKind.DIAGONAL or (mask == ~np.eye(count, dtype=bool)).all()
    weights, position = data.draw(strategies.poolings(count, data.draw(st.sampled_from(list(PoolingKind)))))
    assert sum(weights) == 1
    assert position is None or weights[position] == 1


@given(st.data())
def test_second_moments_are_symmetric_and_positive(data):
    moment = data.draw(strategies.second_moments(4)).astype(float)
    assert (moment == moment.T).all()
    assert np.linalg.eigvalsh(moment).min() > -1e-9 * max(1.0, np.abs(moment).max())


@pytest.mark.parametrize("kind", [PolynomialLoss, LogisticLoss, CrossEntropyLoss])
def test_every_kind_of_loss_occurs(kind):
    assert isinstance(find(strategies.label_losses(2, 2), lambda loss: isinstance(loss, kind)), kind)


@given(st.data())
def test_instances_have_a_law_whose_weights_sum_to_one(data):
    claim = data.draw(st.sampled_from(claims()))
    part = data.draw(st.sampled_from(claim.parts))
    instance = data.draw(strategies.instances(part, 2, 4))
    assert sum(instance.sample_weights) == 1
    assert sum(e * e for e in instance.unit_feature) == 1
