"""True identities reduce to 0 and hold in numbers; near-misses of them do neither."""

import random
from dataclasses import replace

import pytest
import sympy as sp

from tests.theory.brute_force import (
    fixed_names,
    free_indices,
    placements,
    random_array,
    setting_model,
    value,
    witnessed,
)
from tests.theory.mutants import mutants
from theory import objects
from theory.claim import MaskKind, PoolingKind, Setting, cls_position
from theory.identities import Identity, check, identities
from theory.softmax import count_keys
from theory.sums import (
    FEATURES,
    POSITIONS,
    Entry,
    Expectation,
    ExpectationError,
    Tensor,
    definition_rule,
    delta,
    index,
    length,
    total,
    width,
)

i, j, k, r = (index(n, POSITIONS) for n in "ijkr")
c, e = index("c", FEATURES), index("e", FEATURES)
D = Tensor("D", (POSITIONS, POSITIONS))
x, y = Tensor("x", (POSITIONS,)), Tensor("y", (POSITIONS,))
X, g, C, J = objects.tokens, objects.loss_gradient, objects.second_moment, objects.centring
FULL, DIAGONAL = Setting(MaskKind.FULL).rules, Setting(MaskKind.DIAGONAL).rules
CENTRED, MOMENT = definition_rule(objects.centred), definition_rule(objects.second_moment)

FALSE = [
    Identity("transposed index", total(D[i, j] * x[i], i), total(D[j, i] * x[i], i), (), ""),
    Identity("captured index", total(D[i, k], k), total(D[k, k], k), (), ""),
    Identity("row for column sums", total(D[i, j], i), total(D[j, i], i), (), ""),
    Identity("sum of products", total(x[i] * y[i], i), total(x[i], i) * total(y[i], i), (), ""),
    Identity("square of a sum", total(x[i], i) ** 2, total(x[i] ** 2, i), (), ""),
    Identity("L for d", total(sp.S.One, c), length, (), ""),
    Identity("delta dropped", total(delta(i, j) * D[i, j], i, j), total(D[i, j], i, j), (), ""),
    Identity("delta of another index", total(delta(i, j) * x[j], j), x[j], (), ""),
    Identity("delta times L", total(delta(i, j), i, j), length**2, (), ""),
    Identity("trace over features", total(delta(c, e), c, e), length, (), ""),
    Identity("1/L dropped", total((x[i] - total(x[k], k)) ** 2, i),
             total(x[i] ** 2, i) - total(x[i], i) ** 2 / length, (), ""),
    Identity("half dropped", total((x[i] - x[j]) ** 2, i, j),
             length * total(x[i] ** 2, i) - total(x[i], i) ** 2, (), ""),
    Identity("mask complement", objects.mask[i, j] ** 2, 1 - objects.mask[i, j], (), ""),
    Identity("column for row count", total(objects.mask[i, k], i), objects.key_count[k], (count_keys,), ""),
    Identity("L keys under the diagonal mask", total(objects.mask[i, j], j), length, DIAGONAL, ""),
    Identity("L − 1 keys under the full mask", total(objects.mask[i, j], j), length - 1, FULL, ""),
    Identity("pooling without 1/L", total(objects.pooling[i], i), length,
             Setting(pooling=PoolingKind.MEAN).rules, ""),
    Identity("J is not the identity", J[i, j], delta(i, j), (definition_rule(J_ := objects.centring),), ""),
    Identity("trace of J", total(J[i, i], i), length, (definition_rule(J_),), ""),
    Identity("column sums of Δ̄", total(objects.centred[i, j], i), sp.S.Zero, (CENTRED, count_keys), ""),
    Identity("row sums of Δ", total(objects.pattern[i, j], j), sp.S.Zero, (CENTRED, count_keys), ""),
    Identity("ΔJ under the diagonal mask", objects.centred[i, j], total(objects.pattern[i, k] * J[k, j], k),
             (*DIAGONAL, CENTRED, definition_rule(J_)), ""),
    Identity("JΔ for ΔJ", objects.centred[i, j], total(J[i, k] * objects.pattern[k, j], k),
             (*FULL, CENTRED, definition_rule(J_)), ""),
    Identity("⟨Δ̄, C⟩ uncentred", total(objects.centred[i, j] * C[i, j], i, j),
             total(objects.pattern[i, j] * C[i, j], i, j), (*FULL, CENTRED), ""),
    Identity("C for JCJ", objects.centred_moment[i, j], C[i, j],
             (definition_rule(objects.centred_moment), definition_rule(J_)), ""),
    Identity("JΔJ is symmetric", objects.centred_pattern[i, j], objects.centred_pattern[j, i],
             (definition_rule(objects.centred_pattern), definition_rule(J_)), ""),
    Identity("weights without n", total(objects.pooled_key_weight[j], j),
             total(objects.pooling[i] * objects.centred[i, j], i), (definition_rule(objects.pooled_key_weight),), ""),
    Identity("distance without cross terms", Expectation(total((X[i, c] - X[j, c]) ** 2, c)), C[i, i] + C[j, j],
             (MOMENT,), ""),
    Identity("expectation dropped", Expectation(total(X[i, c] * X[j, c], c)), total(X[i, c] * X[j, c], c), (), ""),
    Identity("γ without the loss", objects.gradient_moment[j], Expectation(total(X[j, c], c)),
             (definition_rule(objects.gradient_moment),), ""),
]  # fmt: skip


@pytest.mark.parametrize("identity", identities(), ids=lambda identity: identity.name)
def test_a_true_identity_reduces_to_zero(identity):
    assert check(identity).is_zero, check(identity)


@pytest.mark.parametrize("identity", FALSE, ids=lambda identity: identity.name)
def test_a_near_miss_leaves_a_residue(identity):
    assert not check(identity).is_zero


def test_there_are_enough_of_both_with_names_of_their_own():
    assert len({identity.name for identity in identities()}) == len(identities()) >= 24
    assert len({identity.name for identity in FALSE}) == len(FALSE) >= 12
    assert all(identity.sentence.endswith(".") for identity in identities())


def test_an_expectation_of_a_product_is_not_a_product_of_expectations():
    product = Expectation(X[i, c]) * Expectation(g[c])
    with pytest.raises(ExpectationError):
        check(Identity("E[XY] = E[X]E[Y]", Expectation(X[i, c] * g[c]), product, (), ""))


def _setting(identity):
    names = {rule.name for rule in identity.rules}
    mask = MaskKind.FULL if "full mask" in names else MaskKind.DIAGONAL if "diagonal mask" in names else MaskKind.ANY
    pooling = PoolingKind.MEAN if "mean pooling" in names else PoolingKind.CLS if "CLS pooling" in names else None
    return Setting(mask, pooling or PoolingKind.ANY)


def _model(identity, seed):
    rng = random.Random(seed)
    witness = {}
    if any(rule.name == "witness law" for rule in identity.rules):
        witness = {
            X: lambda j, c: objects.pooled_key_weight[j] * objects.unit_feature[c],
            g: lambda c: objects.unit_feature[c],
        }
    model = witnessed(setting_model(_setting(identity), (), seed, token_count=3), witness)
    free = {n: random_array((3, 3), rng) for n in "ABD"} | {n: random_array((3,), rng) for n in "xy"}
    mean = {"μ": lambda place, sample=None: value(Expectation(X[j, c]), model, {j: place[0], c: place[1]})}
    made = model.with_entries(**free, **mean)
    made.cls = model.cls
    return made


def _holds(identity, seed):
    model = _model(identity, seed)
    free = {*free_indices(identity.left), *free_indices(identity.right)} - {cls_position}
    # Outside an expectation random entries are those of the first sample.
    return all(
        value(identity.left, model, names | fixed_names(model), 0)
        == value(identity.right, model, names | fixed_names(model), 0)
        for names in placements(sorted(free, key=lambda s: s.name), model)
    )


@pytest.mark.parametrize("identity", identities(), ids=lambda identity: identity.name)
def test_a_true_identity_holds_in_numbers(identity):
    assert all(_holds(identity, seed) for seed in (1, 2))


@pytest.mark.parametrize("identity", FALSE, ids=lambda identity: identity.name)
def test_a_near_miss_fails_in_numbers(identity):
    assert not all(_holds(identity, seed) for seed in (1, 2))


@pytest.mark.parametrize("identity", identities(), ids=lambda identity: identity.name)
def test_mutants_of_an_identity_that_fail_in_numbers_leave_a_residue(identity):
    kept = 0
    changes = [(kind, replace(identity, right=mutant)) for kind, mutant in mutants(identity.right)][:8]
    changes += [(kind, replace(identity, left=mutant)) for kind, mutant in mutants(identity.left)][:8]
    for kind, changed in changes:
        if _holds(changed, 1) and _holds(changed, 2):
            continue
        kept += 1
        assert not check(changed).is_zero, (kind, changed)
    assert kept or identity.right == 0


def test_every_object_of_section_5_stands_in_some_identity():
    """The catalogue covers what the claims use."""
    names = {
        node.tensor
        for identity in identities()
        for side in (identity.left, identity.right)
        for node in sp.preorder_traversal(side)
        if isinstance(node, Entry)
    }
    missing = {*objects.PRIMITIVES, *objects.DEFINED} - names - {objects.unit_feature, objects.symmetric_part}
    assert not missing
    assert any(width in identity.right.free_symbols for identity in identities())
