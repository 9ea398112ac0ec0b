"""Every route, sabotaged in turn, is found: by the grade that it feeds, or by the false variants that it lets pass.

One line a sabotage: what is replaced, by what, and where the verifier must not pass.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp

from numerics.gradcheck import SlopeOutcome
from numerics.losses import PolynomialLoss
from numerics.numbers import coefficient
from numerics.refutation import refute
from numerics.rings import PRIME
from numerics.verify.grades import run_grade
from numerics.verify.plan import Plan
from numerics.verify.records import Grade, Status, verdict
from tests.sabotage.planting import SMALL, alarms, everywhere, forged
from tests.theory.derived_lemmas import forget
from theory import find_claim
from theory.claim import Part, Quantity
from theory.composition import bend
from theory.derivation import Derivation
from theory.sums import NormalForm, length

DERIVED, REPLAYED, ENCLOSED = Grade.DERIVED, Grade.REPLAYED, Grade.ENCLOSED
DIFFERENTIATED, SLOPED, SAMPLED, REFUTED = Grade.DIFFERENTIATED, Grade.SLOPED, Grade.SAMPLED, Grade.REFUTED
FLOATING = (DIFFERENTIATED, SLOPED, SAMPLED)
MEASURED = (ENCLOSED, *FLOATING)


@dataclass(frozen=True)
class Fault:
    """``target`` (module:attribute) becomes ``make(original)``; each of ``grades`` then fails to pass for ``claim``."""

    target: str
    what: str
    make: Callable[[Any], Any]
    grades: tuple[Grade, ...]
    claim: str = "P1"
    names: str = ""

    def __str__(self) -> str:
        return f"{self.target}: {self.what}"


def _plant(monkeypatch, fault):
    module_name, _, path = fault.target.partition(":")
    holder = importlib.import_module(module_name)
    *classes, name = path.split(".")
    for part in classes:
        holder = getattr(holder, part)
    original = holder.__dict__[name]
    if isinstance(original, property):
        monkeypatch.setattr(holder, name, property(fault.make(original.fget)))
    elif classes:
        monkeypatch.setattr(holder, name, fault.make(original))
    else:
        assert everywhere(monkeypatch, original, fault.make(original))


def _always(result):
    return lambda original: lambda *arguments, **options: result


def _scaled(factor):
    return lambda original: lambda *arguments, **options: factor * original(*arguments, **options)


def _after(change):
    return lambda original: lambda *arguments, **options: change(original(*arguments, **options))


def _with(**changes):
    """The record that a route returns, with other fields."""
    return _after(lambda record: replace(record, **changes))


def _ones(array):
    return array * 0 + 1


# --- faults: the route computes something else -----------------------------------------------------------------------

_D, _M, _E = "numerics.definition:", "numerics.measure:", "numerics.evaluate:Environment."
_R, _I = "numerics.rings:", "numerics.instances:"

FAULTS = [
    Fault(_D + "attention", "no normaliser", lambda f: lambda s, p, m, exp: exp(s * p) * m, MEASURED),
    Fault(_D + "attention", "no mask", lambda f: lambda s, p, m, exp: f(s, p, _ones(m), exp), MEASURED, "P1-diag"),
    Fault(_D + "attention", "sign", lambda f: lambda s, p, m, exp: f(-s, p, m, exp), MEASURED),
    Fault(_D + "attention", "transposed pattern", lambda f: lambda s, p, m, exp: f(s, p.T, m, exp), MEASURED),
    Fault(_D + "outputs", "transposed attention", lambda f: lambda a, x: f(a.T, x), MEASURED, "G1"),
    Fault(_D + "pooled_vectors", "sum, not mean", lambda f: lambda o, w: o.sum(1), MEASURED, "G1"),
    Fault(_D + "pooled_vectors", "first token", lambda f: lambda o, w: o[:, 0], MEASURED),
    Fault(_D + "supervised_loss", "no sample weights", lambda f: lambda a, x, q, w, loss: f(a, x, _ones(q), w, loss),
          MEASURED, "G1"),
    Fault(_D + "supervised_loss", "twice", _scaled(2), MEASURED, "G1"),
    Fault(_D + "reconstruction_loss", "without 1/2", _scaled(2), MEASURED),
    Fault(_D + "reconstruction_loss", "no sample weights", lambda f: lambda a, x, q: f(a, x, _ones(q)), MEASURED),
    Fault(_D + "reconstruction_loss", "L − 1 for L", lambda f: lambda a, x, q: f(a, x, q) * len(a) / (len(a) - 1),
          MEASURED, "G8"),
    Fault(_E + "_expect", "sample weights ignored",
          lambda f: lambda e, body: f(replace(e, sample_weights=_ones(e.sample_weights), _cache={}), body),
          MEASURED),
    Fault(_E + "_inverse", "no inverse", lambda f: lambda e, value: value, (REPLAYED, *MEASURED), "G1"),
    Fault(_E + "_exponential", "linear", lambda f: lambda e, value: e._add(e._constant(sp.S.One), value), (REPLAYED,),
          "G8"),
    Fault(_E + "size", "one more token", lambda f: lambda e, i: f(e, i) + 1, (REPLAYED, *MEASURED)),
    Fault(_E + "_constant", "L + 1 for L", lambda f: lambda e, v: f(e, sp.sympify(v).subs(length, length + 1)),
          (REPLAYED, *MEASURED)),
    Fault(_R + "PrimeField.multiply", "off by one", lambda f: lambda r, a, b: (a * b + 1) % PRIME, (REPLAYED,)),
    Fault(_R + "PrimeField.matmul", "transposed", lambda f: lambda r, a, b: np.swapaxes(f(r, b.swapaxes(-1, -2),
          a.swapaxes(-1, -2)), -1, -2)[..., ::-1, :], (REPLAYED,), "G1"),
    Fault(_R + "PrimeField.invert", "off by one", lambda f: lambda r, v: (f(r, v) + 1) % PRIME, (REPLAYED,), "G1"),
    Fault(_R + "PrimeField.add", "subtracts", lambda f: lambda r, a, b: (a - b) % PRIME, (REPLAYED,)),
    Fault(_R + "Floats.multiply", "halved", _scaled(0.5), FLOATING),
    Fault(_M + "by_reverse_mode", "negative", _scaled(-1), (DIFFERENTIATED, SAMPLED)),
    Fault(_M + "by_reverse_mode", "nought", _scaled(0), (DIFFERENTIATED, SAMPLED)),
    Fault(_M + "by_reverse_mode", "not a number", _scaled(float("nan")), (DIFFERENTIATED, SAMPLED)),
    Fault(_M + "by_forward_mode", "negative", _scaled(-1), (DIFFERENTIATED, SAMPLED)),
    Fault(_M + "slope_along", "nought", _scaled(0.0), (DIFFERENTIATED, SAMPLED), "G8"),
    Fault(_M + "SeriesMeasurement.quantity", "negative", _scaled(-1), (ENCLOSED,)),
    Fault("numerics.numbers:coefficient", "one too low", lambda f: lambda v, n: coefficient(v, n - 1), (ENCLOSED,)),
    Fault(_M + "loss_gradients", "negative", _scaled(-1), FLOATING, "G1"),
    Fault(_I + "random_pattern", "off the hypothesis",
          lambda f: lambda part, *rest: f(replace(part, hypotheses=()), *rest), (ENCLOSED, DIFFERENTIATED, SLOPED)),
    Fault("numerics.blind_set:null_space", "of nothing", lambda f: lambda c, *rest: f((), *rest),
          (REPLAYED, *MEASURED)),
    Fault(_I + "with_witness", "no witness law", lambda f: lambda instance, *rest: instance, (REPLAYED, *MEASURED),
          "G2"),
    Fault("numerics.losses:PolynomialLoss.on", "another loss",
          lambda f: lambda loss, numbers: f(PolynomialLoss(loss.linear, loss.quadratic, 2 * loss.cubic), numbers),
          (ENCLOSED,), "G1"),
    # A route that says nothing does not pass either.
    Fault("numerics.routes.replay:replay", "crashes", lambda f: None, (REPLAYED,)),
    Fault("numerics.routes.enclosure:enclose", "too wide", _with(narrow=False), (ENCLOSED,)),
    Fault("numerics.gradcheck.slope:check_slope", "undecided", _with(outcome=SlopeOutcome.INCONCLUSIVE),
          (SLOPED, REFUTED)),
    Fault("numerics.strategies:patterns_satisfying", "only zero patterns", _after(lambda s: s.map(lambda p: 0 * p)),
          (SAMPLED,)),
    Fault("numerics.routes.sampling:_run", "no examples", _always(None), (SAMPLED,)),
    Fault("numerics.routes.sampling:_informative", "vacuous examples", _always(False), (SAMPLED,)),
]  # fmt: skip

_S = "numerics.measure:Setup."


def _with_bend_zero(original):
    def behind(setup, quantity, outputs):
        held = {tensor: values * 0 if tensor == bend else values for tensor, values in setup.extra.items()}
        setup.extra, kept_back = held, setup.extra
        try:
            return original(setup, quantity, outputs)
        finally:
            setup.extra = kept_back

    return behind


#: What the newer quantities are computed from.
NEWER_FAULTS = [
    Fault(_S + "along", "backwards", lambda f: lambda m, q, step, p=None: f(m, q, -step, p), (DIFFERENTIATED,), "Q1"),
    Fault(_S + "along", "the label loss instead", lambda f: lambda m, q, step, p=None: f(m, Quantity.SUPERVISED_SLOPE,
          step, p), (DIFFERENTIATED, REFUTED), "Q2"),
    Fault(_S + "_along_query_key", "backwards", lambda f: lambda m, q, step: f(m, q, -step), (ENCLOSED, SLOPED), "Q2"),
    Fault(_S + "_along_query_key", "twice", _scaled(2), MEASURED, "Q1"),
    Fault(_S + "_masked", "divided by the actual count",
          lambda f: lambda m, q, a: f(m, Quantity.TRAINED_MASKED_SLOPE, a), MEASURED, "G7"),
    Fault(_S + "behind_readout", "no residual", lambda f: lambda m, q, o: f(m, Quantity.READOUT_SLOPE, o), (REFUTED,),
          "G6"),
    Fault(_S + "behind_readout", "residual always", lambda f: lambda m, q, o: f(m, Quantity.RESIDUAL_READOUT_SLOPE, o),
          MEASURED, "G6"),
    Fault(_S + "behind_readout", "no bend", _with_bend_zero, (REFUTED,), "G6"),
    Fault(_D + "masked_reconstruction_loss", "twice", _scaled(2), MEASURED, "G7"),
    Fault(_D + "masked_reconstruction_loss", "unmasked inputs",
          lambda f: lambda a, x, keep, w, n: f(a, x, _ones(keep), w, n), MEASURED, "G7"),
    Fault(_D + "masked_reconstruction_loss", "kept positions rebuilt",
          lambda f: lambda a, x, keep, w, n: f(a, x, 1 - keep, w, n), MEASURED, "G7"),
    Fault(_I + "with_masking", "ρ for 1 − ρ",
          lambda f: lambda i, ratio: replace(f(i, 1 - ratio), mask_ratio=ratio), MEASURED, "G7"),
    Fault(_I + "with_masking", "choices alike", lambda f: lambda i, ratio: _alike(f(i, ratio)), (REPLAYED, *MEASURED),
          "G7"),
    Fault(_I + "completed", "nothing", lambda f: lambda i, *rest: i, (REPLAYED, *MEASURED), "Q1"),
    Fault(_I + "completed", "zero matrices",
          lambda f: lambda i, part, ring, draw, ratio: f(i, part, ring, lambda shape: 0 * draw(shape), ratio),
          (SAMPLED,), "Q2"),
    Fault("numerics.tolerance:_absolute_terms", "nought", _scaled(0.0), (DIFFERENTIATED,), "Q1"),
    Fault("numerics.tolerance:_absolute_terms", "times 1e14", _scaled(1e14), (DIFFERENTIATED,), "G7"),
    Fault("numerics.tolerance:_terms_anywhere", "nought", _scaled(0.0), (DIFFERENTIATED,), "G5"),
    Fault(_R + "Absolute.array", "signs kept",
          lambda f: lambda r, values: np.asarray(np.asarray(values, dtype=np.float64)), (DIFFERENTIATED,), "Q1"),
    Fault("numerics.evaluate:_ring", "first query shifted", lambda f: lambda n: _shifted(f(n)), (REPLAYED,), "N2"),
    Fault("numerics.evaluate:_torus", "first query shifted", lambda f: lambda n: _shifted(f(n)), (REPLAYED,), "G5"),
    Fault("theory.general:true_value", "twice", lambda f: lambda q: 2 * f(q), (REFUTED,), "Q2"),
]  # fmt: skip


def _shifted(table):
    """Offsets of the first query counted from its neighbour."""
    return np.concatenate([np.roll(table[:1], 1, axis=1), table[1:]])


def _alike(instance):
    """Every choice of masked tokens as likely as any other."""
    samples = len(instance.sample_weights)
    return replace(instance, sample_weights=np.array([Fraction(1, samples)] * samples, dtype=object))


# --- blind routes: they accept whatever they are shown ---------------------------------------------------------------

BLIND = [
    Fault("theory.sums.rules:residue", "always zero", _always(NormalForm()), (REFUTED,), names="route derived"),
    Fault("theory.sums.normal_form:NormalForm.is_zero", "always", _always(True), (REFUTED,)),
    Fault("theory.general:claimed_residue", "doubled", lambda f: lambda part: f(part) + f(part), (REFUTED,),
          names="route derived"),
    Fault("theory.general:claimed_residue", "negative", lambda f: lambda part: -f(part), (REFUTED,),
          names="route derived"),
    Fault("numerics.refutation:residues_of_sides", "equal", _after(lambda sides: (sides[0], sides[0])), (REFUTED,),
          names="route replayed"),
    Fault("numerics.routes.enclosure:enclose", "always meets", _with(meets=True), (REFUTED,), names="route enclosed"),
    Fault("numerics.tolerance:tolerance", "times 1e14", _scaled(1e14), (REFUTED,), names="route differentiated"),
    Fault("numerics.routes.autodiff:deviation", "none", _with(reverse=0.0, forward=0.0), (REFUTED,),
          names="route differentiated"),
    Fault("numerics.gradcheck.slope:check_slope", "always right", _with(outcome=SlopeOutcome.PASS), (SLOPED, REFUTED),
          names="control"),
    Fault("numerics.routes.slope:slope_check", "always right", _with(outcome=SlopeOutcome.PASS), (REFUTED,),
          names="route sloped"),
    Fault("numerics.search:find_counterexample", "finds none", _always(None), (REFUTED,), names="no counterexample"),
    Fault("numerics.search:find_counterexample", "finds what is none",
          _after(lambda found: replace(found, claimed=found.true)), (REFUTED,), names="route derived"),
    Fault("theory.identities:check", "never zero", _after(lambda form: form + NormalForm.constant(sp.S.One)),
          (REFUTED,), names="does not reduce to 0"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def fresh_lemmas():
    forget()
    yield
    forget()


@pytest.mark.parametrize("fault", [*FAULTS, *NEWER_FAULTS], ids=str)
def test_a_route_that_computes_something_else_does_not_pass(fault, monkeypatch):
    claim = find_claim(fault.claim)
    for grade in fault.grades:  # nothing is wrong before
        assert grade is REFUTED or _healthy(claim.id, grade)
    _plant(monkeypatch, fault)
    if fault in NEWER_FAULTS:  # a search for what a fault hides ends soon
        assert everywhere(monkeypatch, refute, partial(refute, tries=10))
    first = 0 if fault in NEWER_FAULTS else 1
    short = replace(claim, false_variants=claim.false_variants[first : first + 1])
    for grade in fault.grades:
        assert run_grade(short, grade, SMALL).status in (Status.FAILED, Status.INCONCLUSIVE), grade


_passed: set[tuple[str, Grade]] = set()


def _healthy(identifier: str, grade: Grade) -> bool:
    if (identifier, grade) not in _passed and run_grade(find_claim(identifier), grade, SMALL).status is Status.PASSED:
        _passed.add((identifier, grade))
    return (identifier, grade) in _passed


@pytest.mark.parametrize("fault", BLIND, ids=str)
def test_a_blind_route_is_found_by_what_it_should_reject(fault, monkeypatch):
    claim = find_claim(fault.claim)
    short = replace(claim, false_variants=claim.false_variants[:1])
    _plant(monkeypatch, fault)
    evidence = [run_grade(short, grade, SMALL) for grade in fault.grades]
    assert all(e.status is not Status.PASSED for e in evidence)
    assert verdict(evidence) != "verified"
    assert any(fault.names in e.summary for e in evidence), [e.summary for e in evidence]


# --- blind routes that the controls of the verifier show -------------------------------------------------------------

WRONG = replace(find_claim("P1"), parts=tuple(forged(p, p.statement + 1 / length) for p in find_claim("P1").parts))

#: No false variant asks for these: only the control of each route shows that one has gone blind.
UNWATCHED = [
    Fault("numerics.routes.replay:replay", "ignores the lines", _always(None), (REPLAYED,)),
    Fault("numerics.routes.replay:_related", "every line follows", _always(True), (REPLAYED,)),
    Fault("numerics.routes.sampling:sample", "never falsified", _with(falsified=""), (SAMPLED,)),
    Fault("theory.derivation:Derivation.rewrite", "every line follows",
          lambda f: lambda chain, line, *rules, note="": chain._append("equal by", line), (DERIVED,)),
    Fault("theory.claim:Part._require_origin", "any origin", _always(None), (DERIVED,)),
    Fault("numerics.measure:by_forward_mode", "not a number", _scaled(float("nan")), (DIFFERENTIATED,)),
    Fault("theory.identities:identities", "empty", _always(()), ()),
]  # fmt: skip


@pytest.mark.parametrize("fault", UNWATCHED, ids=str)
def test_a_blind_route_is_found_by_the_verifier_itself(fault, monkeypatch):
    claim = replace(find_claim("P1"), false_variants=find_claim("P1").false_variants[-1:])
    _plant(monkeypatch, fault)
    assert next(alarms([claim], (*fault.grades, REFUTED)), None) is not None


def test_the_planted_error_is_found_by_every_route_that_is_sound():
    for grade in (REPLAYED, *MEASURED):
        assert run_grade(WRONG, grade, SMALL).status is Status.FAILED, grade


# --- runs that check nothing -----------------------------------------------------------------------------------------

NOTHING = Plan(trials=0, instances=0, examples=0)


@pytest.mark.parametrize("grade", [SLOPED, SAMPLED, REPLAYED, ENCLOSED, DIFFERENTIATED])
def test_a_run_of_no_checks_passes_nothing(grade):
    assert run_grade(find_claim("P1"), grade, NOTHING).status is not Status.PASSED


@pytest.mark.parametrize(
    "grade",
    [SAMPLED, REFUTED, DERIVED, REPLAYED, ENCLOSED, DIFFERENTIATED, SLOPED],
)
def test_a_claim_without_parts_passes_nothing(grade):
    empty = replace(find_claim("P1"), parts=(), false_variants=())
    assert run_grade(empty, grade, SMALL).status is not Status.PASSED


def test_a_product_of_gradients_is_derived_from_the_gradients():
    """Its derivation must start at the product of the two gradients, not at whatever is zero."""
    claim = find_claim("G8")
    (variant,) = (v for v in claim.false_variants if v.id == "orthogonal under the diagonal mask")
    idle: Callable[[Part], Derivation] = lambda part: Derivation(sp.S.Zero)  # noqa: E731
    part = replace(variant.part, derive=idle)
    found = [run_grade(replace(claim, parts=(part,)), grade, SMALL) for grade in (DERIVED, REPLAYED)]
    assert any(e.status is Status.FAILED for e in found)
