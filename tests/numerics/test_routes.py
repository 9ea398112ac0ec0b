"""Each route accepts the claims and rejects a perturbed statement on its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from numerics.gradcheck import SlopeOutcome
from numerics.instances import random_instance
from numerics.losses import CrossEntropyLoss, LogisticLoss
from numerics.measure import by_reverse_mode, loss_gradients, loss_hessians
from numerics.refutation import residues_of_sides
from numerics.rings import PRIME
from numerics.routes.autodiff import deviation
from numerics.routes.enclosure import enclose
from numerics.routes.replay import ReplayFailure, degree, false_pass_bound, replay, residue_instance
from numerics.routes.sampling import sample
from numerics.routes.slope import slope_check, slope_check_with_control
from numerics.strategies import instances
from numerics.tolerance import slope_scale, tolerance
from theory.catalogue import claims, find_claim
from theory.claim import Quantity

MEASURED = [(claim, part) for claim in claims() for part in claim.parts if part.quantity is not Quantity.ALGEBRAIC]
IDS = [f"{claim.id}: {part.label}" for claim, part in MEASURED]


def _instance(claim, part, seed=0):
    return random_instance(part, claim.least_length + 1, 2, 2, np.random.default_rng(seed))


@pytest.mark.parametrize(("claim", "part"), MEASURED, ids=IDS)
def test_every_route_accepts_a_true_statement(claim, part):
    instance = _instance(claim, part)
    rng = np.random.default_rng(0)
    ball = enclose(part, instance)
    assert ball.meets
    assert ball.narrow
    assert ball.radius > 0 or slope_scale(instance, part.quantity) == 0  # with a zero weight every term is exactly 0
    assert deviation(part, instance).within
    check, control = slope_check_with_control(part, instance, rng)
    assert check.outcome is SlopeOutcome.PASS
    assert control.outcome is SlopeOutcome.FAIL
    residues = residue_instance(part, claim.least_length + 1, 2, 2, rng)
    assert replay(part.derivation(), part, residues) is None
    true, claimed = residues_of_sides(part, residues)
    assert ((true - claimed) % PRIME == 0).all()


@pytest.mark.parametrize(("claim", "part"), MEASURED, ids=IDS)
def test_every_route_rejects_a_statement_that_is_off_by_a_thousandth(claim, part):
    instance = _instance(claim, part, seed=1)
    measured = by_reverse_mode(instance, part.quantity)
    size = max(float(np.abs(measured).max()), slope_scale(instance, part.quantity)) or 1.0
    nudge = np.ceil(size * 2**10) / 2**20  # dyadic, so exact in every ring
    wrong = replace(part, statement=part.statement + sp.Rational(nudge))
    assert not enclose(wrong, instance).meets
    assert not deviation(wrong, instance).within
    assert slope_check(wrong, instance, np.random.default_rng(0)).outcome is SlopeOutcome.FAIL
    true, claimed = residues_of_sides(wrong, instance)
    assert ((true - claimed) % PRIME != 0).any()


@pytest.mark.parametrize("drop", range(1, 8))
def test_a_replay_notices_a_dropped_line(drop):
    part = find_claim("P1").parts[1]
    chain = part.derivation()
    assert len(chain.steps) == 8
    removed = chain.steps.pop(drop)
    failures = [replay(chain, part, residue_instance(part, 4, 2, 2, np.random.default_rng(seed))) for seed in range(2)]
    changes_value = removed.move.name in ("DIFFERENTIATE", "AT_ZERO")
    assert all(isinstance(f, ReplayFailure) for f in failures) == changes_value


def test_a_replay_names_the_first_wrong_line():
    part = find_claim("P1-diag").parts[1]
    chain = part.derivation()
    last = chain.steps[-1]
    chain.steps[-1] = replace(last, expression=-last.expression)
    failure = replay(chain, part, residue_instance(part, 4, 1, 2, np.random.default_rng(0)))
    assert failure is not None
    assert failure.line == len(chain.steps) - 1


def test_the_error_bound_follows_from_the_degree():
    chain = find_claim("P1").parts[1].derivation()
    highest = max(degree(step.expression) for step in chain.steps)
    assert 4 <= highest < 100
    assert false_pass_bound(chain, 1) == pytest.approx(4 * highest / PRIME)
    assert false_pass_bound(chain, 3) == pytest.approx(false_pass_bound(chain, 1) ** 3)


def test_sampling_fails_on_a_wrong_statement_and_shows_the_example():
    part = find_claim("P1").parts[1]
    result = sample(replace(part, statement=-part.statement), least_length=2, examples=30, number=0)
    assert not result.passed
    assert "deviation" in result.falsified


def test_sampling_fails_when_it_is_vacuous(monkeypatch):
    # At L = 2 the diagonal mask leaves one key a query: nothing moves, whatever is claimed to vanish.
    part = find_claim("P1-diag").parts[0]
    monkeypatch.setattr("numerics.routes.sampling.instances", lambda part, least: instances(part, 2, 2))
    result = sample(part, least_length=2, examples=10, number=0)
    assert not result.falsified
    assert result.share == 0
    assert not result.passed


@given(st.integers(0, 300))
def test_the_scale_bounds_every_quantity(seed):
    claim, part = MEASURED[seed % len(MEASURED)]
    instance = _instance(claim, part, seed)
    size = float(np.abs(by_reverse_mode(instance, part.quantity)).max())
    assert size <= slope_scale(instance, part.quantity) * (1 + 1e-9)
    assert tolerance(instance, part.quantity) < 1e-11 * slope_scale(instance, part.quantity) + 1e-300


@pytest.mark.parametrize(
    "loss", [LogisticLoss(np.array([1.5, -2.0]), np.array([1, -1])), CrossEntropyLoss(np.eye(2), np.array([0, 1]))]
)
def test_gradient_bounds_hold_for_the_losses_of_practice(loss):
    part = find_claim("G1").parts[2]
    instance = replace(_instance(find_claim("G1"), part), loss=loss)
    pooled = np.abs(np.asarray(instance.tokens, dtype=float)).sum(axis=1)
    assert (np.abs(loss_gradients(instance)) <= loss.gradient_bound(pooled) + 1e-15).all()
    assert (np.abs(loss_hessians(instance)) <= loss.hessian_bound(pooled) + 1e-15).all()


def test_a_ball_wider_than_half_the_digits_is_not_narrow(monkeypatch):
    claim = find_claim("P1")
    part = claim.parts[1]
    instance = _instance(claim, part)
    assert enclose(part, instance).narrow
    monkeypatch.setattr("numerics.routes.enclosure.slope_scale", lambda *_: 1e-60)
    assert not enclose(part, instance).narrow
