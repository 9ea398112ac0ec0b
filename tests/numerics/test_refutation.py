"""False variants are rejected by every route; the witnesses of the design notes have the values stated there."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from numerics.instances import MASKED, Instance, with_masking
from numerics.losses import PolynomialLoss
from numerics.refutation import refute
from numerics.rings import to_fraction
from numerics.search import exact_sides, find_counterexample
from theory.catalogue import claims, find_claim
from theory.claim import FalseVariant, Part, Quantity, Route
from theory.composition import bend
from theory.query_key import bilinear

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


# --- witnesses of the newer claims -----------------------------------------------------------------------------------

ONE = np.array([Fraction(1)], dtype=object)


def _part(claim: str, variant: str | None = None) -> Part:
    return find_claim(claim).parts[0] if variant is None else _variant(claim, variant).part


def _true(part: Part, instance: Instance, rank: int = 0) -> Fraction:
    return to_fraction(exact_sides(part, instance)[0][(0,) * rank])


def _claimed(part: Part, instance: Instance) -> Fraction:
    return to_fraction(exact_sides(part, instance)[1][()])


def test_a_square_behind_a_residual_has_slope_one_half_and_none_without():
    """f(z) = z + b z² at b = 1: the linear part is blind, so that the slope is that of z²."""
    instance = replace(_instance(CHECKERBOARD, [1, 0]), overrides={bend: (("c",), ONE)})
    assert _true(_part("G6", "a residual changes nothing"), instance) == Fraction(1, 2)
    assert _true(_part("G6"), instance) == 0
    linear = replace(instance, overrides={bend: (("c",), 0 * ONE)})
    assert _true(_part("G6", "a residual changes nothing"), linear) == 0


def _along_one(tokens, weights=(1,)) -> Instance:
    """Sequences of two tokens of width 1, M = 1, a loss with gradient 1 for every sample."""
    count = len(weights)
    one, zero = np.full((count, 1), Fraction(1), dtype=object), np.full((count, 1), Fraction(0), dtype=object)
    return replace(
        _instance(CHECKERBOARD, tokens[0]),
        tokens=np.array(tokens, dtype=object).reshape(count, 2, 1),
        sample_weights=np.array([Fraction(w, sum(weights)) for w in weights], dtype=object),
        loss=PolynomialLoss(one, zero, zero),
        overrides={bilinear: (("c", "e"), np.array([[Fraction(1)]], dtype=object))},
    )


def test_the_reconstruction_gradient_in_m_squares_the_covariance():
    single = _along_one([[0, 1]])
    assert _true(_part("Q2"), single) == _claimed(_part("Q2"), single) == Fraction(-1, 16)
    assert _claimed(_part("Q2", "no square"), single) == Fraction(-1, 4)
    # One covariance a sequence: beside a constant sequence E[Σ̂²] is twice (E Σ̂)².
    mixed = _along_one([[0, 1], [0, 0]], weights=(1, 1))
    assert _true(_part("Q2"), mixed) == Fraction(-1, 32)
    assert _claimed(_part("Q2", "square of the mean"), mixed) == Fraction(-1, 64)


def test_query_and_key_may_be_swapped_at_width_one_but_not_at_two():
    part = _part("Q1", "query and key swapped")
    for tokens in ([[0, 1]], [[2, 5]], [[-1, 3]]):
        instance = _along_one(tokens)
        assert _true(part, instance) == _claimed(part, instance) != 0
    assert find_counterexample(part, most_width=1, most_length=3, tries=20) is None
    one, zero = (np.array([[Fraction(v), Fraction(0)]], dtype=object) for v in (1, 0))
    corner = np.array([[0, 1], [0, 0]], dtype=object)  # M_12: e₁ asks, e₂ answers
    unit_tokens = np.array([[[1, 0], [0, 1]]], dtype=object)
    apart = replace(
        _along_one([[0, 1]]), tokens=unit_tokens, loss=PolynomialLoss(one, zero, zero), unit_feature=one[0],
        overrides={bilinear: (("c", "e"), corner)},
    )  # fmt: skip
    # x̄ = (½, ½) and Σ̂g = (¼, −¼).
    assert (_true(part, apart), _claimed(part, apart)) == (Fraction(-1, 8), Fraction(1, 8))


def _masked_instance(ratio: Fraction, count: int = 6) -> Instance:
    """ALiBi on sequences whose tokens are the unit vectors: C is the identity."""
    distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    zero = np.zeros((1, count), dtype=object)
    bare = replace(
        _instance((-distance).tolist(), [0] * count), tokens=np.eye(count, dtype=int).astype(object)[None],
        loss=PolynomialLoss(zero, zero, zero), unit_feature=np.eye(count, dtype=int)[0].astype(object),
    )  # fmt: skip
    return with_masking(bare, ratio)


def test_trainers_that_divide_by_the_actual_count_have_another_slope():
    """ρ = .15, L = 6, unit tokens.  Only C_jj is left, so the slopes stand in the ratio of E[(1−r_i) r_j / count] to
    (1−ρ)/L: with n masked positions, (L − n)/(L(L − 1)) of every n ≥ 1."""
    ratio, count = Fraction(3, 20), 6
    instance = _masked_instance(ratio)
    expected, trained = (_true(replace(_part("G7"), quantity=q), instance) for q in MASKED)
    assert expected == _claimed(_part("G7"), instance) == Fraction(1 - ratio, count**3) * Fraction(-35, 3)
    odds = [Fraction(math.comb(count, n)) * ratio**n * (1 - ratio) ** (count - n) for n in range(count + 1)]
    by_count = sum(odds[n] * Fraction(count - n, count * (count - 1)) for n in range(1, count + 1))
    assert trained / expected == by_count / (Fraction(1 - ratio) / count)
    assert 0.66 < float(trained / expected) < 0.67
    assert round(float(expected), 4) == -0.0459
    assert round(float(trained), 4) == -0.0306


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
