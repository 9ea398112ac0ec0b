"""The projector against the exact one of ``numerics.blind_set`` and against closed forms of the theory."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from numerics.blind_set import centre_rows as centre_rows_anywhere
from numerics.blind_set import project_onto_blind_set
from numerics.model_audit.split import blind_dimension, split_scores
from numerics.patterns import attention_mask, score_pattern
from numerics.strategies import masks, rational_arrays
from theory.claim import MaskKind


@st.composite
def masked_patterns(draw):
    length = draw(st.integers(2, 5))
    kind = draw(st.sampled_from([MaskKind.FULL, MaskKind.DIAGONAL, MaskKind.ANY]))
    return draw(rational_arrays(length, length)), draw(masks(length, kind))


@given(masked_patterns())
@settings(max_examples=60)
def test_blind_part_is_the_exact_projection_for_any_mask(case):
    pattern, mask = case
    length = len(mask)
    pooling = np.array([Fraction(1, length)] * length, dtype=object)
    exact = project_onto_blind_set(pattern, mask, pooling).astype(object)
    wanted = np.array([[float(Fraction(int(v.p), int(v.q))) for v in row] for row in exact])
    split = split_scores(torch.tensor(pattern.astype(np.float64)), torch.tensor(mask))
    # Entries are at most 6, the normal equations have condition at most L^3 = 125: 1e-15 * 6 * 125.
    assert np.allclose(split.blind.numpy(), wanted, atol=1e-12, rtol=0)


@given(masked_patterns())
@settings(max_examples=60)
def test_the_three_parts_are_orthogonal_and_add_up(case):
    pattern, mask = torch.tensor(case[0].astype(np.float64)), torch.tensor(case[1])
    split = split_scores(pattern, mask)
    parts = (split.blind, split.stripes, split.elsewhere)
    assert torch.allclose(torch.stack(parts).sum(0), pattern, atol=1e-12)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert abs(float((parts[first] * parts[second]).sum())) < 1e-10
    assert float(split.blind.sum(1).abs().max()) < 1e-12


@pytest.mark.parametrize("length", [2, 3, 8, 21])
def test_blind_share_of_alibi_is_the_closed_form_of_the_theory(length):
    mask = torch.ones(length, length, dtype=torch.bool)
    pattern = torch.tensor(score_pattern("alibi", length))
    blind, stripes, _ = split_scores(pattern, mask).energies()
    assert blind / (blind + stripes) == pytest.approx(4 * (2 * length**2 + 7) / (3 * (3 * length**2 + 8)), rel=1e-12)


@pytest.mark.parametrize(("name", "share"), [("full", 0.90), ("diagonal", 0.78), ("causal", 0.03)])
def test_blind_share_of_alibi_depends_on_the_mask_as_the_theory_says(name, share):
    blind, stripes, _ = split_scores(
        torch.tensor(score_pattern("alibi", 8)), torch.tensor(attention_mask(name, 8))
    ).energies()
    assert blind / (blind + stripes) == pytest.approx(share, abs=0.005)


@given(masked_patterns())
@settings(max_examples=40)
def test_dimension_of_the_blind_set_is_the_rank_of_its_projector(case):
    mask = torch.tensor(case[1])
    basis = torch.eye(mask.numel(), dtype=torch.float64).reshape(-1, *mask.shape)
    projector = torch.stack([split_scores(pattern, mask).blind.reshape(-1) for pattern in basis])
    centred = np.stack([np.asarray(centre_rows_anywhere(p.numpy(), case[1])).reshape(-1) for p in basis])
    assert blind_dimension(mask) == (round(float(projector.trace())), np.linalg.matrix_rank(centred))


@pytest.mark.parametrize("length", [2, 3, 7])
def test_visible_dimension_of_the_full_mask_is_one_less_than_the_length(length):
    blind, centred = blind_dimension(torch.ones(length, length, dtype=torch.bool))
    assert centred == length * (length - 1)
    assert centred - blind == length - 1


def test_a_row_without_keys_stays_zero():
    mask = torch.tensor([[False, False], [True, True]])
    split = split_scores(torch.ones(2, 2, dtype=torch.float64), mask)
    assert split.blind[0].tolist() == split.stripes[0].tolist() == [0.0, 0.0]
