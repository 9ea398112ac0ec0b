"""Probes measure what their definitions say: stripes, blind energy, alignment, distance, and nothing else."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.extra import numpy as hnp

from numerics.errors import InputError
from numerics.patterns import score_pattern
from tests.training.small import MODEL, TASK, network
from training.data.trajectory import TrajectoryTask
from training.execute import load_data
from training.model.closed_form import second_moment
from training.model.config import ModelConfig
from training.model.initialisation import InitialWeights, initialised_model
from training.probes.network import (
    attention_measures,
    data_maps,
    displacement_measures,
    positional_maps,
    random_displacement,
    weight_measures,
)
from training.probes.patterns import (
    alignment,
    blind_energy,
    centre_rows,
    centre_twice,
    entropy,
    mass_within,
    mean_distance,
    stable_rank,
    stripe_fraction,
    uniform_distance,
    uniform_mass,
)
from training.probes.predicted import CONTROLS, PATTERNS, patterns_of_moment, predicted_patterns
from training.randomness import generator


@st.composite
def patterns(draw, least=2, most=7):
    count = draw(st.integers(least, most))
    values = st.floats(-10, 10, allow_subnormal=False).map(lambda value: round(value, 3))
    return torch.from_numpy(draw(hnp.arrays(np.float64, (count, count), elements=values)))


def varies(pattern):
    return float(centre_rows(pattern).square().sum()) > 1e-6


@given(patterns())
def test_stripe_fraction_and_blind_energy_add_up_to_one(pattern):
    if not varies(pattern):
        assert math.isnan(stripe_fraction(torch.ones_like(pattern)))
        return
    assert stripe_fraction(pattern) + blind_energy(pattern) == pytest.approx(1, abs=1e-9)


@given(patterns())
def test_an_exact_stripe_is_all_stripe_and_a_doubly_centred_pattern_has_none(pattern):
    stripe = pattern[:1].expand_as(pattern)
    if varies(stripe):
        assert stripe_fraction(stripe) == pytest.approx(1, abs=1e-9)
    blind = centre_twice(pattern)
    if float(blind.square().sum()) > 1e-6:
        assert stripe_fraction(blind) == pytest.approx(0, abs=1e-9)
        assert blind_energy(blind) == pytest.approx(1, abs=1e-9)


@given(patterns(), st.floats(0.1, 10), st.integers(0, 100))
def test_row_constants_scale_and_relabeled_queries_leave_the_stripe_fraction(pattern, scale, seed):
    if not varies(pattern):
        return
    random = torch.Generator().manual_seed(seed)
    shifted = pattern + torch.randn(len(pattern), 1, generator=random, dtype=torch.float64)
    queries = torch.randperm(len(pattern), generator=random)
    keys = torch.randperm(len(pattern), generator=random)
    changed = scale * shifted[queries][:, keys]
    assert stripe_fraction(changed) == pytest.approx(stripe_fraction(pattern), abs=1e-6)


@given(patterns(), st.floats(0.1, 10))
def test_alignment_is_one_with_itself_minus_one_with_its_negative_and_blind_to_stripes(pattern, scale):
    if float(centre_twice(pattern).square().sum()) < 1e-3:
        return
    stripes = torch.arange(len(pattern), dtype=torch.float64)[None] + torch.ones(len(pattern), 1, dtype=torch.float64)
    assert alignment(scale * pattern + stripes, pattern) == pytest.approx(1, abs=1e-6)
    assert alignment(-scale * pattern, pattern) == pytest.approx(-1, abs=1e-6)


@pytest.mark.parametrize("length", [4, 8, 33])
def test_blind_energy_of_alibi_is_the_closed_form_of_g3(length):
    found = blind_energy(torch.from_numpy(score_pattern("alibi", length)))
    assert found == pytest.approx(4 * (2 * length**2 + 7) / (3 * (3 * length**2 + 8)), rel=1e-12)


@pytest.mark.parametrize("length", [2, 5, 100])
def test_uniform_attention_has_the_distance_mass_and_entropy_of_the_closed_forms(length):
    uniform = torch.full((length, length), 1 / length, dtype=torch.float64)
    assert mean_distance(uniform) == pytest.approx(uniform_distance(length), rel=1e-12)
    assert entropy(uniform) == pytest.approx(math.log(length), rel=1e-12)
    for distance in (0, 1, length - 1):
        assert mass_within(uniform, distance) == pytest.approx(uniform_mass(length, distance), rel=1e-12)
    assert uniform_mass(length, length - 1) == pytest.approx(1)
    with pytest.raises(InputError, match="must lie within"):
        uniform_mass(length, length)


def test_diagonal_attention_has_no_distance_and_no_entropy_and_all_mass_near():
    measures = attention_measures(torch.eye(9, dtype=torch.float64)[None])
    assert measures == {"mean_distance": 0.0, "mass_near": 1.0, "entropy": 0.0}


@given(patterns(), st.integers(0, 100))
def test_stable_rank_lies_between_one_and_the_rank_and_ignores_rotations(pattern, seed):
    if float(pattern.norm()) < 1e-3:
        return
    found = stable_rank(pattern)
    assert 1 - 1e-9 <= found <= len(pattern) + 1e-9
    random = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(len(pattern), len(pattern), generator=random, dtype=torch.float64))[0]
    assert stable_rank(turn @ pattern) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize(("written", "name"), [("predicted", "unmasked"), ("predicted-masked", "masked")])
def test_the_predicted_initialisation_is_aligned_with_its_own_pattern_and_less_with_every_control(written, name):
    data = load_data(TASK).unlabeled
    model = initialised_model(MODEL, InitialWeights(written=written), 0, data)
    scores = positional_maps(model, TASK.length)[0][0]
    found = predicted_patterns(data, MODEL.width, 0.5)
    assert set(found) == set(PATTERNS)
    assert alignment(scores, found[name]) == pytest.approx(1, abs=1e-5)
    for control in CONTROLS:
        assert alignment(scores, found[control]) < 0.99


def test_the_shuffled_control_keeps_the_moments_spectrum_and_loses_its_order():
    moment = second_moment(load_data(TASK).unlabeled)
    found = patterns_of_moment(moment, 8, 0.5, seed=3)
    assert not torch.allclose(found["shuffled"], found["unmasked"])
    white = patterns_of_moment(torch.eye(len(moment), dtype=torch.float64), 8, 0.5, seed=3)
    torch.testing.assert_close(white["shuffled"], white["unmasked"])
    torch.testing.assert_close(white["unmasked"], white["no_data"])


def test_positional_maps_are_what_the_network_computes_with_content_zero():
    model = network(ModelConfig(width=8))
    with torch.no_grad():
        model.embedding.value.weight.zero_()
        model.embedding.value.bias.zero_()
    scores, weights = positional_maps(model, TASK.length)
    test = load_data(TASK).test.subset(2)
    data_scores, data_weights = data_maps(model.float(), test)
    torch.testing.assert_close(data_scores[0], scores, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(data_weights[1], weights, rtol=1e-4, atol=1e-5)
    places = model.embedding.places(TASK.length)[0].double()
    attention = model.layer(0).attention
    product = attention.query.weight.detach().double().T @ attention.key.weight.detach().double()
    torch.testing.assert_close(scores[0], places @ product @ places.T / math.sqrt(8), rtol=1e-4, atol=1e-5)


def test_displacement_measures_pool_energies_over_maps_and_agree_with_the_single_pattern():
    random = torch.Generator().manual_seed(0)
    one, small = torch.randn(2, 6, 6, generator=random, dtype=torch.float64)
    alone = displacement_measures(one[None])
    assert alone["stripe_fraction"] == pytest.approx(stripe_fraction(one))
    assert alone["blind_size"] == pytest.approx(float(centre_twice(one).norm()))
    pooled = displacement_measures(torch.stack([one, 1e-6 * small]))
    assert pooled["blind_energy"] == pytest.approx(blind_energy(one), rel=1e-6)
    assert math.isnan(displacement_measures(torch.ones(1, 4, 4))["blind_energy"])


def test_a_random_displacement_is_the_derivative_of_the_positional_scores():
    model = network(ModelConfig(width=8))
    moved = random_displacement(model, 12, generator(0, "move"))
    moves = torch.randn(2, 8, 8, generator=generator(0, "move"), dtype=torch.float64)
    step, before = 1e-6, positional_maps(model, 12)[0]
    attention = model.layer(0).attention
    with torch.no_grad():
        attention.query.weight += step * moves[0]
        attention.key.weight += step * moves[1]
    slope = (positional_maps(model, 12)[0] - before) / step
    torch.testing.assert_close(slope, moved, rtol=1e-3, atol=1e-3)


def test_weight_measures_are_frobenius_norms_of_every_component():
    start, end = network(MODEL, 0), network(MODEL, 1)
    rows = {row["component"]: row for row in weight_measures(start, end)}
    assert {"encoder", "query", "key", "value", "output", "classifier", "reconstruction"} == set(rows)
    total = sum(float(row["norm_end"]) ** 2 for row in rows.values())
    assert total == pytest.approx(sum(float(p.detach().square().sum()) for p in end.parameters()))
    query = end.layer(0).attention.query.weight - start.layer(0).attention.query.weight
    assert rows["query"]["displacement"] == pytest.approx(float(query.detach().norm()))
    assert rows["query"]["stable_rank_moved"] == pytest.approx(stable_rank(query.detach()))
    assert all(row["displacement"] == 0 for row in weight_measures(start, start))


def test_the_masked_and_unmasked_predictions_nearly_agree_on_the_toy_data():
    data = TrajectoryTask(unlabeled=500).load().unlabeled
    found = predicted_patterns(data, 32, 0.5)
    assert alignment(found["masked"], found["unmasked"]) > 0.95
    assert all(alignment(found["masked"], found[control]) < 0.9 for control in CONTROLS)
