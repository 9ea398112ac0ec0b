"""Every claim derives from the definition to its statement, with no step, rule or hypothesis to spare.

Mistakes are generated: in statements from their SymPy tree, in derivations by dropping or falsifying each step.
Whether a changed statement is wrong is decided by loops over fractions, never by the calculus.
"""

import contextlib
from dataclasses import dataclass, replace
from itertools import product

import pytest
import sympy as sp

from tests.theory.brute_force import fixed_names, placements, setting_model, value, with_kept_bits, witnessed
from tests.theory.derived_lemmas import forget
from tests.theory.mutants import mutants
from theory import claims, find_claim, lemmas
from theory.claim import Constraint, MaskKind, Part, PoolingKind, Quantity, Setting
from theory.curves import CurveEntry, alpha
from theory.derivation import Derivation, DerivationError, Lemma, Move
from theory.general import true_value
from theory.hypotheses import zero_column_sums, zero_row_sums
from theory.objectives import SCORE_PATH
from theory.objects import DEFINED, PRIMITIVES, loss_gradient, pattern, tokens
from theory.printing import text, tidy
from theory.sums import Entry, Expectation, Index, delta, length, residue, total

PARTS: dict[str, Part] = {f"{claim.id}: {part.label}": part for claim in claims() for part in claim.parts}
FALSE: dict[str, Part] = {f"{claim.id}: {v.id}": v.part for claim in claims() for v in claim.false_variants}


def every_part(parts=PARTS):
    return pytest.mark.parametrize("part", parts.values(), ids=parts.keys())


# --- from the definition to the statement ----------------------------------------------------------------------------


@every_part()
def test_a_derivation_ends_exactly_at_the_statement(part):
    chain = part.derivation()
    assert chain.expression == tidy(part.statement)
    assert len(chain.steps) >= 2
    assert chain.steps[0].move is Move.DEFINITION


FIRST_LINES = {
    Quantity.ATTENTION_SLOPE: "exp(α·Δ[i,j])·m[i,j]/(Σ_{k} exp(α·Δ[i,k])·m[i,k])",
    Quantity.POOLED_SLOPE: "Σ_{i} o[i,c](α)·ω[i]",
    Quantity.POOLED_CURVATURE: "Σ_{i} o[i,c](α)·ω[i]",
    Quantity.SUPERVISED_CURVATURE: "E[ℓ(h(α),Y)]",
    Quantity.TOKEN_INFLUENCE: "Σ_{i} ω[i]·Δ̄[i,j]/n[i]",
    Quantity.SUPERVISED_SLOPE: "E[ℓ(h(α),Y)]",
    Quantity.SUPERVISED_GRADIENT: "E[ℓ(h(α),Y)]",
    Quantity.RECONSTRUCTION_SLOPE: "(1/(2·L))·Σ_{i} E[Σ_{c} (X[i,c] − o[i,c](α))²]",
    Quantity.RECONSTRUCTION_GRADIENT: "(1/(2·L))·Σ_{i} E[Σ_{c} (X[i,c] − o[i,c](α))²]",
    Quantity.SUPERVISED_SLOPE_ANYWHERE: "E[ℓ(h(α),Y)]",
    Quantity.MASKED_SLOPE: "(1/(2·L·ρ))·Σ_{i} E[Σ_{c} (X[i,c] − õ[i,c](α))²·(1 − r[i])]",
    Quantity.QUERY_KEY_SUPERVISED: "E[ℓ(hM(α),Y)]",
    Quantity.QUERY_KEY_RECONSTRUCTION: "(1/(2·L))·Σ_{i} E[Σ_{c} (X[i,c] − oM[i,c](α))²]",
    Quantity.READOUT_SLOPE: "E[ℓ(hf(α),Y)]",
    Quantity.RESIDUAL_READOUT_SLOPE: "E[ℓ(hrf(α),Y)]",
    Quantity.TWO_LAYER_SLOPE: "E[ℓ(h2(α),Y)]",
}
NO_FIRST_LINE = {Quantity.ALGEBRAIC, Quantity.GRADIENT_PRODUCT, Quantity.TRAINED_MASKED_SLOPE}


def test_every_quantity_has_a_first_line_or_a_reason_for_none():
    assert {*Quantity} - FIRST_LINES.keys() == NO_FIRST_LINE


@every_part()
def test_a_derivation_starts_at_the_definition(part):
    chain = part.derivation()
    first = text(chain.steps[0].expression)
    if part.quantity in FIRST_LINES:
        assert first == FIRST_LINES[part.quantity]
        slopes = part.quantity is not Quantity.TOKEN_INFLUENCE
        curvature = part.quantity in (Quantity.POOLED_CURVATURE, Quantity.SUPERVISED_CURVATURE)
        at_zero = slopes and part.quantity is not Quantity.SUPERVISED_SLOPE_ANYWHERE
        assert [s.move for s in chain.steps].count(Move.DIFFERENTIATE) == int(slopes) + int(curvature)
        assert [s.move for s in chain.steps].count(Move.AT_ZERO) == int(at_zero)
    elif part.quantity is Quantity.ALGEBRAIC:
        assert chain.steps[0].expression == tidy(part.left)
    else:
        assert part.quantity is Quantity.GRADIENT_PRODUCT


@pytest.mark.parametrize("lemma", lemmas(), ids=lambda lemma: lemma.id)
def test_a_lemma_is_proved_from_the_definition_of_its_left_side(lemma):
    moves = [step.move for step in lemma.derivation.steps]
    left = lemma.left
    assert lemma.derivation.steps[0].expression == tidy(left.curve(*left.indices).unfold())
    assert moves.count(Move.DIFFERENTIATE) == left.order
    assert moves.count(Move.AT_ZERO) == int(left.at == 0)
    assert left.at in (0, alpha)
    assert lemma.right == 0 or lemma.right.free_symbols & {*left.indices} == {*left.indices}


def test_a_part_cannot_carry_the_derivation_of_another_quantity():
    slope, other = find_claim("P1").parts
    for wrong in (
        replace(slope, quantity=Quantity.SUPERVISED_CURVATURE),
        replace(slope, quantity=Quantity.ALGEBRAIC, left=pattern[zero_column_sums.expression.limits[0][0], _j()]),
        replace(slope, derive=lambda part: Derivation(sp.S.Zero)),
        replace(other, derive=lambda part: Derivation(part.statement)),
        replace(other, quantity=Quantity.RECONSTRUCTION_GRADIENT),
    ):
        with pytest.raises(DerivationError, match="must start at the definition"):
            wrong.derivation()


def _j():
    return zero_column_sums.free[0]


def test_a_statement_line_is_not_written_into_a_shared_lemma():
    part = find_claim("G1").parts[0]
    before = len(part.derive(part).steps)
    i, k = part.free[0], Index("k", part.free[0].range)
    longer = replace(part, statement=part.statement * total(delta(i, k), k))
    assert len(longer.derivation().steps) == before + 1
    assert len(part.derive(part).steps) == before


@every_part(FALSE)
def test_a_false_variant_has_no_derivation(part):
    with pytest.raises(ValueError, match=r"."):
        part.derivation()


def test_identifiers_and_labels_are_unique_and_every_dependency_is_known():
    known = [claim.id for claim in claims()] + [lemma.id for lemma in lemmas()]
    assert len(set(known)) == len(known)
    for claim in claims():
        assert set(claim.depends_on) <= set(known)
        assert len({part.label for part in claim.parts}) == len(claim.parts)
        assert len({v.id for v in claim.false_variants}) == len(claim.false_variants) >= 1
        assert claim.assumptions
        assert all(v.routes for v in claim.false_variants)
    for lemma in lemmas():
        assert set(lemma.depends_on) == set(lemma.derivation.cited)


def test_claims_come_before_what_rests_on_them():
    """Dependencies form no circle."""
    rests_on = {claim.id: set(claim.depends_on) for claim in claims()}
    rests_on |= {lemma.id: set(lemma.depends_on) for lemma in lemmas()}
    while rests_on:
        ready = {name for name, needs in rests_on.items() if not needs & rests_on.keys()}
        assert ready, rests_on
        rests_on = {name: needs for name, needs in rests_on.items() if name not in ready}


def test_names_of_tensors_are_unique():
    """SymPy's caches may swap symbols that are equal."""
    names = [(t.name, tuple(r.name for r in t.ranges)) for t in (*PRIMITIVES, *DEFINED)]
    assert len(set(names)) == len(names)


def test_an_unknown_claim_is_named_with_the_known_ones():
    with pytest.raises(KeyError, match=r"P9.*P1-diag"):
        find_claim("P9")


# --- mutated statements ----------------------------------------------------------------------------------------------

SEEDS = (1, 2)


def instances(part, seeds=SEEDS, token_count=4):
    models = [setting_model(part.setting, part.hypotheses, seed, token_count) for seed in seeds]
    return [witnessed(model, part.witness) for model in models]


def line_instances(part):
    """One instance for the lines of a derivation: before its end a masked loss speaks of the bits themselves."""
    masked = part.quantity is Quantity.MASKED_SLOPE
    (model,) = instances(part, SEEDS[:1], token_count=3 if masked else 4)
    return [with_kept_bits(model) if masked else model]


def _true(part):
    """The left side: for most quantities the value that G1's derivations give it, before any specialisation."""
    if part.quantity is Quantity.ALGEBRAIC:
        return part.left
    if part.quantity is Quantity.SUPERVISED_SLOPE_ANYWHERE:
        return _moved_from_the_mean_token()
    return true_value(part.quantity)


def _moved_from_the_mean_token():
    """E[g·(h(α) − x̄)], h from the definition; where it vanishes for every exponential, h(α) does not move."""
    c, j = loss_gradient.formal_indices()[0], tokens.formal_indices()[0]
    moved = unfolded(SCORE_PATH.pooled(c)) - total(tokens[j, c], j) / length
    return Expectation(total(loss_gradient[c] * moved, c))


def unfolded(expression):
    """The expression with every curve replaced by its definition."""
    if isinstance(expression, CurveEntry):
        return unfolded(expression.unfold())
    if isinstance(expression, (Entry, Index)) or not expression.args:
        return expression
    return expression.func(*(unfolded(a) for a in expression.args))


def differ(left, right, part, models):
    """Whether two expressions differ at some instance; outside expectations entries are those of sample 0."""
    for model in models:
        for names in placements(list(part.free), model):
            names |= fixed_names(model)
            if value(left, model, names, 0) != value(right, model, names, 0):
                return True
    return False


@every_part()
def test_mutated_statements_are_refused(part):
    models = instances(part)
    refused = 0
    for kind, mutant in mutants(part.statement):
        if any(v not in part.free and v.name != "κ" for v in mutant.free_symbols if isinstance(v, Index)):
            continue
        with contextlib.suppress(ZeroDivisionError):
            if not differ(mutant, part.statement, part, models):
                continue
            with pytest.raises(ValueError, match=r"."):
                replace(part, statement=mutant).derivation()
            refused += 1
            assert kind
    assert refused >= (0 if part.statement == 0 else 1)


ZERO_PARTS = {name: part for name, part in PARTS.items() if part.statement == 0}


@every_part(ZERO_PARTS)
def test_what_is_not_zero_is_not_derived_to_be_zero(part):
    """The terms of a line that vanishes as a whole, one at a time and with another sign, are not zero."""
    line = part.derivation().steps[-2].expression
    models = instances(part)
    checked = 0
    for _, mutant in mutants(line):
        if not differ(mutant, sp.S.Zero, part, models):
            continue
        with pytest.raises(ValueError, match=r"."):
            Derivation(mutant).rewrite(sp.S.Zero, *part.rules)
        checked += 1
    assert checked or isinstance(line, Entry) or residue(line, sp.S.Zero).is_zero


@every_part()
def test_the_statement_has_the_value_of_the_general_formula(part):
    """Independent of every derivation but that of G1: both sides by loops, at instances of setting and hypotheses."""
    assert not differ(_true(part), part.statement, part, instances(part))


#: With W_Q = 0 nothing moves under any mask and pooling.
TRUE_EVERYWHERE = {"N5: labels in W_K", "N5: reconstruction in W_K", "N5: both weights zero"}


@every_part()
def test_a_part_in_another_setting_is_refused_where_it_is_false(part):
    checked = 0
    for mask, pooling in product(MaskKind, PoolingKind):
        other = replace(part, setting=Setting(mask, pooling))
        if not differ(_true(other), other.statement, other, instances(other, SEEDS[:1], token_count=3)):
            continue
        with pytest.raises(ValueError, match=r"."):
            other.derivation()
        checked += 1
    exact = part.setting == Setting() or part.quantity is Quantity.ALGEBRAIC
    assert checked or exact or part in [PARTS[name] for name in TRUE_EVERYWHERE]


@every_part({name: part for name, part in PARTS.items() if part.hypotheses or part.witness})
def test_no_hypothesis_and_no_witness_law_can_be_dropped_or_exchanged(part):
    changed = [replace(part, hypotheses=(zero_row_sums,))] if part.hypotheses else []
    changed += [
        replace(part, hypotheses=part.hypotheses[:n] + part.hypotheses[n + 1 :]) for n in range(len(part.hypotheses))
    ]
    changed += [replace(part, witness={t: w for t, w in part.witness.items() if t != gone}) for gone in part.witness]
    for other in changed:
        assert differ(_true(other), other.statement, other, instances(other))
        with pytest.raises(ValueError, match=r"."):
            other.derivation()


# --- dropped and falsified steps -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """One call that appended a step."""

    method: str
    arguments: tuple
    options: dict

    def on(self, chain):
        return getattr(chain, self.method)(*self.arguments, **self.options)


_METHODS = ("differentiate", "at_zero", "cite", "rewrite", "coefficient")


@pytest.fixture(scope="module")
def recorded():
    """For every part and lemma: the first line of its chain and the calls that made the others."""
    with pytest.MonkeyPatch.context() as patch:
        for method in _METHODS:
            patch.setattr(Derivation, method, _recording(method))
        forget()
        chains = {f"lemma {lemma.id}": lemma.derivation for lemma in lemmas()}
        chains |= {name: part.derivation() for name, part in PARTS.items()}
        made = {name: (chain.start, list(chain.calls)) for name, chain in chains.items() if hasattr(chain, "calls")}
    forget()
    return made


def _recording(method):
    original = getattr(Derivation, method)

    def recording(self, *arguments, **options):
        result = original(self, *arguments, **options)
        self.calls = [*getattr(self, "calls", []), Call(method, arguments, options)]
        return result

    return recording


def rebuilt(start, calls):
    chain = Derivation(start)
    for call in calls:
        call.on(chain)
    return chain


def lines(chain):
    return [step.expression for step in chain.steps]


NAMES = [f"lemma {lemma.id}" for lemma in lemmas()] + [*PARTS]


#: Rules of a setting that fire where the statement would hold without it: with W_Q = 0 under any mask and pooling, and
#: behind two layers for any pooling, as long as the columns of Δ̄ vanish.
NOT_NEEDED = {
    "G6: two linear layers": {"mean pooling"},
    "N5: labels in W_K": {"full mask", "mean pooling"},
    "N5: reconstruction in W_K": {"full mask"},
    "N5: both weights zero": {"full mask"},
}


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_that_a_step_names_is_needed(name, recorded):
    start, calls = recorded[name]
    chain = Derivation(start)
    for call in calls:
        if call.method in ("rewrite", "coefficient"):
            place = 1 if call.method == "rewrite" else 3
            rules = call.arguments[place:]
            before = list(chain.steps)
            call.on(chain)
            named = chain.steps[-1].rules
            assert set(named) <= {rule.name for rule in rules}
            for needed in {*named} - NOT_NEEDED.get(name, set()):
                fewer = replace(call, arguments=(*call.arguments[:place], *(r for r in rules if r.name != needed)))
                again = Derivation(start)
                again.steps = list(before)
                with pytest.raises(ValueError, match=r"."):
                    fewer.on(again)
        else:
            call.on(chain)


@pytest.mark.parametrize("name", NAMES)
def test_a_dropped_step_is_noticed_or_not_needed(name, recorded):
    """Without one call the chain fails, or it still ends at the statement by steps that are checked all the same."""
    start, calls = recorded[name]
    end = rebuilt(start, calls).expression
    for n, dropped in enumerate(calls[:-1]):
        try:
            shorter = rebuilt(start, calls[:n] + calls[n + 1 :]).expression
        except ValueError:
            continue
        if dropped.method == "rewrite":
            assert shorter == end
        else:
            assert shorter != end, f"{dropped.method} is not needed"


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_lemma_is_noticed(name, recorded):
    start, calls = recorded[name]
    end = rebuilt(start, calls)
    for n, call in enumerate(calls):
        if call.method != "cite":
            continue
        for place, lemma in enumerate(call.arguments):
            for _, wrong in list(mutants(lemma.right))[:4]:
                # h' stands squared in a curvature: its sign is for the lemma's own derivation to get right.
                squared = name.startswith("G4: ") and lemma.id == "pooled-slope"
                if residue(wrong, lemma.right).is_zero or (squared and residue(wrong, -lemma.right).is_zero):
                    continue
                false = Lemma(lemma.id, lemma.title, lemma.left, Derivation(wrong))
                changed = replace(call, arguments=(*call.arguments[:place], false, *call.arguments[place + 1 :]))
                try:
                    chain = rebuilt(start, [*calls[:n], changed, *calls[n + 1 :]])
                except ValueError:
                    continue
                assert chain.expression != end.expression


@pytest.mark.parametrize("name", PARTS)
def test_a_wrong_line_in_the_middle_is_noticed(name, recorded):
    start, calls = recorded[name]
    part = PARTS[name]
    for n, call in enumerate(calls):
        if call.method != "rewrite":
            continue
        before = rebuilt(start, calls[:n])
        models = line_instances(part)
        for _, wrong in list(mutants(call.arguments[0]))[:5]:
            free = {s for s in wrong.free_symbols if isinstance(s, Index)} - {*part.free}
            if free or not differ(wrong, call.arguments[0], part, models):
                continue
            changed = replace(call, arguments=(wrong, *call.arguments[1:]))
            with pytest.raises(ValueError, match=r"."):
                changed.on(before)


def test_the_recorder_saw_every_step(recorded):
    assert recorded.keys() == set(NAMES)
    for name, (start, calls) in recorded.items():
        assert calls, name
        assert rebuilt(start, calls).expression.free_symbols is not None
    calls = [call.method for _, made in recorded.values() for call in made]
    assert {*_METHODS} == {*calls}


def test_constraints_are_linear_in_the_pattern():
    for claim in claims():
        for hypothesis in claim.hypotheses:
            assert isinstance(hypothesis, Constraint)
            assert {s for s in hypothesis.expression.free_symbols if isinstance(s, Index)} <= {*hypothesis.free}
            zero = setting_model(Setting(), (), 1, 3).with_entries(**{"Δ": lambda place, sample=None: 0})
            for names in placements(list(hypothesis.free), zero):
                assert value(hypothesis.expression, zero, names) == 0


def test_hypotheses_of_a_claim_are_listed_once():
    for claim in claims():
        held = [h for part in claim.parts for h in part.hypotheses]
        assert list(claim.hypotheses) == list(dict.fromkeys(held))
    assert isinstance(find_claim("P1").parts[0], Part)
