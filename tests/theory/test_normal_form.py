"""The normal form accepts equal expressions, and nothing else: judged by loops over fractions."""

import random

import pytest
import sympy as sp
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.theory.brute_force import free_indices, placements, value
from tests.theory.mutants import mutants
from tests.theory.strategies import (
    BINARY,
    NONZERO,
    PLAIN,
    RANDOM,
    RANDOM_VECTOR,
    VECTOR,
    F,
    P,
    expressions,
    generic_model,
    generic_models,
    scrambled,
)
from theory.printing import tidy
from theory.sums import (
    Expectation,
    ExpectationError,
    IndexTypeError,
    Tensor,
    delta,
    equal,
    index,
    length,
    normal_form,
    substitute,
    total,
    width,
)

i, j, k, q = (index(n, P) for n in "ijkq")
p_1, p_2 = index("p_1", P), index("p_2", P)
c, e = index("c", F), index("e", F)


many = settings(max_examples=200)


def same_value(left, right, model):
    indices = sorted({*free_indices(left), *free_indices(right)}, key=lambda s: (s.name, s.range.name))
    return all(value(left, model, names) == value(right, model, names) for names in placements(indices, model))


@many
@given(expressions(), generic_models())
@example(total(PLAIN[p_1, k], k), generic_model(3, 1, 0))
@example(total(VECTOR[p_1] * total(PLAIN[p_1, p_2], p_2), p_1), generic_model(3, 1, 1))
def test_normal_form_has_the_value_of_the_expression(expression, model):
    assert same_value(expression, normal_form(expression).expression(), model)


@given(expressions())
@example(total(VECTOR[i] * Expectation(total(RANDOM[i, c] * RANDOM[j, c], j, c)), i))
def test_normal_form_of_a_normal_form_is_itself(expression):
    form = normal_form(expression)
    assert normal_form(form.expression()) == form
    assert hash(normal_form(form.expression())) == hash(form)


@many
@given(expressions(), st.integers(0, 10**6))
def test_renaming_swapping_distributing_and_inserted_deltas_keep_the_normal_form(expression, seed):
    other = scrambled(expression, random.Random(seed))
    assert normal_form(other) == normal_form(expression)


@given(expressions(), st.integers(0, 10**6), generic_models())
def test_scrambling_keeps_the_value(expression, seed, model):
    """The generator of the test above is right, judged without the normal form."""
    assert same_value(scrambled(expression, random.Random(seed)), expression, model)


@many
@given(expressions(), st.data())
def test_mutants_with_an_equal_normal_form_have_an_equal_value(expression, data):
    made = list(mutants(expression))
    assume(made)
    _, mutant = data.draw(st.sampled_from(made))
    try:
        accepted = equal(expression, mutant)
    except ValueError:  # a mutant may divide by a sum
        assume(False)
    models = [generic_model(size, d, seed) for size, d, seed in ((1, 1, 1), (2, 2, 2), (3, 2, 3))]
    if accepted:
        assert all(same_value(expression, mutant, model) for model in models)


@many
@given(expressions(depth=2), expressions(depth=2))
def test_two_random_expressions_with_an_equal_normal_form_have_an_equal_value(left, right):
    if normal_form(left) == normal_form(right):
        assert all(same_value(left, right, generic_model(n, 2, n)) for n in (1, 2, 3))


def test_most_mutants_are_told_apart():
    """The two tests above are not vacuous: mutants whose value differs have another normal form."""
    source = total(VECTOR[i] * (PLAIN[i, j] / NONZERO[i] - total(PLAIN[k, j], k) / length), i)
    model = generic_model(3, 2, 7)
    wrong = [m for _, m in mutants(source) if not same_value(source, m, model)]
    assert len(wrong) >= 20
    assert not any(equal(source, m) for m in wrong)


@given(expressions(depth=2), generic_models(), st.data())
@example(total(PLAIN[i, k], k), generic_model(3, 1, 4), None)
def test_substitution_captures_nothing(expression, model, data):
    replacements = {i: k, j: p_1, c: e}
    if data is not None:
        replacements = {s: data.draw(st.sampled_from((i, j, p_1, p_2))) for s in (i, j, p_1, p_2)}
    renamed = substitute(expression, replacements)
    free = free_indices(expression)
    targets = sorted({replacements.get(s, s) for s in free}, key=lambda s: (s.name, s.range.name))
    for names in placements(targets, model):
        before = value(expression, model, {s: names[replacements.get(s, s)] for s in free})
        assert value(renamed, model, names) == before


@given(expressions(), generic_models())
def test_tidy_names_keep_the_value(expression, model):
    assert same_value(tidy(expression), expression, model)


def test_sympys_own_substitution_captures_and_ours_does_not():
    row = total(PLAIN[i, k], k)
    assert not equal(substitute(row, {i: k}), total(PLAIN[k, k], k))
    assert equal(substitute(row, {i: k}), total(PLAIN[k, q], q))


def test_a_free_index_with_a_canonical_name_is_not_captured():
    assert not equal(total(PLAIN[p_1, k], k), total(PLAIN[k, k], k))
    assert normal_form(total(PLAIN[p_1, k], k)).expression().free_symbols - {length} == {p_1}


def test_a_free_delta_unites_its_indices():
    assert equal(delta(i, j) * PLAIN[i, k] * VECTOR[j], delta(j, i) * PLAIN[j, k] * VECTOR[i])
    assert not equal(delta(i, j) * PLAIN[i, k], PLAIN[i, k])


def test_ranges_are_not_mixed_up():
    assert equal(total(sp.S.One, i, c), length * width)
    assert not equal(total(sp.S.One, i, j), length * width)


def test_symmetry_is_used_only_where_it_is_declared():
    symmetric = Tensor("Q", (P, P), symmetric=True)
    plain = Tensor("Q", (P, P))
    assert equal(symmetric[i, j], symmetric[j, i])
    assert not equal(plain[i, j], plain[j, i])
    assert symmetric != plain


def test_an_entry_that_may_vanish_is_not_inverted():
    """b·b/b is not 1: with the two factors collected first it would be."""
    square_over_entry = sp.Mul(BINARY[i, j] ** 2, 1 / BINARY[i, j], evaluate=False)
    for wrong in (square_over_entry, 1 / BINARY[i, j], 1 / delta(i, j)):
        with pytest.raises(ValueError, match="may be 0"):
            normal_form(wrong)


@pytest.mark.parametrize("wrong", [1 / (1 + VECTOR[i]), 1 / total(VECTOR[i], i), 1 / RANDOM[i, c]])
def test_only_a_deterministic_monomial_is_inverted(wrong):
    with pytest.raises(ValueError, match="invert"):
        normal_form(wrong)


@pytest.mark.parametrize("wrong", [sp.Symbol("y"), sp.sqrt(length), i, sp.sin(VECTOR[i])])
def test_what_the_calculus_does_not_cover_is_refused(wrong):
    with pytest.raises(ValueError, match="rational function"):
        normal_form(wrong)


@pytest.mark.parametrize("limits", [(i, 2, length), (i, 1, length - 1), (i, 1, width)])
def test_a_sum_over_part_of_a_range_is_refused(limits):
    with pytest.raises(ValueError, match="whole range"):
        normal_form(sp.Sum(VECTOR[i], limits))


@pytest.mark.parametrize(
    ("tensor", "indices"),
    [(RANDOM, (c, i)), (RANDOM, (i, j)), (PLAIN, (i, c)), (VECTOR, (c,)), (VECTOR, (i, j)), (PLAIN, (i,))],
)
def test_mistyped_indices_are_refused_when_typed(tensor, indices):
    with pytest.raises(IndexTypeError, match=tensor.name):
        tensor[indices]


def test_a_plain_symbol_is_no_index():
    with pytest.raises(IndexTypeError):
        VECTOR[sp.Symbol("i", integer=True, positive=True)]


def test_a_delta_has_two_indices_of_one_range():
    with pytest.raises(IndexTypeError):
        delta(i, c)


@pytest.mark.parametrize(
    "wrong",
    [
        Expectation(RANDOM[i, c]) * Expectation(RANDOM[j, c]),
        Expectation(RANDOM[i, c]) ** 2,
        Expectation(RANDOM[i, c]) * RANDOM_VECTOR[c],
        Expectation(Expectation(RANDOM[i, c]) * VECTOR[i]),
    ],
)
def test_products_and_nests_of_expectations_are_refused(wrong):
    with pytest.raises(ExpectationError):
        normal_form(wrong)


def test_the_expectation_of_a_product_is_not_a_product_without_one():
    assert not equal(Expectation(RANDOM[i, c] * RANDOM_VECTOR[c]), RANDOM[i, c] * RANDOM_VECTOR[c])
    assert not equal(Expectation(RANDOM[i, c]), RANDOM[i, c])


def test_a_sum_with_too_many_interchangeable_indices_is_refused_not_endless():
    names = [index(f"t{n}", P) for n in range(9)]
    product = sp.Mul(*(PLAIN[names[n], names[(n + 1) % 9]] for n in range(9)))
    with pytest.raises(ValueError, match="split the sum"):
        normal_form(total(product, *names))
