"""False variants are rejected by every route; the witnesses of the design notes have the values stated there."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from numerics.instances import Instance
from numerics.losses import PolynomialLoss
from numerics.refutation import refute
from numerics.rings import to_fraction
from numerics.search import exact_sides, find_counterexample
from theory.catalogue import claims, find_claim
from theory.claim import FalseVariant, Quantity, Route

VARIANTS = [(claim.id, variant) for claim in claims() for variant in claim.false_variants]


def _variant(claim: str, identifier: str) -> FalseVariant:
    return next(v for v in find_claim(claim).false_variants if v.id == identifier)


def _instance(pattern, tokens, *, diagonal=False, cls=None) -> Instance:
    count = len(tokens)
    mask = ~np.eye(count, dtype=bool) if diagonal else np.ones((count, count), dtype=bool)
    pooling = [Fraction(1, count)] * count if cls is None else [Fraction(int(i == cls)) for i in range(count)]
    one, zero = np.array([[Fraction(1)]], dtype=object), np.array([[Fraction(0)]], dtype=object)
    return Instance(
        np.array(pattern, dtype=object), mask, np.array(pooling, dtype=object),
        np.array(tokens, dtype=object).reshape(1, count, 1), np.array([Fraction(1)], dtype=object),
        PolynomialLoss(one, zero, zero), np.array([Fraction(1)], dtype=object), np.arange(count), cls,
    )  # fmt: skip


@pytest.mark.parametrize(("claim", "variant"), VARIANTS, ids=[f"{c}: {v.id}" for c, v in VARIANTS])
def test_every_listed_route_rejects(claim, variant):
    result = refute(variant)
    assert result.counterexample is not None
    assert [r for r in result.rejections if not r.rejected] == []
    assert {r.route for r in result.rejections} == set(variant.routes)


CHECKERBOARD = [[1, -1], [-1, 1]]
DOUBLE_SWAP = [[0, 1, -1, 0], [1, 0, 0, -1], [-1, 0, 0, 1], [0, -1, 1, 0]]


@pytest.mark.parametrize(
    ("claim", "variant", "instance", "true"),
    [
        ("P1", "sign flipped", _instance(CHECKERBOARD, [1, 0]), Fraction(-1, 4)),
        ("P1", "Δ for Δ̄", _instance([[1, 1], [-1, -1]], [1, 0]), Fraction(0)),
        ("P1", "row sums suffice", _instance([[1, -1], [1, -1]], [1, 0]), Fraction(1, 2)),
        ("P1", "symmetry suffices", _instance([[1, 0], [0, 0]], [1, 0]), Fraction(1, 8)),
        ("P1", "blind under CLS pooling", _instance(CHECKERBOARD, [1, 0], cls=0), Fraction(1, 2)),
        ("P1", "covariance for C", _instance(CHECKERBOARD, [1, 0]), Fraction(-1, 4)),
        ("P1-diag", "1/L² under the mask", _instance(DOUBLE_SWAP, [1, 1, 0, 0], diagonal=True), Fraction(-2, 9)),
    ],
)
def test_witnesses_of_the_design_notes(claim, variant, instance, true):
    found, claimed = exact_sides(_variant(claim, variant).part, instance)
    assert to_fraction(found[()]) == true
    assert to_fraction(claimed[()]) != true


@pytest.mark.parametrize(
    ("variant", "pattern"),
    [
        ("column sums of Δ suffice", [[1, 0, 0], [-1, 0, 0], [0, 0, 0]]),
        ("column sums of Δ and a zero diagonal suffice", [[0, 1, 0], [0, 0, 0], [0, -1, 0]]),
    ],
)
def test_vanishing_column_sums_do_not_suffice_under_the_diagonal_mask(variant, pattern):
    part = _variant("P1-diag", variant).part
    seen = [exact_sides(part, _instance(pattern, row, diagonal=True))[0][()] for row in np.eye(3, dtype=int).tolist()]
    assert any(value != 0 for value in seen)


def test_a_blind_pattern_may_curve_the_label_loss_from_length_three_on():
    part = _variant("P1", "blind means constant").part
    curved = _instance([[1, -1, 0], [-1, 1, 0], [0, 0, 0]], [1, 0, 0])
    assert exact_sides(part, curved)[0][()] != 0
    assert find_counterexample(part, most_length=2, tries=60) is None


def test_the_identity_pattern_is_blind_outside_the_papers_set():
    identity = _instance([[1, 0], [0, 1]], [1, 0])
    assert exact_sides(find_claim("P1").parts[0], identity)[0][()] == 0
    assert (identity.pattern.sum(axis=0) != 0).all()


def test_a_true_statement_posing_as_false_is_not_rejected():
    variant = FalseVariant("truth", "Proposition 1 itself.", find_claim("P1").parts[1])
    result = refute(variant, tries=12)
    assert result.counterexample is None
    assert not result.complete


def test_a_new_false_variant_is_rejected_by_every_route():
    part = find_claim("P1").parts[1]
    doubled = replace(part, statement=2 * part.statement)
    result = refute(FalseVariant("doubled", "Twice the slope.", doubled))
    assert result.complete
    assert {r.route for r in result.rejections} == set(Route)
    assert part.quantity is Quantity.RECONSTRUCTION_SLOPE
