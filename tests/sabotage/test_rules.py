"""Every mistake in a rule, definition, lemma, hypothesis or derivation step is found, by a named claim and grade.

Each fault is generated from the tree of the right side or definition that it falsifies, planted into the running
modules, and the verifier's grades are run until one raises the alarm.  ``SABOTAGE_ALL=1`` plants all of them.
"""

import sys
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
from tests.sabotage.planting import SMALL, alarms, everywhere, forged, only, with_steps
from theory import claim as claim_module
from theory import claims, find_claim, lemmas, objectives, objects
from theory import derivation as derivation_module
from theory import identities as identities_module
from theory.claim import Claim, MaskKind, Part, PoolingKind, Quantity, Setting
from theory.derivation import Derivation, Lemma, Move, Step
from theory.general import true_value
from theory.printing import text, tidy
from theory.softmax import LEMMAS
from theory.sums import Index, Rule, substitute

#: Cheap claims first: the first alarm ends the work.
CLAIMS = sorted(claims(), key=lambda claim: ("G1", "G2", claim.id).index(claim.id))
EXACT = (Grade.DERIVED, Grade.REPLAYED, Grade.ENCLOSED)
_ANY = Part("any", Quantity.ALGEBRAIC, sp.S.Zero, lambda part: Derivation(part.statement), Setting())


@pytest.fixture(autouse=True)
def fresh_lemmas() -> Iterator[None]:
    """Lemmas are derived once a process: a planted fault must neither meet nor leave derived ones."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    for make in LEMMAS:
        if hasattr(make, "cache_clear"):
            make.cache_clear()
    derivation_module._depends_on_pattern.cache_clear()


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


CURVES = (objectives.attention, objectives.output, objectives.pooled)


def _series_differ(left: sp.Expr, right: sp.Expr, free: tuple[Index, ...]) -> bool:
    """Whether two functions of α differ in their first three coefficients, exactly."""
    rng = np.random.default_rng(5)
    for count in (2, 3, 3):
        instance = random_instance(_ANY, count, 2, 2, rng)
        series = [instance.environment(Rationals(), 3).series(side, free) for side in (left, right)]
        for first, second in zip(*series, strict=True):
            if first.shape != second.shape or (first != second).any():
                return True
    return False


def _curve_faults():
    for curve in CURVES:
        formal = _letters(curve)
        for kind, changed in mistakes(curve(*formal).unfold()):
            if _speaks_of(changed, formal) and not any(
                isinstance(n, sp.exp) and not n.args[0].has(objectives.alpha) for n in sp.preorder_traversal(changed)
            ):
                yield curve, formal, changed, f"{curve.name}: {kind}"


def _letters(curve) -> tuple[Index, ...]:
    letters = {r.name: iter(n) for r, n in ((objectives.POSITIONS, "ij"), (objectives.FEATURES, "ce"))}
    return tuple(Index(next(letters[r.name]), r) for r in curve.ranges)


CURVE_FAULTS = chosen(list(_curve_faults()), 10)


@pytest.mark.parametrize(
    ("curve", "formal", "changed"),
    [f[:3] for f in CURVE_FAULTS],
    ids=[f"{f[3]} {n}" for n, f in enumerate(CURVE_FAULTS)],
)
def test_a_wrong_definition_along_the_path_is_found(curve, formal, changed, monkeypatch):
    if not _series_differ(curve(*formal).unfold(), changed, formal):
        pytest.skip("equal as a power series")
    monkeypatch.setattr(curve, "definition", lambda *at: substitute(changed, dict(zip(formal, at, strict=True))))
    assert _first_alarm() is not None


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


#: Stated and tested, cited by no derivation of a claim: nothing rests on them.
UNUSED = {"theory.softmax.inside_mask", "theory.softmax.row_sums_vanish"}
MODULE_FAULTS = [
    (name, rule, wrong, kind)
    for name, rule in _module_rules().values()
    if name not in UNUSED
    for kind, wrong in chosen(list(_rule_faults(rule)), 1)
]


@pytest.mark.parametrize(
    ("name", "rule", "wrong"),
    [f[:3] for f in MODULE_FAULTS],
    ids=[f"{f[0]} {f[1].name}: {f[3]} {n}" for n, f in enumerate(MODULE_FAULTS)],
)
def test_a_wrong_rule_of_a_module_is_found(name, rule, wrong, monkeypatch):
    formal = tuple(sorted((s for s in rule.left.free_symbols if isinstance(s, Index)), key=str))
    if provably_equal(wrong.right, rule.right, _general(formal, rule.right, _setting_of(name))):
        pytest.skip("equal to the rule in the only setting in which it is used")
    assert everywhere(monkeypatch, rule, wrong)
    found = _first_alarm((Grade.DERIVED,)) or _first_alarm((Grade.REFUTED,), [only(find_claim("G1"))])
    assert found is not None, name


# --- lemmas ----------------------------------------------------------------------------------------------------------

LEMMA_FAULTS = [
    (number, lemma.id, kind, changed)
    for number, lemma in enumerate(lemmas())
    for kind, changed in chosen([c for c in mistakes(lemma.right) if _speaks_of(c[1], lemma.left.indices)], 2)
]


@pytest.mark.parametrize(
    ("number", "identifier", "kind", "changed"), LEMMA_FAULTS, ids=[f"{f[1]}: {f[2]}" for f in LEMMA_FAULTS]
)
def test_a_wrong_lemma_is_found_by_the_claims_that_cite_it_and_by_its_own_replay(
    number, identifier, kind, changed, monkeypatch
):
    lemma = lemmas()[number]
    if provably_equal(changed, lemma.right, _general(lemma.left.indices, lemma.right)):
        pytest.skip("equal to the lemma")
    chain = lemma.derivation
    wrong = replace(lemma, derivation=with_steps(chain, [*chain.steps, Step(Move.REWRITE, tidy(changed), ("forged",))]))
    _forget()
    assert everywhere(monkeypatch, LEMMAS[number], lambda: wrong)
    described = describe_lemma(wrong)
    assert described["status"] == "failed"
    assert overall_verdict({"claims": [{"verdict": "verified"}], "lemmas": [described]}) is Verdict.FAILED
    if "curvature" not in identifier:  # no statement rests on those, one false variant does
        found = _first_alarm((Grade.DERIVED, Grade.REPLAYED))
        assert found is not None, kind


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
        held[number] = replace(held[number], expression=changed, name="changed")
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


@pytest.mark.parametrize("name", CHAINS)
def test_a_falsified_line_is_found_by_the_replay_which_names_it(name):
    """Each line of a derivation is changed past the calculus; the replay points at it or at the line after."""
    claim, part = CHAINS[name]
    chain = part.derivation()
    tried = 0
    for number, step in chosen(list(enumerate(chain.steps))[1:], 2, seed=len(name)):
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
    assert tried


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
    assert list(alarms([only(claim, *(forged(p, p.statement) for p in claim.parts)) for claim in CLAIMS], EXACT)) == []
