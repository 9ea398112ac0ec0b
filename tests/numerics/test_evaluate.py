"""Statements evaluate alike in every ring, and like plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from numerics.evaluate import SAMPLE, Environment
from numerics.instances import random_instance
from numerics.rings import PRIME, Balls, Floats, PrimeField, Rationals, to_fraction
from theory import objects
from theory.catalogue import claims
from theory.sums import FEATURES, POSITIONS, Expectation, delta, index, length, total, width

PARTS = [(claim.id, part) for claim in claims() for part in claim.parts]


@pytest.mark.parametrize(("claim", "part"), PARTS, ids=[f"{c}: {p.label}" for c, p in PARTS])
def test_statements_have_the_same_value_in_every_ring(claim, part):
    instance = random_instance(part, 4, 2, 2, np.random.default_rng(0))
    exact = instance.environment(Rationals()).evaluate(part.statement, part.free).ravel()
    floats = instance.environment(Floats()).evaluate(part.statement, part.free).ravel()
    balls = instance.environment(Balls()).evaluate(part.statement, part.free).ravel()
    residues = instance.environment(PrimeField()).evaluate(part.statement, part.free).ravel()
    assert len(exact) > 0
    for value, approximate, ball, residue in zip(exact, floats, balls, residues, strict=True):
        assert approximate == pytest.approx(float(value), rel=1e-10, abs=1e-12)
        assert ball.contains(value)
        assert PrimeField().number(to_fraction(value)) == residue


def _environment(rng, count=3, dim=2, samples=2):
    arrays = {
        objects.pattern: (("i", "j"), rng.standard_normal((count, count))),
        objects.mask: (("i", "j"), np.array([[1.0, 1, 0], [1, 1, 1], [0, 0, 1]])),
        objects.pooling: (("i",), np.array([0.2, 0.3, 0.5])),
        objects.tokens: ((SAMPLE, "i", "c"), rng.standard_normal((samples, count, dim))),
        objects.loss_gradient: ((SAMPLE, "c"), rng.standard_normal((samples, dim))),
    }
    return Environment(Floats(), count, dim, arrays, np.array([0.25, 0.75]))


def test_derived_objects_equal_their_matrix_form():
    rng = np.random.default_rng(1)
    env = _environment(rng)
    d, m, w, x, g = (a for _, a in env.arrays.values())
    p = env.sample_weights
    i, j = index("i", POSITIONS), index("j", POSITIONS)
    keys = m.sum(1)
    centred = m * (d - ((d * m).sum(1) / keys)[:, None])
    moment = np.einsum("n,nic,njc->ij", p, x, x)
    j_matrix = np.eye(3) - 1 / 3
    np.testing.assert_allclose(env.evaluate(objects.key_count[i], (i,)), keys)
    np.testing.assert_allclose(env.evaluate(objects.centred[i, j], (i, j)), centred)
    np.testing.assert_allclose(env.evaluate(objects.centred[j, i], (i, j)), centred.T)
    np.testing.assert_allclose(env.evaluate(objects.centred[i, i], (i,)), np.diag(centred))
    np.testing.assert_allclose(env.evaluate(objects.second_moment[i, j], (i, j)), moment)
    np.testing.assert_allclose(
        env.evaluate(objects.centred_moment[i, j], (i, j)), j_matrix @ moment @ j_matrix, atol=1e-15
    )
    np.testing.assert_allclose(env.evaluate(objects.centred_pattern[i, j], (i, j)), j_matrix @ d @ j_matrix, atol=1e-15)
    np.testing.assert_allclose(env.evaluate(objects.pooled_key_weight[j], (j,)), (w / keys) @ centred)
    np.testing.assert_allclose(env.evaluate(objects.gradient_moment[j], (j,)), np.einsum("n,nc,njc->j", p, g, x))


@given(st.integers(0, 10_000))
def test_sums_products_and_expectations_equal_loops(seed):
    env = _environment(np.random.default_rng(seed))
    d, m, w, x, g = (a for _, a in env.arrays.values())
    p = env.sample_weights
    i, j, k = (index(n, POSITIONS) for n in "ijk")
    c = index("c", FEATURES)
    expression = total(
        objects.pattern[i, j] * delta(j, k) * objects.pooling[k]
        * Expectation(total(objects.loss_gradient[c] * objects.tokens[i, c], c)),
        i, j, k,
    ) / length + total(objects.mask[i, j], i, j) * width  # fmt: skip
    loops = (
        sum(d[a, b] * w[b] * sum(p[s] * g[s] @ x[s, a] for s in range(2)) for a in range(3) for b in range(3)) / 3
        + m.sum() * 2
    )
    assert float(env.evaluate(expression)) == pytest.approx(loops, rel=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_modular_matrix_products_are_exact(seed, inner):
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, PRIME, (3, inner)), rng.integers(0, PRIME, (inner, 2))
    exact = (left.astype(object) @ right.astype(object)) % PRIME
    assert (PrimeField().matmul(left, right) == exact).all()


@given(st.lists(st.integers(1, PRIME - 1), min_size=1, max_size=5))
def test_modular_inverses_invert(values):
    array = np.array(values)
    assert (PrimeField().multiply(array, PrimeField().invert(array)) == 1).all()


def test_a_vanishing_denominator_is_reported():
    with pytest.raises(ZeroDivisionError, match="another instance"):
        PrimeField().invert(np.array([3, PRIME]))


def test_an_exponential_must_vanish_at_zero():
    env = _environment(np.random.default_rng(0))
    with pytest.raises(ValueError, match="alpha = 0"):
        env.evaluate(sp.exp(objects.pattern[index("i", POSITIONS), index("j", POSITIONS)]))


def test_a_missing_array_is_named():
    env = Environment(Floats(), 2, 1, {})
    i, j = index("i", POSITIONS), index("j", POSITIONS)
    with pytest.raises(ValueError, match="no array is given for Δ"):
        env.evaluate(objects.pattern[i, j], (i, j))
    with pytest.raises(ValueError, match="sample weights"):
        env.evaluate(Expectation(objects.pattern[i, j]), (i, j))
