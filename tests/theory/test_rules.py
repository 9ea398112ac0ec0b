"""Rewriting rules change no value: judged by loops over fractions, on masks and patterns that satisfy them."""

import pytest
import sympy as sp
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.theory.brute_force import fixed_names, free_indices, placements, setting_model, value
from tests.theory.strategies import Vocabulary, expressions
from theory import hypotheses, objects
from theory.claim import Constraint, MaskKind, PoolingKind, Setting, cls_position
from theory.softmax import count_keys, inside_mask, row_sums_vanish
from theory.sums import (
    FEATURES,
    POSITIONS,
    Expectation,
    ExpectationError,
    Rule,
    Tensor,
    definition_rule,
    delta,
    equal,
    index,
    length,
    normal_form,
    residue,
    total,
)
from theory.sums.rules import rule_names, sum_rule

i, j, k, r = (index(n, POSITIONS) for n in "ijkr")
c = index("c", FEATURES)
p_1 = index("p_1", POSITIONS)

ANY, FULL, DIAGONAL = (Setting(kind) for kind in (MaskKind.ANY, MaskKind.FULL, MaskKind.DIAGONAL))
FULL_MEAN = Setting(MaskKind.FULL, PoolingKind.MEAN)
UNFOLD = definition_rule(objects.centred)

CASES = {
    "no rules": (ANY, (), ()),
    "row counts": (ANY, (), (count_keys,)),
    "inside the mask": (ANY, (), (inside_mask, row_sums_vanish)),
    "unfolded": (ANY, (), (UNFOLD, count_keys)),
    "moments": (ANY, (), (definition_rule(objects.second_moment), definition_rule(objects.gradient_moment))),
    "weights": (ANY, (), (definition_rule(objects.pooled_key_weight),)),
    "full mask": (FULL_MEAN, (), (*FULL_MEAN.rules, UNFOLD)),
    "diagonal mask": (DIAGONAL, (), (*DIAGONAL.rules, UNFOLD)),
    "CLS pooling": (Setting(pooling=PoolingKind.CLS), (), Setting(pooling=PoolingKind.CLS).rules),
    "zero column sums": (FULL_MEAN, (hypotheses.zero_column_sums,), (hypotheses.zero_column_sums.rule, UNFOLD)),
    "zero row sums": (FULL, (hypotheses.zero_row_sums,), (hypotheses.zero_row_sums.rule, *FULL.rules)),
    "blind": (DIAGONAL, (hypotheses.zero_centred_column_sums,), (hypotheses.zero_centred_column_sums.rule,)),
    "v = 0": (ANY, (hypotheses.zero_pooled_key_weight,), (hypotheses.zero_pooled_key_weight.rule,)),
    "zero diagonal": (ANY, (hypotheses.zero_diagonal,), (hypotheses.zero_diagonal.rule,)),
    "antisymmetric core": (FULL, (hypotheses.antisymmetric_core,), (hypotheses.antisymmetric_core.rule,)),
}

_POOL = {POSITIONS: [index(n, POSITIONS) for n in ("i", "j", "p_1", "κ")], FEATURES: [c, index("f_1", FEATURES)]}
REAL = Vocabulary(
    fixed=(
        objects.pattern, objects.mask, objects.centred, objects.second_moment, objects.pooled_key_weight,
        objects.pooling, objects.gradient_moment, objects.symmetric_part, objects.centring,
    ),
    random=(objects.tokens, objects.loss_gradient),
    inverted=(objects.key_count,),
    pool=_POOL,
)  # fmt: skip


@pytest.fixture(scope="module")
def models():
    return {name: setting_model(s, h, 5, token_count=3) for name, (s, h, _) in CASES.items()}


@settings(max_examples=25)
@pytest.mark.parametrize("case", CASES)
@given(expression=expressions(REAL))
@example(expression=total(objects.mask[i, k] * objects.pattern[i, k], k))
@example(expression=total(objects.mask[p_1, k], k) ** 2 / objects.key_count[p_1])
@example(expression=total(objects.centred[i, j] * objects.second_moment[i, k], i))
@example(expression=total(objects.pooling[i] * objects.centred[i, j], i) * objects.pattern[j, j])
def test_rules_keep_the_value(case, expression, models):
    model = models[case]
    try:
        form = normal_form(expression, CASES[case][2])
    except ExpectationError:
        assume(False)
    back = form.expression()
    places = sorted({*free_indices(expression), *free_indices(back)} - {cls_position}, key=lambda s: s.name)
    for names in placements(places, model):
        names |= fixed_names(model)
        assert value(back, model, names) == value(expression, model, names)


@pytest.mark.parametrize("case", [name for name, (_, _, rules) in CASES.items() if rules])
def test_rules_are_true_equations(case, models):
    model = models[case]
    for rule in CASES[case][2]:
        free = sorted({*free_indices(rule.left), *free_indices(rule.right)} - {cls_position}, key=lambda s: s.name)
        if any(objects.tokens == n for n in sp.preorder_traversal(rule.left)):
            continue
        for names in placements(free, model):
            names |= fixed_names(model)
            assert value(rule.left, model, names) == value(rule.right, model, names), rule.name


@pytest.mark.parametrize("case", ["zero column sums", "zero row sums", "blind", "v = 0", "antisymmetric core"])
def test_a_model_of_a_hypothesis_is_not_the_zero_pattern(case, models):
    """The properties above are not vacuous."""
    model = models[case]
    assert any(value(objects.pattern[i, j], model, names) for names in placements([i, j], model))


def test_a_summed_pattern_index_matches_only_an_index_that_stands_nowhere_else():
    hypothesis = hypotheses.zero_column_sums.rule
    column = total(objects.pattern[i, j], i)
    assert equal(column, 0, [hypothesis])
    for untouched in (
        total(objects.pattern[i, j] * objects.pooling[i], i),
        total(objects.pattern[i, i], i),
        total(objects.pattern[i, j] ** 2, i),
        objects.pattern[i, j],
        total(objects.pattern[i, j], j),
    ):
        assert not equal(untouched, 0, [hypothesis])


def test_two_summed_pattern_indices_do_not_match_one():
    vanishing = Rule("total vanishes", total(objects.pattern[i, j], i, j), sp.S.Zero)
    assert equal(total(objects.pattern[k, r], r, k), 0, [vanishing])
    assert not equal(total(objects.pattern[k, k], k), 0, [vanishing])


def test_a_free_index_of_the_right_side_is_not_captured():
    """CLS pooling has κ on the right only; a canonical name in its place must not be taken for a summed index."""
    onto = Rule("ω = e", objects.pooling[i], delta(i, p_1))
    summed = total(objects.pooling[i] * objects.pattern[i, k], i, k)
    assert equal(summed, total(objects.pattern[p_1, k], k), [onto])
    assert not equal(summed, total(objects.pattern[k, k], k), [onto])


def test_rules_that_act_inside_a_power_do_not_capture():
    """The base of a power is reduced below the sum that binds its indices."""
    unit = Rule("basis", objects.pattern[k, r], delta(k, i) * delta(r, j))
    assert equal(total(objects.pattern[i, j] ** 2, i, j), sp.S.One, [unit])


def test_a_rule_for_an_expectation_leaves_a_random_entry_alone():
    mean = Tensor("μ", (POSITIONS, FEATURES))
    rule = Rule("E[X] = μ", Expectation(objects.tokens[i, c]), mean[i, c])
    assert equal(Expectation(objects.tokens[j, c]), mean[j, c], [rule])
    assert not equal(objects.tokens[j, c], mean[j, c], [rule])
    square = Expectation(objects.tokens[j, c] ** 2)
    assert normal_form(square, [rule]) == normal_form(square)


def test_a_rule_does_not_pull_a_random_factor_into_an_expectation():
    with pytest.raises(ExpectationError, match="definition of C"):
        normal_form(objects.tokens[k, c] * objects.second_moment[i, j], [definition_rule(objects.second_moment)])
    with pytest.raises(ExpectationError):
        normal_form(
            Expectation(objects.tokens[k, c]) * objects.second_moment[i, j], [definition_rule(objects.second_moment)]
        )


def test_the_left_side_of_a_rule_is_one_monomial():
    with pytest.raises(ValueError, match="one monomial"):
        Rule("sum", objects.pattern[i, j] - objects.pattern[j, i], sp.S.Zero)
    with pytest.raises(ValueError, match="one monomial"):
        Rule("nothing", sp.S.Zero, sp.S.Zero)


def test_a_coefficient_on_the_left_is_divided_out():
    rule = Rule("twice", 2 * objects.pooling[i] / length, objects.profile[i])
    assert residue(objects.pooling[j], length * objects.profile[j] / 2, [rule]).is_zero


def test_rules_that_run_in_a_circle_are_stopped():
    swap = [
        Rule("there", objects.pooling[i], objects.profile[i]),
        Rule("back", objects.profile[i], objects.pooling[i]),
    ]
    with pytest.raises(RuntimeError, match="there"):
        normal_form(objects.pooling[j], swap)


def test_a_primitive_has_no_definition():
    with pytest.raises(ValueError, match="primitive"):
        definition_rule(objects.pattern)
    with pytest.raises(ValueError, match="primitive"):
        objects.pattern[i, j].unfold()


def test_a_sum_rule_states_row_or_column_sums():
    rows = sum_rule("rows", objects.pattern, 1, sp.S.Zero)
    assert equal(total(objects.pattern[i, j], j), 0, [rows])
    assert not equal(total(objects.pattern[i, j], i), 0, [rows])


def test_only_rules_that_fired_are_reported():
    used: set[str] = set()
    normal_form(total(objects.mask[i, k], k), [count_keys, UNFOLD], used)
    assert used == {"Σ m = n"}
    assert rule_names([count_keys, UNFOLD, count_keys]) == ["Σ m = n", "definition of Δ̄"]


def test_a_constraint_on_one_row_is_no_rule_for_all_rows():
    one_row = Constraint("κ row", "the CLS row vanishes", objects.pattern[cls_position, j], (j,))
    with pytest.raises(ValueError, match="κ"):
        _ = one_row.rule
    assert hypotheses.zero_column_sums.rule.name == "column sums of Δ vanish"


@given(st.sampled_from((MaskKind.ANY, MaskKind.FULL, MaskKind.DIAGONAL)), st.integers(0, 50))
@settings(max_examples=30)
def test_centred_pattern_has_zero_row_sums_and_lives_in_the_mask(kind, seed):
    """The definition itself, by loops; the rules of ``softmax`` state the same."""
    model = setting_model(Setting(kind), (), seed, token_count=3)
    for names in placements([i], model):
        assert value(total(objects.centred[i, j], j), model, names) == 0
    for names in placements([i, j], model):
        inside = value(objects.mask[i, j], model, names)
        assert value(objects.centred[i, j], model, names) * (1 - inside) == 0
