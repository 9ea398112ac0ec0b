"""What would prove a falsehood is refused: moments taken too soon, hidden exponentials, lemmas out of their setting."""

import itertools
from dataclasses import replace

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.brute_force import free_indices, placements, setting_model, value, with_kept_bits
from theory import find_claim
from theory.claim import MaskKind, PoolingKind, Quantity, Setting
from theory.claims import composition, global_blindness
from theory.curves import alpha
from theory.derivation import Derivation, DerivationError, Lemma
from theory.geometry import RING
from theory.masking import bit_moments, kept, masked_output
from theory.objectives import attention, pooled
from theory.objects import loss_gradient, mask, pattern, profile, tokens
from theory.sums import (
    FEATURES,
    POSITIONS,
    Expectation,
    ExpectationError,
    Rule,
    equal,
    index,
    mask_ratio,
    normal_form,
    substitute,
    total,
)

i, j, k, r, s = (index(n, POSITIONS) for n in "ijkrs")
c = index("c", FEATURES)
q = 1 - mask_ratio
ORDERS = list(itertools.permutations(bit_moments))


@pytest.fixture(scope="module")
def bits():
    return with_kept_bits(setting_model(Setting(), (), 4, token_count=3, token_width=1))


def _same(left, right, model):
    indices = sorted({*free_indices(left), *free_indices(right)}, key=lambda n: n.name)
    return all(value(left, model, names) == value(right, model, names) for names in placements(indices, model))


# --- independent moments ---------------------------------------------------------------------------------------------


@st.composite
def expectations(draw):
    """E of a product of up to four kept bits and a few other factors, with any indices, some summed over."""
    places = st.sampled_from((i, j, k))
    body = sp.Mul(*(kept[draw(places)] for _ in range(draw(st.integers(0, 4)))))
    body *= draw(st.sampled_from((sp.S.One, tokens[draw(places), c], profile[draw(places)], mask[i, draw(places)])))
    body *= draw(st.sampled_from((sp.S.One, tokens[draw(places), c])))
    inner = draw(st.lists(places, max_size=2, unique=True))
    outer = draw(st.lists(places, max_size=2, unique=True))
    expectation = Expectation(total(body, *inner) if inner else body)
    return total(expectation, *outer) if outer else expectation


@given(expectations(), st.sampled_from(ORDERS))
def test_moments_keep_the_value_whatever_the_order_of_the_rules(bits, expression, rules):
    assert _same(normal_form(expression, rules).expression(), expression, bits)


@pytest.mark.parametrize("rules", ORDERS, ids=lambda rules: "-".join(str(bit_moments.index(r)) for r in rules))
def test_a_smaller_moment_is_not_taken_of_a_part_of_a_product(rules):
    pair = Expectation(kept[i] * kept[j])
    assert equal(pair, bit_moments[1].right, rules)
    assert not equal(pair, q**2, rules)
    assert not equal(Expectation(kept[i] * kept[j] * kept[k]), q**3, rules)
    assert equal(Expectation(kept[i] ** 2), q, rules)


def test_four_bits_have_no_moment():
    four = Expectation(kept[i] * kept[j] * kept[k] * kept[r])
    assert normal_form(four, bit_moments) == normal_form(four)
    assert not equal(four, q**4, bit_moments)
    assert not equal(four, q * bit_moments[0].right, bit_moments)


def test_a_bit_outside_an_expectation_is_not_averaged():
    assert normal_form(kept[i], bit_moments) == normal_form(kept[i])
    assert not equal(kept[i] * tokens[j, c], q * tokens[j, c], bit_moments)
    for product in (kept[i] * Expectation(kept[j]), Expectation(kept[i]) * Expectation(kept[j]),
                    kept[i] * Expectation(tokens[j, c])):  # fmt: skip
        with pytest.raises(ExpectationError):
            normal_form(product, bit_moments)


@pytest.mark.parametrize(
    "dependent",
    [masked_output(j, c), masked_output(j, c, at=0), masked_output(j, c, at=0, order=1), loss_gradient[c]],
    ids=["output", "output at 0", "slope", "gradient"],
)
def test_a_bit_is_not_averaged_beside_what_may_be_made_of_it(dependent):
    """õ holds the bits behind its name, and a loss gradient may read masked inputs."""
    line = Expectation(kept[i] * dependent)
    assert normal_form(line, bit_moments) == normal_form(line)
    with pytest.raises(DerivationError):
        Derivation(line).rewrite(q * Expectation(dependent), *bit_moments)


def test_tokens_stay_inside_their_expectation_when_bits_leave_it(bits):
    line = Expectation(kept[i] * tokens[j, c] * tokens[k, c])
    assert equal(line, q * Expectation(tokens[j, c] * tokens[k, c]), bit_moments)
    assert not equal(line, q * tokens[j, c] * tokens[k, c], bit_moments)
    assert _same(line, q * Expectation(tokens[j, c] * tokens[k, c]), bits)


def test_a_rule_that_names_no_independence_takes_no_moment_of_a_part():
    shy = Rule("E[r] = 1 − ρ", Expectation(kept[i]), q)
    assert equal(Expectation(kept[j]), q, [shy])
    assert not equal(Expectation(kept[j] * tokens[k, c]), q * Expectation(tokens[k, c]), [shy])


# --- opaque exponentials ---------------------------------------------------------------------------------------------


def _exp(*indices, factor=1):
    return sp.exp(factor * alpha * pattern[indices])


def test_an_exponential_is_renamed_and_summed_like_any_entry():
    assert equal(total(_exp(i, j), i, j), total(_exp(r, k), k, r))
    assert not equal(_exp(i, j), _exp(j, i))
    assert not equal(total(_exp(i, j), j), total(_exp(i, j), i))
    assert equal(substitute(total(_exp(i, k), k), {i: k}), total(_exp(k, s), s))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (_exp(i, j), sp.S.One),
        (_exp(i, j), sp.exp(pattern[i, j])),
        (_exp(i, j, factor=2), _exp(i, j)),
        (_exp(i, j, factor=-1), _exp(i, j)),
        (_exp(i, j), pattern[i, j]),
        (_exp(i, j, factor=2), 2 * _exp(i, j)),
        (total(_exp(i, j), j), sp.exp(alpha * profile[i])),
    ],
)
def test_different_exponentials_are_not_taken_for_one_another(left, right):
    assert not equal(left, right)


@pytest.mark.parametrize(
    "exponential",
    [
        sp.exp(alpha * (pattern[i, j] + pattern[i, k])),
        sp.exp(alpha * pattern[i, j] ** 2),
        sp.exp(alpha * pattern[i, j] * profile[i]),
        sp.exp(alpha * total(pattern[i, j], j)),
        sp.exp(alpha + pattern[i, j]),
        sp.exp(alpha),
        sp.exp(sp.Symbol("L") * pattern[i, j] + 1),
    ],
    ids=["sum of entries", "square", "two entries", "sum", "sum with α", "α alone", "shift"],
)
def test_other_exponents_are_refused(exponential):
    with pytest.raises(ValueError, match="normal form"):
        normal_form(exponential)


def test_the_exponential_of_a_random_entry_is_random():
    inside = Expectation(sp.exp(alpha * tokens[j, c]) * tokens[j, c])
    assert not equal(inside, sp.exp(alpha * tokens[j, c]) * tokens[j, c])
    with pytest.raises(ExpectationError):
        normal_form(sp.exp(alpha * tokens[j, c]) * Expectation(tokens[j, c]))


def test_an_exponential_is_not_linear_in_its_exponent():
    """Beside Δ_ij an exponential of Δ would pass for a constant coefficient."""
    line = Derivation(total(pattern[i, j] * _exp(i, j), i, j))
    with pytest.raises(DerivationError, match="linear in Δ"):
        line.coefficient(_exp(i, j), i, j)


def _of_offset():
    return total(RING.table[i, j, k] * RING.allowed[k] * RING.weights[k], k) / RING.normaliser[()]


@pytest.mark.parametrize("move", ["differentiate", "at_zero"])
def test_a_name_that_hides_alpha_is_not_a_constant(move):
    """E_k = exp(α φ_k) and Z depend on α, which SymPy cannot see in their names."""
    for line in (RING.weights[k], RING.normaliser[()], _of_offset(), total(RING.weights[k] * profile[k], k)):
        with pytest.raises(DerivationError, match="depends on α"):
            getattr(Derivation(line), move)()
    assert getattr(Derivation(RING.scores[k] + alpha), move)().expression is not None


def test_differentiating_an_exponential_brings_down_its_entry():
    slope = Derivation(total(mask[i, j] * _exp(i, j), j)).differentiate()
    assert equal(slope.expression, total(mask[i, j] * pattern[i, j] * _exp(i, j), j))
    assert slope.at_zero().expression == total(mask[i, j] * pattern[i, j], j)


def test_an_attention_that_moves_is_not_derived_to_stand_still():
    """The chain that these names would have allowed: a_ij(α) = S μ E/Z, whose derivative is not 0."""
    rules = (RING.mask_rule, *RING.softmax_rules, *RING.table_rules)
    chain = Derivation(attention(i, j).unfold()).rewrite(_of_offset(), *rules)
    with pytest.raises(DerivationError, match="depends on α"):
        chain.differentiate()


# --- lemmas and rules out of their setting ---------------------------------------------------------------------------

PERIODIC = find_claim("G5").parts[0]


@pytest.mark.parametrize(
    "setting",
    [Setting(m, p) for m, p in itertools.product(MaskKind, PoolingKind) if (m, p) != (MaskKind.RING, PoolingKind.MEAN)],
    ids=lambda setting: f"{setting.mask}-{setting.pooling}",
)
def test_a_lemma_of_one_setting_is_not_cited_in_another(setting):
    with pytest.raises(DerivationError, match="ring-pooled, which needs"):
        replace(PERIODIC, setting=setting).derivation()


def test_a_lemma_is_not_cited_without_its_hypothesis():
    with pytest.raises(DerivationError, match="Δ depends on the ring offset"):
        replace(PERIODIC, hypotheses=()).derivation()
    torus = find_claim("G5").parts[1]
    with pytest.raises(DerivationError, match="torus-pooled"):
        replace(torus, hypotheses=PERIODIC.hypotheses).derivation()


def test_a_lemma_hands_its_conditions_on_to_what_cites_it():
    """Wrapped into a lemma without conditions of its own, it still needs the ring."""
    inner = global_blindness._output_of_offset(RING)
    chain = Derivation(pooled(c).unfold()).cite(inner)
    wrapped = Lemma("innocent", "no conditions", pooled(c), chain)
    derive = lambda part: Derivation(pooled(c).unfold()).cite(inner)  # noqa: E731
    assert [lemma.id for lemma in Derivation(pooled(c)).cite(wrapped).conditional] == ["ring-output"]
    part = replace(PERIODIC, quantity=Quantity.ALGEBRAIC, left=pooled(c).unfold(), derive=derive,
                   statement=chain.expression, free=(c,), setting=Setting())  # fmt: skip
    with pytest.raises(DerivationError, match="ring-output, which needs"):
        part.derivation()


def test_equal_gradients_are_not_assumed_where_outputs_differ():
    """With the rule of equal gradients the false variant under the diagonal mask would be derived."""
    variant = next(v for v in find_claim("G6").false_variants if v.id == "any mask will do")
    with pytest.raises(ValueError, match="does not follow"):
        variant.part.derivation()
    forced = composition.READOUT.slope()
    assert forced.rewrite(sp.S.Zero, composition.same_gradient, *variant.part.rules).expression == 0


def test_a_product_with_a_masked_loss_needs_the_moment_rules():
    part = find_claim("G7").parts[0]
    chain = part.derivation()
    assert "moments of the kept bits" in chain.steps[-1].rules
    with pytest.raises(DerivationError, match="must start at the definition"):
        replace(part, quantity=Quantity.TRAINED_MASKED_SLOPE).derivation()
