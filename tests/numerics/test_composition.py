"""What blindness survives between attention and the loss (G6): enclosed or exact, on the definition.

Every zero stands beside a slope that is not: off the blind set, or with a residual.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from numerics import definition
from numerics.numbers import coefficient, scalar_array, working
from numerics.rings import to_fraction
from tests.numerics.models import (
    BITS,
    CHECKERBOARD,
    EXACT,
    attention_along,
    ball_slope,
    blind_pattern,
    diagonal,
    encloses_zero,
    exact_slope,
    full,
    layer_norm,
    mean,
    rationals,
)

EPSILON = Fraction(1, 10**5)
LENGTH = 4


def _tokens(width, seed=1):
    return rationals(np.random.default_rng(seed), 1, LENGTH, width)


def _blind(seed=2):
    return blind_pattern(full(LENGTH), mean(LENGTH), np.random.default_rng(seed))


def _seen(seed=3):
    return rationals(np.random.default_rng(seed), LENGTH, LENGTH)


def _loss(pooled, numbers):
    """A loss with a gradient that depends on the pooled vector: Σ c h_c + h_c²/2."""
    weights = numbers.convert(np.arange(1, pooled.shape[-1] + 1))
    return (pooled * weights + pooled * pooled / 2).sum()


def _normed(numbers, *, pattern, width, residual, after=False):
    """L_sup with LayerNorm between attention (and a residual) and mean pooling, or after the pooling."""
    tokens = numbers.convert(_tokens(width))
    z = definition.outputs(attention_along(pattern, full(LENGTH), numbers), tokens)
    z = z + tokens if residual else z
    pooled = definition.pooled_vectors(z if after else layer_norm(z, EPSILON), numbers.convert(mean(LENGTH)))
    return _loss(layer_norm(pooled, EPSILON) if after else pooled, numbers)


@pytest.mark.parametrize("width", [3, 4, 6])
def test_a_norm_between_a_residual_and_the_pooling_breaks_blindness_from_width_three_on(width):
    slope = ball_slope(partial(_normed, pattern=_blind(), width=width, residual=True))
    assert float(slope.abs_lower()) > 1e-4
    assert float(slope.rad()) < 2.0 ** (-BITS // 2)


@pytest.mark.parametrize("width", [3, 4, 6])
@pytest.mark.parametrize(("residual", "after"), [(False, False), (True, True), (False, True)])
def test_a_norm_without_residual_or_after_the_pooling_keeps_blindness(width, residual, after):
    norm = partial(_normed, width=width, residual=residual, after=after)
    assert encloses_zero(ball_slope(partial(norm, pattern=_blind())), 1.0)
    assert float(ball_slope(partial(norm, pattern=_seen())).abs_lower()) > 1e-4


def test_at_width_two_a_norm_sees_only_a_sign():
    """LayerNorm of two features is ±1 up to ε, so that even behind a residual hardly any slope is left."""
    at_two = ball_slope(partial(_normed, pattern=_blind(), width=2, residual=True))
    at_three = ball_slope(partial(_normed, pattern=_blind(), width=3, residual=True))
    assert 0 < float(at_two.abs_upper()) < 1e-3 * float(at_three.abs_lower())


# --- max pooling -----------------------------------------------------------------------------------------------------


def test_max_pooling_has_different_slopes_on_the_two_sides_of_the_tie():
    """At α = 0 all outputs are equal, so that the maximum moves with the fastest output on one side, the slowest on
    the other: max and min of the exact slopes."""
    tokens = np.array([1, 0], dtype=object).reshape(1, 2, 1)
    with working(order=2):
        outputs = definition.outputs(attention_along(CHECKERBOARD, full(2), EXACT), EXACT.convert(tokens))
        values = [to_fraction(v) for v in coefficient(outputs, 0).ravel()]
        slopes = [to_fraction(v) for v in coefficient(outputs, 1).ravel()]
    assert values == [Fraction(1, 2)] * 2
    assert (max(slopes), min(slopes)) == (Fraction(1, 2), Fraction(-1, 2))
    # o_1 = e^(2α)/(e^(2α)+1) is a sigmoid of 2α: |o″| < 0.4, and rounding of a difference is at most 1e-16.
    for step in (1e-2, 1e-4, 1e-6):
        maxima = [float(_largest(s)) for s in (step, 0.0, -step)]
        right, left = (maxima[0] - maxima[1]) / step, (maxima[1] - maxima[2]) / step
        bound = 0.2 * step + 2e-16 / step
        assert abs(right - 0.5) <= bound
        assert abs(left + 0.5) <= bound


def _largest(step):
    attention = definition.attention(step, CHECKERBOARD.astype(float), np.ones((2, 2)), np.exp)
    return (attention @ np.array([1.0, 0.0])).max()


# --- heads, value and output projections, residual -------------------------------------------------------------------


def _heads(numbers, *, patterns, mask, residual, seed=5):
    """Two heads with value and output projections, mean pooling; the exact label loss along α."""
    rng = np.random.default_rng(seed)
    width, inner = 3, 2
    tokens = numbers.convert(_tokens(width))
    z = tokens if residual else 0 * tokens
    for pattern in patterns:
        value, output = numbers.convert(rationals(rng, width, inner)), numbers.convert(rationals(rng, inner, width))
        attended = definition.outputs(attention_along(pattern, mask, numbers), tokens @ value)
        z = z + attended @ output
    return _loss(definition.pooled_vectors(z, numbers.convert(mean(LENGTH))), numbers)


@pytest.mark.parametrize("residual", [False, True], ids=["plain", "residual"])
@pytest.mark.parametrize("mask", [full(LENGTH), diagonal(LENGTH)], ids=["full", "diagonal"])
def test_two_heads_with_projections_stay_blind_exactly(mask, residual):
    rng = np.random.default_rng(7)
    blind = [blind_pattern(mask, mean(LENGTH), rng) for _ in range(2)]
    heads = partial(_heads, mask=mask, residual=residual)
    assert exact_slope(partial(heads, patterns=blind)) == 0
    assert exact_slope(partial(heads, patterns=[blind[0], _seen()])) != 0
    assert (blind[0] != blind[1]).any()


@pytest.mark.parametrize("residual", [False, True], ids=["plain", "residual"])
def test_a_square_after_the_heads_stays_blind_only_without_residual(residual):
    """The exact counterpart of LayerNorm: f(z) = z² token by token."""
    blind = [blind_pattern(full(LENGTH), mean(LENGTH), np.random.default_rng(8)) for _ in range(2)]

    def squared(numbers):
        tokens = numbers.convert(_tokens(2))
        attended = [definition.outputs(attention_along(p, full(LENGTH), numbers), tokens) for p in blind]
        z = attended[0] + attended[1] + (tokens if residual else 0)
        return _loss(definition.pooled_vectors(z * z, numbers.convert(mean(LENGTH))), numbers)

    assert (exact_slope(squared) == 0) is not residual


@pytest.mark.parametrize("mask", [diagonal(LENGTH), np.tril(full(LENGTH))], ids=["diagonal", "causal"])
def test_a_square_under_a_mask_that_tells_outputs_apart_breaks_blindness(mask):
    blind = blind_pattern(mask, mean(LENGTH), np.random.default_rng(9))

    def squared(numbers):
        z = definition.outputs(attention_along(blind, mask, numbers), numbers.convert(_tokens(2)))
        return _loss(definition.pooled_vectors(z * z, numbers.convert(mean(LENGTH))), numbers)

    assert exact_slope(squared) != 0


# --- attention pooling -----------------------------------------------------------------------------------------------


def _attention_pooled(numbers, *, pattern, residual):
    """Pooling by the softmax of a read-out query: weights depend on the outputs themselves."""
    tokens = numbers.convert(_tokens(3))
    z = definition.outputs(attention_along(pattern, full(LENGTH), numbers), tokens)
    z = (z + tokens if residual else z)[0]
    query = numbers.convert(np.array([Fraction(3, 7), Fraction(-2, 7), Fraction(5, 7)], dtype=object))
    weights = numbers.exp((z * query).sum(1))
    pooled = (weights[:, None] * z).sum(0) / scalar_array(weights.sum())
    return _loss(pooled[None], numbers)


def test_attention_pooling_keeps_blindness_and_a_residual_breaks_it():
    pooled = partial(_attention_pooled, residual=False)
    assert encloses_zero(ball_slope(partial(pooled, pattern=_blind())), 1.0)
    assert float(ball_slope(partial(pooled, pattern=_seen())).abs_lower()) > 1e-3
    assert float(ball_slope(partial(_attention_pooled, pattern=_blind(), residual=True)).abs_lower()) > 1e-4


def test_attention_pooling_keeps_blindness_in_float64_too():
    """Central differences of the same model in float64 shrink with the step, down to rounding."""
    tokens, pattern = _tokens(3)[0].astype(float), _blind().astype(float)
    query = np.array([3, -2, 5]) / 7

    def loss(step):
        z = definition.attention(step, pattern, np.ones((LENGTH, LENGTH)), np.exp) @ tokens
        weights = np.exp(z @ query)
        pooled = weights @ z / weights.sum()
        return float(pooled @ np.arange(1, 4) + pooled @ pooled / 2)

    differences = [abs(loss(step) - loss(-step)) / (2 * step) for step in (1e-1, 1e-2, 1e-3)]
    # An odd function of the step without a linear term is of third order: a tenth of the step is a hundredth of this.
    assert differences[1] <= differences[0] / 50 + 1e-12
    assert differences[2] <= differences[1] / 50 + 1e-12
    assert differences[0] > 1e-6


def test_the_helpers_see_a_slope_that_is_there():
    """a_11 along the checkerboard is a sigmoid of 2α: slope 1/2, exactly and in balls."""

    def first(numbers):
        return scalar_array(attention_along(CHECKERBOARD, full(2), numbers)[0, 0])

    assert exact_slope(first) == Fraction(1, 2)
    assert ball_slope(first).overlaps(0.5)
    assert not encloses_zero(ball_slope(first), 1.0)
