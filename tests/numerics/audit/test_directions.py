"""Directions by streaming equal gradients of the definition; noise alone does not look like structure."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from numerics import definition
from numerics.audit.correlation import off_diagonal_energy
from numerics.audit.descent import DescentSums, descent_direction
from numerics.audit.positions import PositionalSums, inner_product, positional_profiles, positions
from numerics.audit.sequences import Sequences
from numerics.errors import InputError
from numerics.inputs import SymbolData, TokenData
from numerics.patterns import attention_mask
from numerics.structured.scores import Mask

NUMBERS = st.integers(-8, 8).map(lambda n: n / 4)


def data(tokens):
    return TokenData("made", np.asarray(tokens, dtype=np.float64), np.zeros(len(tokens), dtype=np.int64))


def all_rows(sequences):
    return np.concatenate([chunk.rows for _, chunk in sequences.chunks()])


def gradient(loss, count):
    scores = torch.zeros((count, count), dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(loss(scores), scores)[0].numpy()


def score_gradient(tokens, mask):
    """Of the unmasked reconstruction loss, at zero scores."""
    held, allowed = torch.from_numpy(tokens), torch.from_numpy(mask.astype(np.float64))
    weights = torch.full((len(tokens),), 1 / len(tokens), dtype=torch.float64)
    one = torch.ones((), dtype=torch.float64)
    return gradient(
        lambda s: definition.reconstruction_loss(definition.attention(one, s, allowed, torch.exp), held, weights),
        tokens.shape[1],
    )


def masked_gradient(tokens, ratio):
    """Of the masked objective under the full mask, all 2^L maskings enumerated."""
    count = tokens.shape[1]
    choices = np.array(list(itertools.product([0.0, 1.0], repeat=count)))
    chances = torch.from_numpy(np.prod(np.where(choices == 1, ratio, 1 - ratio), axis=1))
    hidden, one = torch.from_numpy(choices), torch.ones((), dtype=torch.float64)

    def loss(scores):
        attention = definition.attention(one, scores, torch.ones_like(scores), torch.exp)
        total = 0.0
        for sequence in torch.from_numpy(tokens):
            errors = sequence - definition.outputs(attention, (1 - hidden)[:, :, None] * sequence)
            total = total + (chances * (hidden * (errors**2).sum(2)).sum(1)).sum()
        return total / (2 * ratio * count * len(tokens))

    return gradient(loss, count)


def by_distance(matrix, allowed=None):
    count = len(matrix)
    allowed = np.ones_like(matrix) if allowed is None else allowed
    distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count))).ravel()
    pairs = np.bincount(distance, allowed.ravel())
    return np.bincount(distance, (matrix * allowed).ravel()) / np.maximum(pairs, 1)


@st.composite
def token_arrays(draw, most_length=6):
    count, width = draw(st.integers(2, most_length)), draw(st.integers(1, 2))
    return draw(arrays(np.float64, (2, count, width), elements=NUMBERS))


@given(token_arrays(), st.sampled_from(["full", "diagonal", "causal", "band:1", "band:2"]))
def test_the_descent_profile_is_that_of_the_gradient(tokens, name):
    mask = attention_mask(name, tokens.shape[1])
    sums = DescentSums(Mask(name, tokens.shape[1]))
    sums.add(all_rows(Sequences(data(tokens))))
    expected = -(tokens.shape[1] ** 2) * by_distance(score_gradient(tokens, mask), mask.astype(float))
    np.testing.assert_allclose(sums.profile(2), expected, atol=1e-11)
    direction = descent_direction(Mask(name, tokens.shape[1]), Sequences(data(tokens)))
    np.testing.assert_allclose(direction, -(tokens.shape[1] ** 2) * score_gradient(tokens, mask), atol=1e-11)


def test_descent_under_the_full_mask_writes_plus_jcj():
    tokens = np.random.default_rng(0).standard_normal((5, 6, 2)).cumsum(axis=1)
    centring = np.eye(6) - 1 / 6
    moment = np.einsum("nic,njc->ij", tokens, tokens) / 5
    np.testing.assert_allclose(-36 * score_gradient(tokens, np.ones((6, 6))), centring @ moment @ centring, atol=1e-12)


@given(token_arrays(most_length=5), st.sampled_from([0.15, 0.5, 0.75]))
def test_the_predicted_positional_pattern_is_the_gradient_seen_through_positions(tokens, ratio):
    count = tokens.shape[1]
    encoding = np.random.default_rng(count).standard_normal((count, 3))
    sums = PositionalSums(encoding)
    sums.add(all_rows(Sequences(data(tokens))))
    kernel = encoding @ encoding.T
    cores = np.array([sums.unmasked(2), sums.masked(ratio, 2)])
    gradients = [score_gradient(tokens, np.ones((count, count))), masked_gradient(tokens, ratio)]
    profiles = positional_profiles(encoding, cores)
    for core, profile, by_scores in zip(cores, profiles, gradients, strict=True):
        descent = -(count**2) * kernel @ by_scores @ kernel
        np.testing.assert_allclose(encoding @ core @ encoding.T, descent, atol=1e-9)
        np.testing.assert_allclose(profile, by_distance(descent) / count**2, atol=1e-9)
    left, right = (encoding @ core @ encoding.T for core in cores)
    assert inner_product(encoding, *cores) == pytest.approx((left * right).sum(), rel=1e-9, abs=1e-8)


def test_independent_tokens_have_no_off_diagonal_energy_however_few_the_sequences():
    shares, covered = [], 0  # type: tuple[list[float], int]
    for seed in range(40):
        tokens = np.random.default_rng(seed).standard_normal((30, 40, 1))
        found = off_diagonal_energy(Sequences(data(tokens)))
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        shares.append(found.value)
        # JCJ of independent tokens is J: -1/L off the diagonal.
        covered += found.low <= 1 / 40 <= found.high
    assert abs(np.mean(shares) - 1 / 40) < 4 * np.std(shares) / 40**0.5
    assert covered >= 33


def test_off_diagonal_energy_of_many_sequences_is_that_of_the_matrix():
    rng, root = np.random.default_rng(1), np.tril(np.ones((8, 8)))
    tokens = (rng.standard_normal((2000, 8)) @ root.T)[:, :, None]
    centring = np.eye(8) - 1 / 8
    moment = centring @ root @ root.T @ centring
    true = 1 - (np.diag(moment) ** 2).sum() / (moment**2).sum()
    found = off_diagonal_energy(Sequences(data(tokens)))
    assert found.low is not None
    assert found.high is not None
    assert found.low < true < found.high
    assert found.high - found.low < 0.05


def test_off_diagonal_energy_says_when_it_is_not_defined():
    assert "at least 4" in off_diagonal_energy(Sequences(data(np.ones((3, 5, 1))))).note
    assert "do not vary" in off_diagonal_energy(Sequences(data(np.ones((9, 5, 1))))).note


@given(arrays(np.int64, (5, 6), elements=st.integers(0, 4)))
def test_symbols_are_the_same_as_their_one_hot_embedding(symbols):
    one_hot = data(np.eye(5)[symbols])
    left, right = Sequences(SymbolData("ids", symbols, None)), Sequences(one_hot)
    for (_, ids), (_, floats) in zip(left.chunks(), right.chunks(), strict=True):
        np.testing.assert_array_equal(ids.layout.members, floats.layout.members)
        np.testing.assert_array_equal(ids.rows.T @ ids.rows, floats.rows.T @ floats.rows)
        np.testing.assert_array_equal(ids.layout.total(ids.rows[:, 0]), 1)
    assert off_diagonal_energy(left).value == pytest.approx(off_diagonal_energy(right).value, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("sinusoidal", "sinusoidal:64"),
        ("sinusoidal:3", "even width"),
        ("sinusoidal:0", "even width"),
        ("sinusoidal:-2", "even width"),
        ("sinusoidal:²", "even width"),
        ("rotary:8", "unknown positions"),
        ("missing.npy", "must exist"),
    ],
)
def test_bad_positions_get_one_sentence(text, word):
    with pytest.raises(InputError, match=word):
        positions(text, 6)


def test_positions_of_the_wrong_length_are_refused(tmp_path):
    for array, word in [
        (np.ones((5, 4)), "5 rows, L=6"),
        (np.ones(6), "L x width"),
        (np.full((6, 2), np.nan), "finite"),
        (np.array(["a"] * 6).reshape(6, 1), "numeric"),
    ]:
        np.save(tmp_path / "p.npy", array)
        with pytest.raises(InputError, match=word):
            positions(str(tmp_path / "p.npy"), 6)
    np.save(tmp_path / "p.npy", np.ones((6, 2), dtype=np.float32))
    assert positions(str(tmp_path / "p.npy"), 6).dtype == np.float64
