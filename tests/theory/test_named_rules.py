"""Rules with names of their own say what is true: judged by loops over fractions, at several lengths.

Their near misses are generated; each is either false in the loops or equal to the rule by the calculus.
"""

import random

import pytest
import sympy as sp

from tests.theory.brute_force import (
    Model,
    fixed_names,
    free_indices,
    placements,
    random_weights,
    setting_model,
    value,
    with_kept_bits,
)
from tests.theory.mutants import mutants
from theory import claims
from theory.claim import Constraint, MaskKind, PoolingKind, Setting, cls_position
from theory.claims.blind_set import unit_length
from theory.claims.visible_directions import _name_size
from theory.composition import same_gradient
from theory.geometry import RING, TORUS, distance_table, line_rules, same_distance_same_score
from theory.masking import bit_moments
from theory.objects import mask, pattern
from theory.query_key import _count_keys
from theory.softmax import count_keys, inside_mask, row_sums_vanish
from theory.sums import POSITIONS, Rule, index, residue, total

_k = index("k", POSITIONS)
MEAN, ANY = Setting(MaskKind.FULL, PoolingKind.MEAN), Setting()


def _bare(size):
    """No law at all: what a length alone fixes."""
    return Model(size, 1, random_weights(2, random.Random(size)), {})


def _on(setting, *hypotheses, sizes=(3, 4)):
    return [setting_model(setting, hypotheses, seed, size) for seed, size in enumerate(sizes)]


def _group(group, sizes):
    """Patterns and masks of the offset alone."""
    i, j, k = group.table.formal_indices()
    models = _on(MEAN, group.constraint, sizes=sizes)
    for model in models:
        offsets = {0, model.token_count - 1}

        def entry(place, sample=None, model=model, offsets=offsets):
            return sum(value(group.table[i, j, k], model, {i: place[0], j: place[1], k: n}) for n in offsets)

        yield model.with_entries({mask: entry})


#: Rules, and the models that satisfy what they assume.
CASES = {
    "moments of the kept bits": (bit_moments, [with_kept_bits(setting_model(ANY, (), 1, 3))]),
    "sums along the line": (line_rules, [_bare(size) for size in (1, 2, 3, 5, 6)]),
    "offsets on a ring": (RING.table_rules, [_bare(size) for size in (1, 2, 3, 5)]),
    "offsets on a torus": (TORUS.table_rules, [_bare(size) for size in (2, 4, 6)]),
    "mask of a ring": ((RING.mask_rule,), [*_group(RING, (3, 4))]),
    "mask of a torus": ((TORUS.mask_rule,), [*_group(TORUS, (4, 6))]),
    "softmax on a ring": ((*RING.softmax_rules, RING.constraint.rule), [*_group(RING, (3, 4))]),
    "softmax on a torus": ((*TORUS.softmax_rules, TORUS.constraint.rule), [*_group(TORUS, (4, 6))]),
    "scores of the distance": ((same_distance_same_score.rule,), _on(MEAN, same_distance_same_score)),
    "equal outputs": ((same_gradient,), _on(MEAN)),
    "any mask": ((count_keys, _count_keys, inside_mask, row_sums_vanish, unit_length, _name_size), _on(ANY)),
}
RULES = [
    pytest.param(rule, CASES[case][1], id=f"{case}: {number}")
    for case in CASES for number, rule in enumerate(CASES[case][0])
]  # fmt: skip


def holds(left, right, models):
    """Whether both sides agree at every model; outside an expectation random entries are those of sample 0."""
    free = sorted({*free_indices(left), *free_indices(right)} - {cls_position}, key=lambda s: s.name)
    return all(
        value(left, model, names | fixed_names(model), 0) == value(right, model, names | fixed_names(model), 0)
        for model in models
        for names in placements(free, model)
    )


@pytest.mark.parametrize(("rule", "models"), RULES)
def test_a_named_rule_is_true(rule, models):
    assert holds(rule.left, rule.right, models)


@pytest.mark.parametrize(("rule", "models"), RULES)
def test_a_near_miss_of_a_named_rule_is_false_in_the_loops(rule, models):
    wrong = [*mutants(rule.right), ("doubled", 2 * rule.right), ("one more", rule.right + 1)]
    assert wrong
    found = 0
    for kind, changed in wrong:
        try:
            true = holds(rule.left, changed, models)
        except ZeroDivisionError:
            true = False
        found += not true
        assert not true or residue(rule.right, changed, (rule, *RING.table_rules, *TORUS.table_rules)).is_zero, kind
    assert found >= 1


def test_every_rule_that_stands_in_a_module_is_judged():
    """But for the settings' own and hypotheses', which ``test_rules`` holds against models."""
    from tests.theory.reach import module_rules

    judged = {(r.name, r.left) for rules, _ in CASES.values() for r in rules}
    definitions = {r for r in module_rules() if r.name.startswith("definition of ")}
    unjudged = [r.name for r in module_rules() if r not in definitions and (r.name, r.left) not in judged]
    assert [name for name in unjudged if not name.startswith(("E[X] = μ", "full mask", "diagonal mask"))] == []


def test_outputs_that_differ_have_different_gradients():
    """The rule of equal gradients is false under every other mask and pooling."""
    for setting in (Setting(MaskKind.DIAGONAL, PoolingKind.MEAN), Setting(MaskKind.FULL, PoolingKind.CLS)):
        assert not holds(same_gradient.left, same_gradient.right, _on(setting))


def test_a_circulant_mask_is_not_assumed_where_there_is_none():
    assert not holds(RING.mask_rule.left, RING.mask_rule.right, _on(Setting(MaskKind.ANY)))
    exponential = RING.softmax_rules[0]
    assert not holds(exponential.left, exponential.right, _on(Setting(MaskKind.FULL)))


# --- hypotheses that are rules ---------------------------------------------------------------------------------------

_PARTS = [p for claim in claims() for p in (*claim.parts, *(v.part for v in claim.false_variants))]
REWRITING = list(dict.fromkeys(h for part in _PARTS for h in part.hypotheses if h.rewriting is not None))


def test_hypotheses_that_rewrite_are_those_of_relative_positions():
    assert {h.name for h in REWRITING} == {
        "Δ depends on the ring offset", "Δ depends on the torus offset", "Δ depends on |i−j|",
    }  # fmt: skip


@pytest.mark.parametrize("constraint", REWRITING, ids=lambda constraint: constraint.name)
def test_a_hypothesis_and_its_rule_are_one_equation_for_every_pattern(constraint):
    stated = sp.Add(constraint.rule.left, -constraint.rule.right)
    assert holds(constraint.expression, stated, _on(ANY))
    assert not holds(constraint.expression, sp.S.Zero, _on(ANY))


@pytest.mark.parametrize("constraint", REWRITING, ids=lambda constraint: constraint.name)
def test_a_rule_that_says_more_than_its_hypothesis_is_refused(constraint):
    rule = constraint.rule
    i, j = constraint.free
    for right in (2 * rule.right, -rule.right, sp.S.Zero, rule.right.subs({}) + 1, total(pattern[_k, j], _k)):
        with pytest.raises(ValueError, match="same equation"):
            Constraint(constraint.name, "", constraint.expression, (i, j), Rule("more", rule.left, right))
    with pytest.raises(ValueError, match="same equation"):
        Constraint(constraint.name, "", constraint.expression, (i, j), Rule("row", pattern[j, i], rule.right))


def test_offsets_of_the_tables_are_those_of_their_definition():
    """Two positions have one offset, and the offset of ``a to c`` is made of those of ``a to b`` and ``b to c``."""
    for group in (RING, TORUS):
        model = _bare(6)
        i, j, k = group.table.formal_indices()
        offset = {
            (a, b): next(n for n in range(6) if value(group.table[i, j, k], model, {i: a, j: b, k: n}))
            for a in range(6) for b in range(6)
        }  # fmt: skip
        sums = {(offset[a, b], offset[b, c]): offset[a, c] for a in range(6) for b in range(6) for c in range(6)}
        assert len(sums) == 36
        assert all(offset[a, c] == sums[offset[a, b], offset[b, c]]
                   for a in range(6) for b in range(6) for c in range(6))  # fmt: skip
    assert value(distance_table[i, j, k], _bare(4), {i: 3, j: 1, k: 2}) == 1
