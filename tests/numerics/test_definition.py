"""The two definitions, symbolic and numeric, are one; the numeric one is the paper's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from numerics import definition
from numerics.instances import Instance, random_instance
from numerics.measure import SeriesMeasurement, Setup, by_series
from numerics.numbers import BALLS, EXACT, FLOATS, path_parameter, working
from numerics.rings import PRIME, PrimeField
from numerics.routes.replay import ORDER, residue_instance
from theory.catalogue import find_claim
from theory.claim import Quantity
from theory.objectives import reconstruction, supervised


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("quantity", "objective"),
    [(Quantity.SUPERVISED_SLOPE, supervised()), (Quantity.RECONSTRUCTION_SLOPE, reconstruction())],
)
def test_symbolic_and_numeric_definitions_have_the_same_series(quantity, objective, seed):
    part = find_claim("G1").parts[2]
    instance = residue_instance(part, 3 + seed % 2, 2, 2, np.random.default_rng(seed))
    environment = instance.environment(PrimeField(), ORDER)
    symbolic = [int(c) for c in environment.series(objective)]
    with working(order=ORDER):
        setup = Setup(instance, EXACT)
        series = setup.value(quantity, setup.attention(path_parameter(EXACT), setup.pattern))
    numeric = [int(series[n].p) * pow(int(series[n].q), -1, PRIME) % PRIME for n in range(ORDER)]
    assert symbolic == numeric


def test_attention_is_softmax_over_the_allowed_keys():
    pattern = torch.tensor([[0.3, -1.0, 2.0], [1.0, 0.0, 0.5], [0.1, 0.2, 0.3]], dtype=torch.float64)
    mask = torch.tensor([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    got = definition.attention(torch.tensor(0.7, dtype=torch.float64), pattern, mask, torch.exp)
    expected = torch.softmax((0.7 * pattern).masked_fill(mask == 0, -math.inf), dim=1)
    torch.testing.assert_close(got, expected, rtol=1e-15, atol=1e-16)


def test_objectives_are_the_expectations_of_the_paper():
    rng = np.random.default_rng(0)
    attention, tokens = torch.rand(3, 3, dtype=torch.float64), torch.rand(2, 3, 2, dtype=torch.float64)
    weights, pooling = torch.tensor([0.25, 0.75], dtype=torch.float64), torch.full((3,), 1 / 3, dtype=torch.float64)
    readout = torch.as_tensor(rng.standard_normal(2))
    outputs = torch.stack([attention @ sequence for sequence in tokens])
    pooled = outputs.mean(dim=1)
    expected_supervised = sum(w * (h @ readout) ** 2 for w, h in zip(weights, pooled, strict=True))
    expected_reconstruction = sum(
        w * ((x - o) ** 2).sum() / 6 for w, x, o in zip(weights, tokens, outputs, strict=True)
    )
    got = definition.supervised_loss(attention, tokens, weights, pooling, lambda h: (h @ readout) ** 2)
    torch.testing.assert_close(got, expected_supervised)
    torch.testing.assert_close(definition.reconstruction_loss(attention, tokens, weights), expected_reconstruction)


def test_balls_contain_the_exact_value():
    part = find_claim("G1").parts[3]
    instance = random_instance(part, 5, 2, 2, np.random.default_rng(3))
    exact = by_series(instance, part.quantity, EXACT)[()]
    ball: Any = by_series(instance, part.quantity, BALLS)[()]
    with working(bits=300):  # the comparison itself converts the rational to a ball
        assert ball.contains(exact)
        assert ball.rad() > 0


def test_flint_precision_and_series_length_are_restored():
    import flint

    before = flint.ctx.prec, flint.ctx.cap
    part = find_claim("P1").parts[1]
    SeriesMeasurement(_small(), BALLS, bits=512).quantity(part.quantity)
    with pytest.raises(ZeroDivisionError), working(bits=99, order=5):
        raise ZeroDivisionError
    assert (flint.ctx.prec, flint.ctx.cap) == before


def test_a_curvature_needs_a_longer_series():
    with pytest.raises(ValueError, match="order 2"):
        SeriesMeasurement(_small(), EXACT).quantity(Quantity.SUPERVISED_CURVATURE)


def test_float_setup_agrees_with_exact_series_at_zero():
    instance = _small()
    setup = Setup(instance, FLOATS)
    value = setup.value(
        Quantity.RECONSTRUCTION_SLOPE, setup.attention(torch.zeros((), dtype=torch.float64), setup.pattern)
    )
    with working(order=2):
        exact = Setup(instance, EXACT)
        series = exact.value(Quantity.RECONSTRUCTION_SLOPE, exact.attention(path_parameter(EXACT), exact.pattern))
    assert float(value) == pytest.approx(float(series[0]), rel=1e-14)


def _small() -> Instance:
    return random_instance(find_claim("P1").parts[1], 3, 1, 2, np.random.default_rng(0))
