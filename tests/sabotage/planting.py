"""Plant an error and ask the verifier: helpers that every sabotage test uses."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from numerics.verify.grades import run_grade
from numerics.verify.plan import Plan
from numerics.verify.records import REQUIRED_GRADES, Grade, Status
from theory.claim import Claim, Part
from theory.derivation import Derivation, Move, Step
from theory.printing import tidy
from theory.sums import Rule

SMALL = Plan(trials=2, instances=2, examples=10, data=None)
NUMERIC = (Grade.ENCLOSED, Grade.DIFFERENTIATED, Grade.SLOPED, Grade.SAMPLED)


def forged(part: Part, statement: sp.Expr) -> Part:
    """The part with another statement, and the true derivation with that statement forged onto its end.

    The line is appended past the calculus, as if the normal form were broken, so that every other route has to find
    the error on its own grounds.
    """
    true = part.derivation()

    def derive(_: Part) -> Derivation:
        return with_steps(true, [*true.steps, Step(Move.REWRITE, tidy(statement), ("forged",))])

    return replace(part, statement=statement, derive=derive)


def with_steps(chain: Derivation, steps: list[Step]) -> Derivation:
    """A copy of a chain with other lines, unchecked."""
    made = copy(chain)
    made.steps = steps
    return made


def only(claim: Claim, *parts: Part) -> Claim:
    """The claim with these parts and one of its false variants, so that only what was planted can fail."""
    return replace(claim, parts=parts, false_variants=claim.false_variants[1:2])


@dataclass(frozen=True)
class Alarm:
    """What the verifier reports of a planted error."""

    claim: str
    grade: Grade
    status: Status
    summary: str


def alarms(claims: Iterable[Claim], grades: Iterable[Grade] = REQUIRED_GRADES, plan: Plan = SMALL) -> Iterator[Alarm]:
    """Grades that do not pass, in order of grades, then claims; lazily, so that the first one ends the work."""
    held = list(claims)
    for grade in grades:
        for claim in held:
            evidence = run_grade(claim, grade, plan)
            if evidence.status not in (Status.PASSED, Status.EXEMPT):
                yield Alarm(claim.id, grade, evidence.status, evidence.summary)


def everywhere(monkeypatch: Any, original: Any, replacement: Any) -> int:
    """Replace an object in every module of the project that holds it under some name; returns how many do."""
    places = [
        (module, name)
        for module_name, module in list(sys.modules.items())
        if module_name.split(".")[0] in ("theory", "numerics")
        for name, held in list(vars(module).items())
        if held is original
    ]
    for module, name in places:
        monkeypatch.setattr(module, name, replacement)
    for module_name, module in list(sys.modules.items()):  # tables of functions or rules
        if module_name.split(".")[0] not in ("theory", "numerics"):
            continue
        for name, held in list(vars(module).items()):
            if isinstance(held, tuple) and any(item is original for item in held):
                monkeypatch.setattr(module, name, tuple(replacement if item is original else item for item in held))
                places.append((module, name))
            elif isinstance(held, dict) and not name.startswith("__"):
                for key in [k for k, v in held.items() if v is original]:
                    monkeypatch.setitem(held, key, replacement)
                    places.append((module, name))
    return len(places)


@contextmanager
def in_place(rule: Rule, wrong: Rule) -> Iterator[None]:
    """A rule with another right side, wherever a derivation holds it, closures included."""
    true = {name: getattr(rule, name) for name in ("right", "_replacement")}
    for name in true:
        object.__setattr__(rule, name, getattr(wrong, name))
    try:
        yield
    finally:
        for name, held in true.items():
            object.__setattr__(rule, name, held)


Make = Callable[[Any], Any]
