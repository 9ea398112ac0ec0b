"""Every mistake in a rule, definition, lemma, hypothesis or derivation step is found, by a named claim and grade.

Each fault is generated from the tree of the right side or definition that it falsifies, planted into the running
modules, and the verifier's grades are run until one raises the alarm.  ``SABOTAGE_ALL=1`` plants all of them.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import reload

import numpy as np
import pytest
import sympy as sp

from numerics.instances import random_instance
from numerics.rings import Rationals
from numerics.routes.replay import replay, residue_instance
from numerics.verify.describe import describe_lemma
from numerics.verify.grades import run_grade
from numerics.verify.plan import Plan
from numerics.verify.records import Grade, Status, Verdict
from numerics.verify.report_terminal import overall_verdict
from tests.sabotage.mistakes import chosen, exactly_equal, is_mistake, mistakes, parts, provably_equal
from tests.sabotage.planting import SMALL, alarms, everywhere, forged, in_place, only, with_steps
from tests.theory.derived_lemmas import forget
from tests.theory.reach import reachable
from theory import claim as claim_module
from theory import claims, find_claim, lemmas, masking, objectives, objects, query_key, softmax
from theory import identities as identities_module
from theory.claim import OBJECTIVES as ORIGINS
from theory.claim import Claim, MaskKind, Part, PoolingKind, Quantity, Setting
from theory.claims import global_blindness as g
from theory.claims import query_key as query_key_claims
from theory.composition import READOUT, TWO_LAYERS
from theory.derivation import Derivation, DerivationError, Lemma, Move, Step
from theory.general import true_value
from theory.geometry import RING, TORUS, OffsetTable
from theory.masking import masked_output, masked_reconstruction
from theory.printing import text, tidy
from theory.query_key import QUERY_KEY_PATH
from theory.sums import Entry, Index, Rule, Tensor, substitute

#: Cheap claims first: the first alarm ends the work.
CLAIMS = sorted(claims(), key=lambda claim: ("G1", "G2", claim.id).index(claim.id))
EXACT = (Grade.DERIVED, Grade.REPLAYED, Grade.ENCLOSED)
_ANY = Part("any", Quantity.ALGEBRAIC, sp.S.Zero, lambda part: Derivation(part.statement), Setting())


@pytest.fixture(autouse=True)
def fresh_lemmas() -> Iterator[None]:
    """Lemmas are derived once a process: a planted fault must neither meet nor leave derived ones."""
    forget()
    yield
    forget()


def _speaks_of(expression: sp.Expr, free: tuple[Index, ...]) -> bool:
    return {s for s in expression.free_symbols if isinstance(s, Index)} <= {*free, claim_module.cls_position}


def _general(free: tuple[Index, ...], statement: sp.Expr, setting: Setting = _ANY.setting) -> Part:
    return replace(_ANY, free=free, statement=statement, setting=setting)


def _first_alarm(grades=EXACT, among=CLAIMS):
    return next(alarms(among, grades, SMALL), None)


# --- definitions -----------------------------------------------------------------------------------------------------


def _definition_faults():
    for tensor in objects.DEFINED:
        formal = tensor.formal_indices()
        part = _general(formal, tensor[formal].unfold())
        for kind, changed in mistakes(part.statement):
            if _speaks_of(changed, formal):
                yield tensor, part, changed, f"{tensor.name}: {kind}"


DEFINITIONS = chosen(list(_definition_faults()), 12)


@pytest.mark.parametrize(
    ("tensor", "part", "changed"), [f[:3] for f in DEFINITIONS], ids=[f"{f[3]} {n}" for n, f in enumerate(DEFINITIONS)]
)
def test_a_wrong_definition_of_an_object_is_found(tensor, part, changed, monkeypatch):
    if not is_mistake(part, changed):
        pytest.skip("equal to the definition, by loops over fractions and by the normal form")
    formal = tensor.formal_indices()
    monkeypatch.setattr(tensor, "definition", lambda *at: substitute(changed, dict(zip(formal, at, strict=True))))
    found = _first_alarm()
    assert found is not None
    assert found.claim in {claim.id for claim in claims()}


#: Objects of the newer claims, and the claim that rests on each.
NEWER = {
    "T": "Q1", "T̄": "Q2", "x̄": "Q1", "Σ̂": "Q2", "R": "Q3", "PPᵀ": "Q3", "φ_ring": "N2", "exp_ring": "G5",
    "Z_ring": "G5", "φ_torus": "G5", "‖ω‖²": "N3", "Q": "N3",
}  # fmt: skip


#: Changed formulas that are no mistake of any statement, by name; each is proved below, not believed.
SAME_OBJECT = {
    "R: transposed indices 0": "δ[j,i] = δ[i,j]",
    "R: transposed indices 1": "C[j,i] = C[i,j], for C[i,j] = E[X[i]·X[j]]",
    "R: transposed indices 2": "δ[k,i] = δ[i,k]",
    "R: transposed indices 3": "δ[k,j] = δ[j,k]",
    "R: transposed indices 4": "C[j,k] = C[k,j]",
    "R: sign 15": "(ρ − 1)² = (1 − ρ)²",
    "Σ̂: transposed indices 0": "J[k,j] = J[j,k]",
}
#: K stands twice in its one statement, K·JCJ·K, which is true of −K too (proved below).  That K itself is PPᵀ is held
#: against arrays in ``tests/numerics/test_newer_objects.py``.
EVEN = {"PPᵀ: sign 0", "PPᵀ: sign 1"}


def _every_newer_fault() -> Iterator[tuple[Tensor, sp.Expr, str]]:
    for tensor in reachable()[0]:
        if tensor.name in NEWER and tensor.definition is not None:
            formal, kinds = tensor.formal_indices(), Counter[str]()
            for kind, changed in mistakes(tensor.definition(*formal)):
                if _speaks_of(changed, formal):
                    yield tensor, changed, f"{tensor.name}: {kind} {kinds[kind]}"
                    kinds[kind] += 1


EVERY_NEWER_FAULT = {label: (tensor, changed) for tensor, changed, label in _every_newer_fault()}
NEWER_FAULTS = [
    (*EVERY_NEWER_FAULT[label], label)
    for name in NEWER
    for label in chosen(
        [n for n, (t, _) in EVERY_NEWER_FAULT.items() if t.name == name and n not in {*SAME_OBJECT, *EVEN}],
        1, seed=len(name),
    )
]  # fmt: skip


def test_every_newer_object_is_sabotaged():
    assert {tensor.name for tensor, _, _ in NEWER_FAULTS} == NEWER.keys()


@pytest.mark.parametrize(("tensor", "changed"), [f[:2] for f in NEWER_FAULTS], ids=[f[2] for f in NEWER_FAULTS])
def test_a_wrong_definition_of_a_newer_object_is_found_by_the_claim_that_rests_on_it(tensor, changed, monkeypatch):
    formal = tensor.formal_indices()
    claim = find_claim(NEWER[tensor.name])
    monkeypatch.setattr(tensor, "definition", lambda *at: substitute(changed, dict(zip(formal, at, strict=True))))
    short = replace(claim, false_variants=claim.false_variants[:1])
    grades = [g for g in (*EXACT, Grade.SAMPLED, Grade.REFUTED) if g.value not in claim.exempt]
    # Objects that a claim names only in its lemmas are found by the lemmas' own replay, which fails the whole run too.
    assert _first_alarm(grades, [short]) is not None or _a_cited_lemma_fails(claim)


def _a_cited_lemma_fails(claim: Claim) -> bool:
    """By its replay, or because it cannot even be derived."""
    try:
        return any(describe_lemma(c)["status"] == "failed" for c in lemmas() if c.id in claim.depends_on)
    except DerivationError:
        return True


@pytest.mark.parametrize("label", SAME_OBJECT)
def test_a_changed_formula_that_is_left_out_denotes_the_same_object(label):
    """By the normal form, for symbolic L, and by loops over fractions."""
    tensor, changed = EVERY_NEWER_FAULT[label]
    formal = tensor.formal_indices()
    assert not is_mistake(_general(formal, tensor[formal].unfold()), changed)


@pytest.mark.parametrize("label", sorted(EVEN))
def test_a_sign_that_is_left_out_cancels_in_the_one_statement_that_names_the_object(label):
    tensor, changed = EVERY_NEWER_FAULT[label]
    formal = tensor.formal_indices()
    assert provably_equal(changed, -tensor[formal].unfold(), _general(formal, changed))
    stated = [(c, p) for c in claims() for p in (*c.parts, *(v.part for v in c.false_variants))]
    ((claim, part),) = [(c, p) for c, p in stated if (p.statement + (p.left or 0)).has(tensor)]
    assert claim.id == NEWER[tensor.name]
    named = [n for n in sp.preorder_traversal(part.statement) if isinstance(n, Entry) and n.tensor == tensor]
    assert len(named) == 2
    flipped = part.statement.replace(lambda n: isinstance(n, Entry) and n.tensor == tensor, lambda n: -n)
    assert provably_equal(flipped, part.statement, part)


#: Curves and, for those that need matrices of their own, the quantity whose instances have them.
CURVES = {
    objectives.attention: Quantity.ALGEBRAIC, objectives.output: Quantity.ALGEBRAIC,
    objectives.pooled: Quantity.ALGEBRAIC, masked_output: Quantity.MASKED_SLOPE,
    QUERY_KEY_PATH.attention: Quantity.QUERY_KEY_SUPERVISED, QUERY_KEY_PATH.output: Quantity.QUERY_KEY_SUPERVISED,
    QUERY_KEY_PATH.pooled: Quantity.QUERY_KEY_SUPERVISED, READOUT.pooled: Quantity.READOUT_SLOPE,
    TWO_LAYERS.second: Quantity.TWO_LAYER_SLOPE,
    TWO_LAYERS.pooled: Quantity.TWO_LAYER_SLOPE,
}  # fmt: skip
_SUSPECTS = {
    Quantity.MASKED_SLOPE: "G7", Quantity.QUERY_KEY_SUPERVISED: "Q1", Quantity.READOUT_SLOPE: "G6",
    Quantity.TWO_LAYER_SLOPE: "G6", Quantity.QUERY_KEY_RECONSTRUCTION: "Q2",
}  # fmt: skip


def _series_differ(
    left: sp.Expr, right: sp.Expr, free: tuple[Index, ...], quantity: Quantity = Quantity.ALGEBRAIC
) -> bool:
    """Whether two functions of α differ in their first three coefficients, exactly."""
    rng = np.random.default_rng(5)
    for count in (2, 3, 3):
        instance = random_instance(replace(_ANY, quantity=quantity), count, 2, 2, rng)
        series = [instance.environment(Rationals(), 3).series(side, free) for side in (left, right)]
        for first, second in zip(*series, strict=True):
            if first.shape != second.shape or (first != second).any():
                return True
    return False


def _curve_faults():
    for curve, quantity in CURVES.items():
        formal = _letters(curve)
        for kind, changed in mistakes(curve(*formal).unfold()):
            if _speaks_of(changed, formal) and not any(
                isinstance(n, sp.exp) and not n.args[0].has(objectives.alpha) for n in sp.preorder_traversal(changed)
            ):
                yield curve, formal, changed, f"{curve.name}: {kind}", quantity


def _letters(curve) -> tuple[Index, ...]:
    letters = {r.name: iter(n) for r, n in ((objectives.POSITIONS, "ij"), (objectives.FEATURES, "ce"))}
    return tuple(Index(next(letters[r.name]), r) for r in curve.ranges)


_ALL_CURVE_FAULTS = list(_curve_faults())
CURVE_FAULTS = chosen([f for f in _ALL_CURVE_FAULTS if f[4] is Quantity.ALGEBRAIC], 10)
CURVE_FAULTS += [
    f for curve, q in CURVES.items() if q is not Quantity.ALGEBRAIC
    for f in chosen([f for f in _ALL_CURVE_FAULTS if f[0] == curve], 2, seed=len(curve.name))
]  # fmt: skip


@pytest.mark.parametrize(
    ("curve", "formal", "changed", "quantity"),
    [(*f[:3], f[4]) for f in CURVE_FAULTS],
    ids=[f"{f[3]} {n}" for n, f in enumerate(CURVE_FAULTS)],
)
def test_a_wrong_definition_along_the_path_is_found(curve, formal, changed, quantity, monkeypatch):
    if not _series_differ(curve(*formal).unfold(), changed, formal, quantity):
        pytest.skip("equal as a power series")
    monkeypatch.setattr(curve, "definition", lambda *at: substitute(changed, dict(zip(formal, at, strict=True))))
    if quantity is Quantity.ALGEBRAIC:
        assert _first_alarm() is not None
    else:
        assert _first_alarm((*EXACT, Grade.REFUTED), [find_claim(_SUSPECTS[quantity])]) is not None


OBJECTIVES = [
    (make, kind, changed)
    for make in (objectives.supervised, objectives.reconstruction)
    for kind, changed in mistakes(make())
    if _speaks_of(changed, ())
]


@pytest.mark.parametrize(("make", "kind", "changed"), OBJECTIVES, ids=[f"{m.__name__}: {k}" for m, k, _ in OBJECTIVES])
def test_a_wrong_objective_is_found(make, kind, changed, monkeypatch):
    if not _series_differ(make(), changed, ()):
        pytest.skip("equal as a power series")
    assert everywhere(monkeypatch, make, lambda: changed)
    found = _first_alarm()
    assert found is not None, kind


NEWER_OBJECTIVES = [
    (quantity, kind, changed)
    for quantity in (*_SUSPECTS,)
    for kind, changed in chosen([c for c in mistakes(ORIGINS[quantity]()) if _speaks_of(c[1], ())], 3)
    if quantity
    is not Quantity.RESIDUAL_READOUT_SLOPE  # the path of a false variant: nothing that is claimed rests on it
]


@pytest.mark.parametrize(
    ("quantity", "changed"),
    [(q, changed) for q, _, changed in NEWER_OBJECTIVES],
    ids=[f"{q}: {kind}" for q, kind, _ in NEWER_OBJECTIVES],
)
def test_a_wrong_newer_objective_is_found(quantity, changed, monkeypatch):
    """Where a part starts: the table of objectives says it, whatever the derivation does."""
    true = ORIGINS[quantity]()
    if not _series_differ(true, changed, (), quantity):
        pytest.skip("equal as a power series")
    monkeypatch.setitem(ORIGINS, quantity, lambda: changed)
    claim = find_claim(_SUSPECTS[quantity])
    found = _first_alarm((Grade.DERIVED,), [claim])
    assert found is not None
    assert "must start at the definition" in found.summary


@pytest.mark.parametrize(
    "changed",
    [c for _, c in chosen([c for c in mistakes(masked_reconstruction()) if _speaks_of(c[1], ())], 4, seed=2)],
    ids=text,
)
def test_a_masked_objective_that_is_wrong_everywhere_is_found(changed, monkeypatch):
    """Table and derivation agree, and both are wrong."""
    if not _series_differ(masked_reconstruction(), changed, (), Quantity.MASKED_SLOPE):
        pytest.skip("equal as a power series")
    assert everywhere(monkeypatch, masked_reconstruction, lambda: changed) >= 2
    assert _first_alarm(EXACT, [find_claim("G7")]) is not None


# --- rules -----------------------------------------------------------------------------------------------------------

SETTINGS = [Setting(mask=kind) for kind in MaskKind] + [Setting(pooling=kind) for kind in PoolingKind]
SETTING_RULES = [(setting, number, rule) for setting in SETTINGS for number, rule in enumerate(setting.rules)]


def _rule_faults(rule: Rule):
    """The right side changed, and the right side of another size; the left side stands."""
    right = [*mistakes(rule.right)] if rule.right.args else []
    right += [("doubled", 2 * rule.right), ("one more", rule.right + 1), ("sign", -rule.right)]
    free = {s for s in rule.left.free_symbols if isinstance(s, Index)} | {claim_module.cls_position}
    seen = {rule.right}
    for kind, changed in right:
        if changed not in seen and {s for s in changed.free_symbols if isinstance(s, Index)} <= free:
            seen.add(changed)
            yield kind, Rule(rule.name, rule.left, changed)


def _as_tuple(rules: Rule | tuple[Rule, ...]) -> tuple[Rule, ...]:
    return rules if isinstance(rules, tuple) else (rules,)


SETTING_FAULTS = chosen(
    [(setting, number, wrong, kind) for setting, number, rule in SETTING_RULES for kind, wrong in _rule_faults(rule)],
    10,
)


def test_every_setting_that_has_rules_is_sabotaged():
    assert {str(s.mask if s.mask != "any" else s.pooling) for s, _, _ in SETTING_RULES} == {
        "full", "diagonal", "mean", "cls",
    }  # fmt: skip
    assert len(SETTING_FAULTS) >= 10


@pytest.mark.parametrize(
    ("setting", "number", "wrong"),
    [f[:3] for f in SETTING_FAULTS],
    ids=[f"{f[2].name} {text(f[2].left)}: {f[3]}" for f in SETTING_FAULTS],
)
def test_a_wrong_rule_of_a_mask_or_pooling_is_found(setting, number, wrong, monkeypatch):
    name = "_mask_rules" if setting.mask is not MaskKind.ANY else "_pooling_rules"
    kind = setting.mask if setting.mask is not MaskKind.ANY else setting.pooling
    true = getattr(claim_module, name)

    def rules(of):
        held = list(true(of))
        if of is kind:
            held[number] = wrong
        return tuple(held)

    monkeypatch.setattr(claim_module, name, rules)
    reload(identities_module)  # the catalogue holds rules that were made when it was imported
    try:
        found = _first_alarm((Grade.DERIVED,)) or _first_alarm((Grade.REFUTED,), [only(find_claim("G1"))])
    finally:
        monkeypatch.undo()
        reload(identities_module)
    assert found is not None
    assert found.status is Status.FAILED


def _setting_of(name: str) -> Setting:
    """The one setting of the claim whose module holds a rule; any, where it has several or none."""
    module = sys.modules[name.rpartition(".")[0]]
    if module is query_key:
        return query_key_claims.SETTING
    settings = {part.setting for part in module.CLAIM.parts} if hasattr(module, "CLAIM") else set()
    return settings.pop() if len(settings) == 1 else Setting()


def _module_rules() -> dict[int, tuple[str, Rule]]:
    found: dict[int, tuple[str, Rule]] = {}
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("theory") and module_name != "theory.identities":
            for name, held in vars(module).items():
                for item in held if isinstance(held, tuple) else (held,):
                    if isinstance(item, Rule):
                        found.setdefault(id(item), (f"{module_name}.{name}", item))
    return found


#: A wrong right side of these leaves every statement as it is: a gradient that is common to all tokens is not seen
#: along a blind pattern, however it is scaled.  ``tests/theory/test_named_rules`` holds them against loops.
UNSEEN = {"theory.composition.same_gradient"}
RESTING = {
    "theory.geometry": ("G3", "N4"), "theory.masking": ("G7",), "theory.query_key": ("Q1", "Q2"),
    "theory.claims.visible_directions": ("N3",), "theory.claims.two_gradients": ("G8",),
    "theory.softmax.inside_mask": ("G7",), "theory.softmax.row_sums_vanish": ("N5", "G6"),
}  # fmt: skip
MODULE_FAULTS = [
    (name, rule, wrong, kind)
    for name, rule in _module_rules().values()
    if name not in UNSEEN
    for kind, wrong in chosen(list(_rule_faults(rule)), 1)
]


@pytest.mark.parametrize(
    ("name", "rule", "wrong"),
    [f[:3] for f in MODULE_FAULTS],
    ids=[f"{f[0]} {f[1].name}: {f[3]} {n}" for n, f in enumerate(MODULE_FAULTS)],
)
def test_a_wrong_rule_of_a_module_is_found(name, rule, wrong):
    formal = tuple(sorted((s for s in rule.left.free_symbols if isinstance(s, Index)), key=str))
    if provably_equal(wrong.right, rule.right, _general(formal, rule.right, _setting_of(name))):
        pytest.skip("equal to the rule in the only setting in which it is used")
    among = [find_claim(c) for prefix, found in RESTING.items() if name.startswith(prefix) for c in found] or CLAIMS
    with in_place(rule, wrong):
        found = _first_alarm((Grade.DERIVED,), among) or _first_alarm((Grade.REFUTED,), [only(find_claim("G1"))])
    assert found is not None, name


def test_rules_of_the_newer_modules_are_sabotaged():
    assert {f[0] for f in MODULE_FAULTS} >= {"theory.masking.bit_moments", "theory.geometry.line_rules"}


#: In a softmax a common factor of all exponentials, or of the mask, cancels; and "two positions have one offset" as a
#: sum is used by no derivation.
CANCELS = {("softmax_rules", 0, "doubled"), ("mask_rule", 0, "doubled"), ("table_rules", 1, "doubled")}
CANCELS |= {("table_rules", 1, kind) for kind in ("one more", "sign")}
GROUP_RULES = [
    (name, number, kind, wrong)
    for name in ("table_rules", "softmax_rules", "mask_rule", "query_rule")
    for number, rule in enumerate(_as_tuple(getattr(RING, name)))
    for kind, wrong in chosen([f for f in _rule_faults(rule) if (name, number, f[0]) not in CANCELS], 1, seed=number)
]


@pytest.mark.parametrize(
    ("name", "number", "wrong"), [(n, k, w) for n, k, _, w in GROUP_RULES],
    ids=[f"{n} {k}: {kind}" for n, k, kind, _ in GROUP_RULES],
)  # fmt: skip
def test_a_wrong_rule_of_relative_positions_is_found(name, number, wrong, monkeypatch):
    held = getattr(OffsetTable, name)

    def rules(table: OffsetTable):
        true = held.fget(table)
        if table is not RING:
            return true
        return (*true[:number], wrong, *true[number + 1 :]) if isinstance(true, tuple) else wrong

    monkeypatch.setattr(OffsetTable, name, property(rules))
    assert _first_alarm((Grade.DERIVED, Grade.REPLAYED), [find_claim(c) for c in ("G5", "G3", "N2")]) is not None


# --- lemmas ----------------------------------------------------------------------------------------------------------

LEMMA_FAULTS = [
    (number, lemma.id, kind, changed)
    for number, lemma in enumerate(lemmas())
    for kind, changed in chosen(
        [c for c in mistakes(lemma.right) if _speaks_of(c[1], lemma.left.indices) and c[0] != "Σ v² for zero"],
        2 if number < len(softmax.LEMMAS) else 1,
    )
]


def _one_of(group: OffsetTable, wrong: Lemma, make, of: OffsetTable) -> Lemma:
    return wrong if of is group else make(of)


def _plant_lemma(monkeypatch, true: Lemma, wrong: Lemma) -> None:
    """Put a lemma in the place of another, whether a function makes it or an object keeps it."""
    for make in (m for module in (softmax, masking, query_key) for m in module.LEMMAS):
        if make().id == true.id:
            assert everywhere(monkeypatch, make, lambda: wrong)
            return
    for make in (g._attention_of_offset, g._output_of_offset, g._pooled_is_still):
        for group in (RING, TORUS):
            if make(group).id == true.id:
                assert everywhere(
                    monkeypatch, make, lambda of, make=make, group=group: wrong if of is group else make(of)
                )
                return
    name = next(n for n in ("second_slope", "pooled_slope") if getattr(TWO_LAYERS, n).id == true.id)
    monkeypatch.setattr(TWO_LAYERS, name, wrong)


@pytest.mark.parametrize(
    ("number", "identifier", "kind", "changed"), LEMMA_FAULTS, ids=[f"{f[1]}: {f[2]}" for f in LEMMA_FAULTS]
)
def test_a_wrong_lemma_is_found_by_the_claims_that_cite_it_and_by_its_own_replay(
    number, identifier, kind, changed, monkeypatch
):
    lemma = lemmas()[number]
    part = replace(_general(lemma.left.indices, lemma.right, lemma.setting or Setting()), hypotheses=lemma.hypotheses)
    claimed = replace(part, setting=query_key_claims.SETTING) if identifier.startswith("query-key") else part
    if provably_equal(changed, lemma.right, claimed):
        pytest.skip("equal to the lemma, or to it in the one setting in which it is cited")
    chain = lemma.derivation
    wrong = replace(lemma, derivation=with_steps(chain, [*chain.steps, Step(Move.REWRITE, tidy(changed), ("forged",))]))
    described = describe_lemma(wrong)
    assert described["status"] == "failed"
    assert overall_verdict({"claims": [{"verdict": "verified"}], "lemmas": [described]}) is Verdict.FAILED
    _plant_lemma(monkeypatch, lemma, wrong)
    forget_all_but(wrong)
    if identifier not in UNCITED and not identifier.endswith("-pooled"):
        claim = next((c for prefix, c in CITING.items() if identifier.startswith(prefix)), None)
        among = CLAIMS if claim is None else [find_claim(claim)]
        assert _first_alarm((Grade.DERIVED, Grade.REPLAYED), among) is not None, kind


#: No statement rests on those, one false variant does; a lemma that says 0 is watched by its own replay.
UNCITED = {"softmax-curvature", "output-curvature", "pooled-curvature"}
CITING = {"two-layer": "G6", "masked": "G7", "query-key-output": "Q2", "query-key": "Q1", "ring": "G5", "torus": "G5"}


def forget_all_but(planted: Lemma) -> None:
    """Derived lemmas are forgotten; the planted one stays in its place."""
    kept = [(name, held) for name, held in vars(TWO_LAYERS).items() if held is planted]
    forget()
    vars(TWO_LAYERS).update(kept)


# --- hypotheses ------------------------------------------------------------------------------------------------------

HYPOTHESES = [(claim, part, n) for claim, part in parts(claims()) for n in range(len(part.hypotheses))]


def _hypothesis_faults():
    for claim, part, number in HYPOTHESES:
        held = part.hypotheses[number]
        for kind, changed in mistakes(held.expression):
            if _speaks_of(changed, held.free):
                yield claim, part, number, changed, f"{claim.id}: {part.label}: {held.name}: {kind}"
        yield claim, part, number, None, f"{claim.id}: {part.label}: {held.name}: dropped"


HYPOTHESIS_FAULTS = chosen(list(_hypothesis_faults()), 8)


@pytest.mark.parametrize(
    ("claim", "part", "number", "changed"),
    [f[:4] for f in HYPOTHESIS_FAULTS],
    ids=[f"{f[4]} {n}" for n, f in enumerate(HYPOTHESIS_FAULTS)],
)
def test_a_wrong_hypothesis_is_found_where_the_statement_needs_it(claim, part, number, changed):
    held = [*part.hypotheses]
    if changed is None:
        del held[number]
    else:
        held[number] = replace(held[number], expression=changed, name="changed", rewriting=None)
    wrong = replace(part, hypotheses=tuple(held))
    left = part.left if part.quantity is Quantity.ALGEBRAIC else true_value(part.quantity)
    if exactly_equal(left, part.statement, wrong):
        pytest.skip("the statement holds under the changed hypothesis too")
    derived = run_grade(only(claim, wrong), Grade.DERIVED, SMALL)
    assert derived.status is Status.FAILED
    # Past the calculus: the right derivation under the wrong hypothesis.
    chain = part.derivation()
    past = only(claim, replace(wrong, derive=lambda _: with_steps(chain, list(chain.steps))))
    grades = (Grade.REPLAYED,) if part.quantity is Quantity.ALGEBRAIC else (*EXACT[1:], Grade.DIFFERENTIATED)
    for grade in grades:
        evidence = run_grade(past, grade, Plan(trials=4, instances=4, examples=10))
        assert evidence.status is Status.FAILED, (grade, evidence.summary)
        assert evidence.summary.startswith(part.label)


# --- steps -----------------------------------------------------------------------------------------------------------

CHAINS: dict[str, tuple[Claim, Part]] = {f"{claim.id}: {part.label}": (claim, part) for claim, part in parts(claims())}


def _replayed(chain: Derivation, part: Part, least: int):
    rng = np.random.default_rng(3)
    for trial in range(3):
        failure = replay(chain, part, residue_instance(part, least + trial, 1 + trial, 2, rng))
        if failure is not None:
            return failure
    return None


def _line_free(chain: Derivation, number: int, part: Part) -> tuple[Index, ...]:
    moves = [step.move for step in chain.steps]
    before = Move.COEFFICIENT in moves and number < moves.index(Move.COEFFICIENT)
    return () if before else part.free


def _lines_differ(part: Part, left: sp.Expr, right: sp.Expr, free: tuple[Index, ...], least: int) -> bool:
    """Exactly, over rationals, on instances of the part: in every coefficient that the line can carry."""
    rng = np.random.default_rng(9)
    for count, samples in ((least, 2), (least + 1, 1), (least + 2, 2), (least + 1, 3), (least, 1)):
        instance = random_instance(part, count, 2, samples, rng)
        environment = instance.environment(Rationals(), 3)
        try:
            sides = [environment.series(side, free) for side in (left, right)]
        except ZeroDivisionError:
            return True
        if any(a.shape != b.shape or (a != b).any() for a, b in zip(*sides, strict=True)):
            return True
    return False


#: Chains of which every line vanishes whatever stands in it: W_Q, the read-out or the differences of tokens are 0.
ZEROS = {name for name in CHAINS if name.startswith(("N5: ", "G6: two"))}


@pytest.mark.parametrize("name", CHAINS)
def test_a_falsified_line_is_found_by_the_replay_which_names_it(name):
    """Each line of a derivation is changed past the calculus; the replay points at it or at the line after."""
    claim, part = CHAINS[name]
    chain = part.derivation()
    tried = 0
    for number, step in chosen(list(enumerate(chain.steps))[1:], 4 if name in ZEROS else 2, seed=len(name)):
        free = _line_free(chain, number, part)
        cases = [c for c in mistakes(step.expression) if _speaks_of(c[1], free)]
        for kind, changed in chosen(cases, 1, seed=number):
            if not _lines_differ(part, step.expression, changed, free, claim.least_length):
                continue
            steps = [*chain.steps[:number], replace(step, expression=tidy(changed)), *chain.steps[number + 1 :]]
            tried += 1
            try:
                failure = _replayed(with_steps(chain, steps), part, claim.least_length)
            except ZeroDivisionError:
                continue  # the grade fails: the line has no value
            assert failure is not None, (number, kind, text(changed))
            assert failure.line in (number, number + 1)
    assert tried or name in ZEROS


def _given(chain: Derivation, _: Part) -> Derivation:
    return chain


@pytest.mark.parametrize("name", CHAINS)
def test_a_dropped_step_is_found_unless_its_lines_have_equal_values(name):
    """Steps that keep the value may be left out; a derivative, α = 0 or a coefficient may not."""
    claim, part = CHAINS[name]
    chain = part.derivation()
    for number, step in enumerate(chain.steps[:-1]):
        shorter = with_steps(chain, [*chain.steps[:number], *chain.steps[number + 1 :]])
        past = only(claim, replace(part, derive=partial(_given, shorter)))
        if number and step.move in (Move.REWRITE, Move.LEMMA):
            continue
        found = (run_grade(past, grade, SMALL) for grade in (Grade.DERIVED, Grade.REPLAYED))
        free = part.quantity is Quantity.GRADIENT_PRODUCT and number == 0
        assert free or any(e.status is Status.FAILED for e in found), (number, step.rule)


def test_a_lemma_that_proves_nothing_about_its_left_side_is_found_by_the_replay():
    """The calculus takes a cited lemma's word; the replay unfolds its left side instead."""
    claim = find_claim("G1")
    part = claim.parts[0]
    entry = objectives.attention(*part.free, at=0, order=1)
    statement = objects.pattern[part.free] / objects.key_count[part.free[0]]
    idle = Lemma("idle", "proves nothing", entry, Derivation(statement))

    def derive(_: Part) -> Derivation:
        chain = Derivation(objectives.attention(*part.free).unfold()).differentiate()
        steps = [*chain.steps, Step(Move.REWRITE, objectives.attention(*part.free, order=1), ("named",))]
        return with_steps(chain, steps).at_zero().cite(idle)

    wrong = only(claim, replace(part, statement=statement, derive=derive))
    assert run_grade(wrong, Grade.DERIVED, SMALL).status is Status.PASSED
    replayed = run_grade(wrong, Grade.REPLAYED, SMALL)
    assert replayed.status is Status.FAILED
    assert "lemma idle" in replayed.summary


def test_a_false_rule_in_a_derivation_is_found_by_the_replay_which_names_it():
    claim = find_claim("P1")
    part = claim.parts[1]
    i, j = (Index(n, objects.POSITIONS) for n in "ij")
    magic = Rule("magic", objects.second_moment[i, j], sp.S.Zero)

    def derive(of: Part) -> Derivation:
        return part.derive(part).rewrite(of.statement, magic)

    wrong = only(claim, replace(part, statement=sp.S.Zero, derive=derive))
    assert run_grade(wrong, Grade.DERIVED, SMALL).status is Status.PASSED
    replayed = run_grade(wrong, Grade.REPLAYED, SMALL)
    assert replayed.status is Status.FAILED
    assert "magic" in replayed.summary


def test_what_is_planted_alone_fails():
    """Without a planted error the same claims and grades pass: no alarm above is a false one."""
    some = chosen(CLAIMS, 6, seed=1)
    assert list(alarms([only(claim, *(forged(p, p.statement) for p in claim.parts)) for claim in some], EXACT)) == []
