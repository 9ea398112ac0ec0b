"""Periodic biases are invisible at any strength (G5): the softmax itself, at strengths away from zero."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest

from numerics import definition
from numerics.evaluate import KNOWN
from numerics.instances import ring_mask
from numerics.numbers import BALLS, coefficient, scalar_array, working
from numerics.tolerance import UNIT_ROUNDOFF
from tests.numerics.models import BITS, full, rationals
from theory.geometry import RING, TORUS

STRENGTHS = (1, 3, -2)


def _periodic(table, count, seed):
    """A random pattern of the offset alone."""
    scores = rationals(np.random.default_rng(seed), count)
    return np.einsum("ijk,k->ij", KNOWN[table](count).astype(np.int64).astype(object), scores)


def _alibi(count):
    return -np.abs(np.subtract.outer(np.arange(count), np.arange(count))).astype(object)


CASES = [
    pytest.param(RING.table, 5, full(5), id="ring of 5"),
    pytest.param(RING.table, 6, ring_mask(np.array([1, 1, 0, 0, 1, 0], dtype=bool)), id="ring of 6, masked"),
    pytest.param(TORUS.table, 6, full(6), id="torus 2 × 3"),
    pytest.param(TORUS.table, 12, full(12), id="torus 3 × 4"),
    pytest.param(TORUS.table, 16, full(16), id="torus 4 × 4"),
]


def _moved(pattern, mask, strength, tokens):
    """Largest distance of the mean-pooled vector from the mean token, in float64."""
    attention = definition.attention(float(strength), pattern.astype(float), mask.astype(float), np.exp)
    return np.abs((attention @ tokens).mean(0) - tokens.mean(0)).max()


def _rounding(pattern, strength, tokens):
    """A score of size s has relative error (1 + s) u in its exponential; two sums of L terms follow."""
    count = len(pattern)
    reach = abs(strength) * float(np.abs(pattern.astype(float)).max())
    return 4 * (2 * count + 10 + reach) * UNIT_ROUNDOFF * float(np.abs(tokens).max())


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize(("table", "count", "mask"), CASES)
def test_mean_pooling_returns_the_mean_token_at_any_strength(table, count, mask, strength):
    pattern, tokens = _periodic(table, count, count), np.random.default_rng(1).standard_normal((count, 3))
    assert _moved(pattern, mask, strength, tokens) <= _rounding(pattern, strength, tokens)
    alibi = _alibi(count)
    assert _moved(alibi, full(count), strength, tokens) > 1e6 * _rounding(alibi, strength, tokens)


@pytest.mark.parametrize(("table", "count", "mask"), CASES)
def test_the_pooled_vector_is_enclosed_at_strength_three(table, count, mask):
    tokens = rationals(np.random.default_rng(2), count, 2)
    for pattern, still in ((_periodic(table, count, 3), True), (_alibi(count), False)):
        with working(bits=BITS, order=1):
            keys = BALLS.convert(mask.astype(np.int64))
            attention = definition.attention(scalar_array(flint.arb(3)), BALLS.convert(pattern), keys, BALLS.exp)
            moved = (attention @ BALLS.convert(tokens)).sum(0) - BALLS.convert(tokens).sum(0)
            balls = list(coefficient(moved, 0))
        assert all(float(ball.rad()) < 2.0 ** (-BITS // 2) for ball in balls)
        assert all(ball.contains(0) for ball in balls) is still


@pytest.mark.parametrize(("table", "count", "mask"), CASES)
def test_attention_is_doubly_stochastic_and_a_cls_token_is_moved(table, count, mask):
    """What makes mean pooling still; one query alone does see the bias."""
    pattern = _periodic(table, count, 4)
    attention = definition.attention(3.0, pattern.astype(float), mask.astype(float), np.exp)
    bound = 4 * (2 * count + 10 + 3 * float(np.abs(pattern.astype(float)).max())) * UNIT_ROUNDOFF
    assert np.abs(attention.sum(0) - 1).max() <= bound
    tokens = np.random.default_rng(3).standard_normal(count)
    uniform = (mask @ tokens) / mask.sum(1)
    assert np.abs(attention @ tokens - uniform)[0] > 1e-3


def test_a_torus_needs_its_own_shape():
    """Distances on the ring of 12 are not periodic on the torus 3 × 4, yet blind: they are periodic on their own."""
    ring, torus = _periodic(RING.table, 12, 5), _periodic(TORUS.table, 12, 5)
    tokens = np.random.default_rng(4).standard_normal((12, 2))
    assert (ring != torus).any()
    half = ring + torus
    assert _moved(half, full(12), 3, tokens) > 1e6 * _rounding(half, 3, tokens)
    # At first order their sum is blind, for blindness of that order is linear.
    assert all(total == half.sum(0)[0] for total in half.sum(0))
    assert isinstance(half[0, 0], Fraction)
