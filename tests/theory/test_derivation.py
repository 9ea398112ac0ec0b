"""A derivation refuses every wrong line, wrong or missing step, irrelevant lemma and false coefficient."""

from dataclasses import replace

import pytest
import sympy as sp

from theory import objects
from theory.claims.first_order import supervised_slope
from theory.curves import Curve, alpha
from theory.derivation import Derivation, DerivationError, Lemma, Move
from theory.objectives import attention, loss_slope, output, pooled, reconstruction, supervised
from theory.objects import centred, key_count, mask, pattern, pooling, second_moment
from theory.softmax import count_keys, output_slope, softmax_slope, softmax_value
from theory.sums import FEATURES, POSITIONS, Expectation, Rule, definition_rule, equal, index, length, total

i, j, k, r = (index(n, POSITIONS) for n in "ijkr")
c = index("c", FEATURES)


def uniform():
    return Derivation(attention(i, j).unfold()).at_zero()


def test_a_right_line_is_kept_with_the_rules_that_proved_it():
    chain = uniform().rewrite(mask[i, j] / key_count[i], count_keys, definition_rule(centred))
    assert chain.steps[-1].rules == ("Σ m = n",)
    assert chain.steps[-1].rule == "equal by Σ m = n"
    assert [step.move for step in chain.steps] == [Move.DEFINITION, Move.AT_ZERO, Move.REWRITE]


@pytest.mark.parametrize(
    "wrong",
    [
        mask[i, j] / key_count[j],
        mask[j, i] / key_count[i],
        -mask[i, j] / key_count[i],
        mask[i, j] / length,
        1 / key_count[i],
        sp.S.Zero,
    ],
)
def test_a_wrong_line_is_refused_and_not_appended(wrong):
    chain = uniform()
    before = list(chain.steps)
    with pytest.raises(DerivationError, match="does not follow") as caught:
        chain.rewrite(wrong, count_keys)
    assert chain.steps == before
    # The residue is new − old.
    assert equal(caught.value.residue, wrong - mask[i, j] / key_count[i], [count_keys])


def test_a_line_without_the_rule_it_needs_is_refused():
    with pytest.raises(ValueError, match="inverted"):
        uniform().rewrite(mask[i, j] / key_count[i])


def test_a_lemma_that_does_not_occur_is_refused():
    chain = Derivation(output(i, c).unfold()).at_zero()
    with pytest.raises(DerivationError, match="lemma softmax-slope does not occur"):
        chain.cite(softmax_slope())
    with pytest.raises(DerivationError, match="lemma softmax-value does not occur"):
        Derivation(output(i, c).unfold()).cite(softmax_value())  # alpha is not yet 0
    assert chain.cite(softmax_value()).cited == ["softmax-value"]


def test_citing_renames_without_capture():
    """The lemma o'_ic(0) sums over j; citing it at query j must not confuse the two."""
    chain = Derivation(output(j, c, at=0, order=1)).cite(output_slope())
    assert equal(chain.expression, total(centred[j, k] * objects.tokens[k, c], k) / key_count[j])


def test_differentiation_and_alpha_zero_are_computed():
    square = Derivation(alpha**2 * pattern[i, j]).differentiate()
    assert square.expression == 2 * alpha * pattern[i, j]
    assert square.at_zero().expression == 0
    assert Derivation(supervised()).differentiate().at_zero().expression == Expectation(
        total(loss_slope(c, at=0) * pooled(c, at=0, order=1), c)
    )
    assert Derivation(reconstruction()).differentiate().expression != 0
    assert Derivation(pattern[i, j]).differentiate().expression == 0


def along(body):
    return Derivation(total(body, i, j))


def test_the_coefficient_of_a_linear_line_is_its_gradient():
    chain = along(pattern[i, j] * second_moment[i, j]).coefficient(second_moment[i, j], i, j)
    assert chain.steps[-1].move is Move.COEFFICIENT
    transposed = along(pattern[i, j] * objects.centring[j, i] * pooling[i])
    assert transposed.coefficient(objects.centring[i, j] * pooling[i], i, j).expression
    with_rules = along(pattern[i, j] * objects.centring[i, j])
    with_rules.coefficient(objects.delta(i, j) - 1 / length, i, j, definition_rule(objects.centring))
    assert with_rules.steps[-1].rules == ("definition of J",)
    assert "definition of J" in with_rules.steps[-1].rule


@pytest.mark.parametrize(
    "wrong",
    [
        -second_moment[i, j] * pooling[i],
        second_moment[i, j] * pooling[j],
        second_moment[i, j],
        second_moment[i, j] * pooling[i] / length,
        second_moment[i, j] * pooling[i] * pattern[i, j],
        total(second_moment[i, j] * pooling[i], i),
    ],
)
def test_a_wrong_coefficient_is_refused(wrong):
    with pytest.raises(DerivationError, match="coefficient array"):
        along(pattern[i, j] * second_moment[i, j] * pooling[i]).coefficient(wrong, i, j)


@pytest.mark.parametrize(
    ("body", "claimed"),
    [
        (pattern[i, j] ** 2, sp.S.One),
        (pattern[i, j] * pattern[j, i], objects.delta(i, j)),
        (1 + pattern[i, j] * second_moment[i, j], length**2 + second_moment[i, j]),
        (centred[i, j] * second_moment[i, j], total(centred[k, r] * second_moment[k, r], k, r)),
        (pattern[i, j] * objects.pooled_key_weight[i], objects.pooled_key_weight[i]),
        (attention(i, j, at=0, order=1) * pattern[i, j], attention(i, j, at=0, order=1)),
    ],
)
def test_only_a_line_that_is_linear_in_the_pattern_has_coefficients(body, claimed):
    with pytest.raises(DerivationError, match="linear in Δ"):
        along(body).coefficient(claimed, i, j)


def test_coefficients_of_an_unfolded_line_are_those_of_the_folded_one():
    unfold = definition_rule(centred)
    full = Rule("full mask", mask[i, j], sp.S.One), Rule("full mask", 1 / key_count[i], 1 / length)
    moment = total(second_moment[i, k] * objects.centring[k, j], k)
    along(centred[i, j] * second_moment[i, j]).coefficient(
        moment, i, j, unfold, *full, definition_rule(objects.centring)
    )


def test_a_chain_knows_what_its_last_line_names():
    assert supervised_slope().named(objects.pooled_key_weight)
    assert not supervised_slope().named(pattern)


def test_the_errors_say_which_line_and_by_how_much():
    with pytest.raises(DerivationError, match="they differ by") as caught:
        uniform().rewrite(2 * mask[i, j] / key_count[i], count_keys)
    assert "m[i,j]/n[i]" in str(caught.value)


def test_a_curve_without_a_definition_is_not_unfolded():
    with pytest.raises(ValueError, match="no definition"):
        Curve("f", (POSITIONS,))(i).unfold()


def test_unfolding_differentiates_the_definition():
    slope = attention(i, j, at=0, order=1).unfold()
    assert equal(slope, centred[i, j] / key_count[i], [count_keys, definition_rule(centred)])
    assert attention(i, j).unfold() == attention(i, j, order=0).unfold()
    assert output(i, c, order=1).unfold() == sp.diff(output(i, c).unfold(), alpha)


def test_a_lemma_with_a_wrong_right_side_makes_the_next_typed_line_fail():
    wrong = replace(softmax_slope(), derivation=Derivation(-softmax_slope().right))
    chain = Derivation(output(i, c).unfold()).differentiate().at_zero().cite(wrong)
    with pytest.raises(DerivationError):
        chain.rewrite(output_slope().right)
    assert isinstance(wrong, Lemma)
