"""Fast closed forms equal the definition, differentiated or enumerated, and the expressions of ``theory``."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from numerics import definition
from numerics.evaluate import SAMPLE, Environment
from numerics.patterns import attention_mask, pooling_weights, score_pattern
from numerics.real import project_in_floats
from numerics.rings import Floats
from numerics.structured import pooled
from numerics.structured.pooled import blind_energy, read_energy, visible_dimension, visible_energy
from numerics.structured.scores import DenseScores, Mask, Scores, StructuredScores, named_scores
from numerics.structured.slopes import sequence_slopes, zero_loss
from numerics.structured.toeplitz import Toeplitz, lag_spectrum, lag_sums
from theory import objects
from theory.claims.first_order import GENERAL_RECONSTRUCTION
from theory.masking import MASKED_SLOPE
from theory.sums import POSITIONS, index

MASKS = ["full", "diagonal", "causal", "band:1", "band:3"]
PATTERNS = ["alibi", "periodic", "gaussian:2", "window:1", "identity"]
NUMBERS = st.integers(-8, 8).map(lambda n: n / 4)


@st.composite
def cases(draw, most_length=7):
    """Scores (by lag or dense), the dense pattern and mask, and tokens N x L x d."""
    count = draw(st.integers(3, most_length))
    mask = Mask(draw(st.sampled_from(MASKS)), count)
    scores: Scores
    if draw(st.booleans()):
        by_lag = draw(arrays(np.float64, 2 * count - 1, elements=NUMBERS))
        scores, pattern = StructuredScores(by_lag, mask), Toeplitz(by_lag).dense()
    else:
        pattern = draw(arrays(np.float64, (count, count), elements=NUMBERS))
        scores = DenseScores(pattern, mask)
    width = draw(st.integers(1, 2))
    tokens = draw(arrays(np.float64, (2, count, width), elements=NUMBERS))
    return scores, pattern, attention_mask(mask.name, count), tokens


def as_rows(tokens):
    samples, count, width = tokens.shape
    return tokens.swapaxes(1, 2).reshape(samples * width, count), np.arange(samples) * width


def derivative(function, order=1):
    step = torch.zeros((), dtype=torch.float64, requires_grad=True)
    value = function(step)
    for remaining in range(order, 0, -1):
        value = torch.stack(
            [torch.autograd.grad(v, step, create_graph=remaining > 1, retain_graph=True)[0] for v in value.reshape(-1)]
        ).reshape(value.shape)
    return value.numpy()


def attention(pattern, mask):
    held, allowed = torch.from_numpy(pattern), torch.from_numpy(mask.astype(np.float64))
    return lambda step: definition.attention(step, held, allowed, torch.exp)


def masked_loss(pattern, mask, tokens, ratio):
    """Mean masked objective of sequences, all 2^L masks enumerated, normalised by the expected count."""
    count = tokens.shape[1]
    choices = np.array(list(itertools.product([0.0, 1.0], repeat=count)))
    chances = torch.from_numpy(np.prod(np.where(choices == 1, ratio, 1 - ratio), axis=1))
    targets = np.repeat(tokens, len(choices), axis=0)
    hidden = torch.from_numpy(np.tile(choices, (len(tokens), 1)))
    inputs, curve = (1 - hidden)[:, :, None] * torch.from_numpy(targets), attention(pattern, mask)

    def loss(step):
        errors = torch.from_numpy(targets) - definition.outputs(curve(step), inputs)
        losses = (hidden * (errors**2).sum(2)).sum(1).reshape(len(tokens), -1)
        return (losses @ chances).mean() / (2 * ratio * count)

    return loss


def close(found, expected):
    """Equal up to rounding: entries are below 100, sums have fewer than a thousand terms."""
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


@given(st.integers(1, 40), st.integers(0, 10**6))
def test_transforms_multiply_like_the_matrix(count, seed):
    rng = np.random.default_rng(seed)
    matrix, rows = Toeplitz(rng.standard_normal(2 * count - 1)), rng.standard_normal((3, count))
    close(matrix.apply(rows), rows @ matrix.dense().T)
    close(matrix.row_sums(), matrix.dense().sum(axis=1))
    close(matrix.transposed().dense(), matrix.dense().T)
    outer = rows.T @ (rows**2)
    close(lag_sums(lag_spectrum(rows, rows**2), count), [np.trace(outer, k) for k in range(1 - count, count)])


@given(cases())
def test_unmasked_slopes_are_the_derivative_of_the_definition(case):
    scores, pattern, mask, tokens = case
    rows, starts = as_rows(tokens)
    curve = attention(pattern, mask)
    for n, sequence in enumerate(torch.from_numpy(tokens)):
        one = torch.ones(1, dtype=torch.float64)
        loss = lambda step, x=sequence[None], w=one: definition.reconstruction_loss(curve(step), x, w)  # noqa: E731
        close(sequence_slopes(scores, rows, starts).unmasked[n], derivative(loss))
        close(zero_loss(scores, rows, starts)[n], loss(torch.zeros(())))


@given(cases(most_length=5), st.sampled_from([0.15, 0.3, 0.5, 0.75]))
def test_masked_slopes_are_the_derivative_of_the_enumerated_objective(case, ratio):
    scores, pattern, mask, tokens = case
    found = sequence_slopes(scores, *as_rows(tokens)).masked(ratio)
    for n, sequence in enumerate(tokens):
        close(found[n], derivative(masked_loss(pattern, mask, sequence[None], ratio)))


@given(cases(most_length=4), st.sampled_from([0.15, 0.5, 0.75]))
def test_order_slopes_are_what_independent_signs_take_away(case, ratio):
    """Same energies, no correlation: the tokens times independent signs, all of them enumerated."""
    scores, pattern, mask, tokens = case
    neutral = pattern.copy()
    for i, row in enumerate(mask):
        others = row & (np.arange(len(row)) != i)
        if others.any():
            neutral[i, i] = pattern[i, others].mean()
    found = sequence_slopes(scores, *as_rows(tokens)).ordered(ratio)
    for n, sequence in enumerate(tokens):
        signs = np.array(list(itertools.product([-1.0, 1.0], repeat=len(mask))))
        independent = signs[:, :, None] * sequence
        slope, without_order = (derivative(masked_loss(neutral, mask, x, ratio)) for x in (sequence[None], independent))
        close(found[n], slope - without_order)


@given(cases(), NUMBERS, NUMBERS)
def test_exchangeable_tokens_have_no_order_slope(case, energy, product):
    """A law with equal |x_j|^2 and equal products has C = a I + b 11'; realised by its square root."""
    scores = case[0]
    count = scores.mask.count
    moment = (abs(energy) + abs(product)) * np.eye(count) + abs(product)
    values, vectors = np.linalg.eigh(moment)
    rows = (vectors * np.sqrt(np.maximum(values, 0))).T
    close(sequence_slopes(scores, rows, np.array([0])).ordered(0.5), 0)


@given(cases(), st.sampled_from([Fraction(3, 20), Fraction(1, 2), Fraction(3, 4)]))
def test_slopes_equal_the_statements_of_theory(case, ratio):
    scores, pattern, mask, tokens = case
    arrays_ = {
        objects.pattern: (("i", "j"), pattern),
        objects.mask: (("i", "j"), mask.astype(np.float64)),
        objects.tokens: ((SAMPLE, "i", "c"), tokens),
    }
    environment = Environment(Floats(), len(mask), tokens.shape[2], arrays_, np.array([0.5, 0.5]), mask_ratio=ratio)
    found = sequence_slopes(scores, *as_rows(tokens))
    close(found.unmasked.mean(), environment.evaluate(GENERAL_RECONSTRUCTION))
    close(found.masked(float(ratio)).mean(), environment.evaluate(MASKED_SLOPE))


@given(cases(), st.sampled_from(["mean", "cls:1", "last"]))
def test_pooled_weights_are_the_derivatives_of_the_definition(case, pooling):
    scores, pattern, mask, _ = case
    weights, _ = pooling_weights(pooling, len(mask))
    curve, held = attention(pattern, mask), torch.from_numpy(weights)
    pooled_attention = lambda step: held @ curve(step)  # noqa: E731
    close(scores.key_weight(weights), derivative(pooled_attention))
    close(scores.key_curvature(weights), derivative(pooled_attention, order=2))


@given(cases(), st.sampled_from(["mean", "cls:0", "last"]))
def test_pooled_weights_equal_the_objects_of_theory(case, pooling):
    scores, pattern, mask, _ = case
    weights, _ = pooling_weights(pooling, len(mask))
    held = {
        objects.pattern: (("i", "j"), pattern),
        objects.mask: (("i", "j"), mask.astype(np.float64)),
        objects.pooling: (("i",), weights),
    }
    environment, j = Environment(Floats(), len(mask), 1, held), index("j", POSITIONS)
    close(scores.key_weight(weights), environment.evaluate(objects.pooled_key_weight[j], (j,)))
    close(scores.key_curvature(weights), environment.evaluate(objects.pooled_key_curvature[j], (j,)))


@given(cases(), st.sampled_from(["mean", "cls:0", "last"]))
def test_blind_energy_is_that_of_the_projection(case, pooling):
    scores, pattern, mask, _ = case
    weights, _ = pooling_weights(pooling, len(mask))
    centred = mask * (pattern - ((pattern * mask).sum(1) / mask.sum(1))[:, None])
    found = blind_energy(scores, weights)
    if found is None:
        assert np.abs(centred).max() < 1e-12
        return
    share = (project_in_floats(pattern, mask, weights) ** 2).sum() / (centred**2).sum()
    assert found.low - 1e-9 <= share <= found.high + 1e-9
    assert found.high - found.low < 1e-9
    assert scores.energy == pytest.approx((centred**2).sum())
    read = weights != 0
    assert read_energy(scores, weights) == pytest.approx((centred[read] ** 2).sum(), abs=1e-12)


@pytest.mark.parametrize("mask", ["diagonal", "causal", "band:3"])
def test_bounds_of_the_blind_energy_hold_the_value_when_iterations_stop_early(mask, monkeypatch):
    scores, weights = named_scores("alibi", mask, 48), np.full(48, 1 / 48)
    known = blind_energy(scores, weights)
    monkeypatch.setattr(pooled, "MOST_ITERATIONS", 1)
    early = blind_energy(scores, weights)
    assert known is not None
    assert early is not None
    assert early.low <= known.value <= early.high
    if mask != "diagonal":  # the diagonal mask needs one step
        assert early.high - early.low > 100 * (known.high - known.low)


@pytest.mark.parametrize(("mask", "share"), [("full", 0.90), ("diagonal", 0.78), ("causal", 0.03)])
def test_the_mask_matters_for_alibi_at_eight_positions(mask, share):
    found = blind_energy(named_scores("alibi", mask, 8), np.full(8, 1 / 8))
    assert found is not None
    assert found.value == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize(
    ("pattern", "low", "high"),
    [("window:32", 2e-4, 4e-4), ("window:8", 1e-6, 5e-5), ("alibi", 0.111, 0.112), ("identity", -1e-12, 1e-12)],
)
def test_visible_fractions_at_1024_positions_are_those_of_the_design(pattern, low, high):
    found = blind_energy(named_scores(pattern, "full", 1024), np.full(1024, 1 / 1024))
    assert found is not None
    assert low < 1 - found.value < high


@given(st.integers(2, 7), st.sampled_from(MASKS), st.sampled_from(["mean", "cls:1", "last"]))
@example(2, "diagonal", "mean")
def test_visible_dimension_is_the_rank_of_what_labels_see(count, mask, pooling):
    weights, _ = pooling_weights(pooling, count)
    held = Mask(mask, count)
    seen = [DenseScores(np.eye(count * count)[n].reshape(count, count), held) for n in range(count * count)]
    rank = np.linalg.matrix_rank(np.array([s.key_weight(weights) for s in seen]))
    directions = np.linalg.matrix_rank(np.array([s._centred.ravel() for s in seen]))
    assert visible_dimension(held, weights) == (rank, directions)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_transforms_equal_the_dense_route_at_300_positions(pattern, mask):
    rng = np.random.default_rng(0)
    fast = named_scores(pattern, mask, 300)
    dense = DenseScores(score_pattern(pattern, 300), Mask(mask, 300))
    rows, starts = rng.standard_normal((4, 300)).cumsum(axis=1), np.array([0, 2])
    for ours, theirs in zip(fast.pulls(rows), dense.pulls(rows), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12 * max(np.abs(theirs).max(), 1e-6))
    left, right = sequence_slopes(fast, rows, starts), sequence_slopes(dense, rows, starts)
    scale = max(np.abs(right.unmasked).max(), 1e-3)
    np.testing.assert_allclose(left.unmasked, right.unmasked, atol=1e-10 * scale)
    np.testing.assert_allclose(left.masked(0.5), right.masked(0.5), atol=1e-10 * scale)
    np.testing.assert_allclose(left.ordered(0.5), right.ordered(0.5), atol=1e-10 * scale)
    mean = np.full(300, 1 / 300)
    size = max(fast.energy / 300**3, 1e-30) ** 0.5
    np.testing.assert_allclose(fast.key_weight(mean), dense.key_weight(mean), atol=1e-11 * size)
    assert visible_energy(fast, mean).value == pytest.approx(visible_energy(dense, mean).value, abs=1e-9 * fast.energy)


@pytest.mark.parametrize("constant", [0.1, 7.0])
def test_a_constant_pattern_has_no_blind_energy(constant):
    count = 33
    assert blind_energy(StructuredScores(np.full(2 * count - 1, constant), Mask("full", count)), np.ones(count)) is None
    assert blind_energy(DenseScores(np.full((count, count), constant), Mask("causal", count)), np.ones(count)) is None
