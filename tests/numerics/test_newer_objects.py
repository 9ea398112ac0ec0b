"""Objects of the newer claims are what their names say: each against plain arrays, formed without ``theory``.

A claim may hold for a wrong object: a factor of all exponentials cancels in a softmax, K·JCJ·K does not see the sign
of K, and a hypothesis that grants too few patterns only makes its claim weaker.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from numerics.blind_set import null_space
from numerics.evaluate import KNOWN
from numerics.instances import random_instance
from numerics.rings import Rationals, elementwise, to_fraction
from numerics.verify.controls import unsound_offsets
from numerics.verify.grades import run_grade
from numerics.verify.plan import Plan
from numerics.verify.records import Grade, Status
from theory import find_claim
from theory.claims.query_key import _masked_moment
from theory.claims.visible_directions import _probe, _size
from theory.curves import alpha
from theory.geometry import RING, TORUS
from theory.objects import centred, pattern
from theory.query_key import centred_scores, kernel, mean_token, token_covariance, token_scores
from theory.sums import POSITIONS, index, length, substitute, total

LENGTH = 6


def _instance(part, mask=None):
    instance = random_instance(part, LENGTH, 2, 2, np.random.default_rng(11))
    return instance if mask is None else replace(instance, mask=mask)


def _named(instance, name):
    return next(values for tensor, (_, values) in instance.overrides.items() if tensor.name == name)


def _scores(instance):
    """Exact token scores of every sample."""
    return np.stack([x @ _named(instance, "M") @ x.T for x in instance.tokens])


def _covariance(tokens):
    deviation = tokens - tokens.sum(0) / len(tokens)
    return deviation.T @ deviation / len(tokens)


def _centred(scores, mask):
    mean = (scores * mask).sum(1) / mask.sum(1)
    return (scores - mean[:, None]) * mask


def _masked(instance):
    """R entry by entry, as theory.md writes it."""
    keep, count = 1 - instance.mask_ratio, LENGTH
    moment = sum(w * (x @ x.T) for w, x in zip(instance.sample_weights, instance.tokens, strict=True))
    made = np.zeros((count, count), dtype=object)
    for i in range(count):
        for j in set(range(count)) - {i}:
            others = sum(moment[k, j] for k in set(range(count)) - {i, j})
            made[i, j] = keep * moment[i, j] - (keep**2 * others + keep * moment[j, j]) / count
    return made


QUERY_KEY, MASKED = find_claim("Q2").parts[0], find_claim("Q3").parts[1]
KERNEL, POOLED = find_claim("Q3").parts[2], find_claim("N3").parts[1]
#: Object, part whose instances have what it is made of, and its entries on an instance (a sample first, if random).
OBJECTS = [
    (token_scores, QUERY_KEY, _scores),
    (centred_scores, QUERY_KEY, lambda at: np.stack([_centred(s, at.mask) for s in _scores(at)])),
    (mean_token, QUERY_KEY, lambda at: at.tokens.sum(1) / LENGTH),
    (token_covariance, QUERY_KEY, lambda at: np.stack([_covariance(x) for x in at.tokens])),
    (kernel, KERNEL, lambda at: _named(at, "P") @ _named(at, "P").T),
    (_masked_moment, MASKED, _masked),
    (_size, POOLED, lambda at: (at.pooling**2).sum()),
    (_probe, POOLED, lambda at: np.outer(at.pooling, at.pooling) / (at.pooling**2).sum()),
]


def _values(tensor, instance):
    formal = tensor.formal_indices()
    return elementwise(to_fraction, instance.environment(Rationals()).evaluate(tensor[formal], formal))


@pytest.mark.parametrize(("tensor", "part", "formed"), OBJECTS, ids=[t.name for t, _, _ in OBJECTS])
def test_an_object_is_what_its_name_says(tensor, part, formed):
    mask = np.tril(np.ones((LENGTH, LENGTH), dtype=bool)) if tensor == centred_scores else None
    instance = _instance(part, mask)
    values, wanted = _values(tensor, instance), formed(instance)
    assert np.shape(values) == np.shape(wanted)
    assert np.equal(values, wanted).all()
    assert np.asarray(wanted != 0).any()


# --- relative positions ----------------------------------------------------------------------------------------------

OF_OFFSETS = [pytest.param(group, claim, id=f"{group.name}, {claim}") for group, claim in
              ((RING, "G3"), (RING, "G5"), (RING, "N2"), (TORUS, "G5"))]  # fmt: skip
_k = index("k", POSITIONS)


def _faults(group):
    """What names an object of the group wrongly, yet leaves every line of G5 as it is, or narrows its hypothesis."""
    i, j = index("i", POSITIONS), index("j", POSITIONS)
    scores, weights = group.scores, group.weights
    mean = total(group.table[i, j, _k] * pattern[j, i], i, j) / length
    yield "scores of the reversed offset", scores, mean
    yield "centred scores", scores, total(group.table[i, j, _k] * centred[i, j], i, j) / length
    yield "scores of the diagonal alone", scores, total(group.table[j, j, _k] * pattern[i, j], i, j) / length
    yield "negative exponentials", weights, -sp.exp(alpha * scores[_k])
    yield "doubled exponentials", weights, 2 * sp.exp(alpha * scores[_k])
    yield "doubled denominator", group.normaliser, 2 * group.normaliser.definition()


@pytest.mark.parametrize(("group", "claim"), OF_OFFSETS)
def test_every_pattern_of_the_offset_satisfies_the_hypothesis(group, claim):
    """The hypothesis leaves as many free scores as there are offsets, on a ring of L and on a torus."""
    assert unsound_offsets(find_claim(claim)) == []
    for count in (4, 5, 6):
        mask, pooling = np.ones((count, count), dtype=bool), np.full(count, 1)
        basis = null_space((group.constraint,), mask, pooling)
        indicators = KNOWN[group.table](count).astype(float).transpose(2, 0, 1).reshape(count, -1)
        spanned = np.concatenate([indicators, basis.reshape(len(basis), -1).astype(float)])
        assert len(basis) == np.linalg.matrix_rank(indicators) == np.linalg.matrix_rank(spanned) == count


def _planted(monkeypatch, tensor, changed):
    monkeypatch.setattr(tensor, "definition", lambda *at: substitute(changed, {_k: at[0]} if at else {}))


@pytest.mark.parametrize(("group", "claim"), OF_OFFSETS)
def test_a_wrong_object_of_the_offset_is_noticed(group, claim, monkeypatch):
    held = find_claim(claim)
    for what, tensor, changed in _faults(group):
        with monkeypatch.context() as patched:
            _planted(patched, tensor, changed)
            found = unsound_offsets(held)
        assert found, what
        assert all(name.startswith(f"{group.name}: ") for name in found)


def test_a_hypothesis_that_grants_too_little_fails_the_derived_grade(monkeypatch):
    """Symmetric periodic patterns are periodic: every line of G5 still holds."""
    _, tensor, changed = next(_faults(TORUS))
    _planted(monkeypatch, tensor, changed)
    evidence = run_grade(find_claim("G5"), Grade.DERIVED, Plan(trials=2, instances=2, examples=10, data=None))
    assert evidence.status is Status.FAILED
    assert "false of a pattern that depends on the offset alone" in evidence.summary
    assert TORUS.constraint.name in evidence.summary
