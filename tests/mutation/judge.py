"""The fast judge of a mutant: what the verifier must pass, and what it must not.

Raises :class:`Killed` at the first thing that a healthy tree does otherwise.  Runs in a process of its own, in which
the mutated module is the first version of it that is imported.
"""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
#: Short suites that say what a verdict does not: the names of the rules of a step, the printed error bound.
OWN_TESTS = {
    "theory.derivation": "tests/theory/test_derivation.py",
    "numerics.routes.replay": "tests/numerics/test_replay_degree.py",
}


class Killed(Exception):
    """The mutant was found; the text says by what."""


def judge(module: str) -> None:
    """Judge the running, mutated project."""
    if module.startswith("numerics.gradcheck"):
        _own_tests("tests/numerics/gradcheck")
    for name, tests in OWN_TESTS.items():
        if module == name:
            _own_tests(tests)
    _claims_pass()
    _planted_errors_are_found()


def own_tests(module: str) -> None:
    """The slow judge: the test suites of the two rooms."""
    _own_tests("tests/theory", "tests/numerics", "tests/sabotage")


def _own_tests(*paths: str) -> None:
    import pytest

    options = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        f"--rootdir={_ROOT}",
        "-c",
        str(_ROOT / "pyproject.toml"),
    ]
    code = pytest.main([*options, *(str(_ROOT / path) for path in paths)])
    if code != 0:
        raise Killed(f"the tests in {', '.join(paths)}")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Killed(what)


def _claims_pass() -> None:
    from numerics.verify.describe import describe_lemma
    from numerics.verify.grades import run_grade
    from numerics.verify.records import REQUIRED_GRADES, Status, verdict
    from tests.sabotage.planting import SMALL
    from theory import claims, lemmas

    held: dict[str, list] = {claim.id: [] for claim in claims()}
    for grade in REQUIRED_GRADES:
        for claim in claims():
            evidence = run_grade(claim, grade, SMALL)
            _require(
                evidence.status is Status.PASSED or grade.value in claim.exempt,
                f"{claim.id}: {grade} {evidence.status}: {evidence.summary[:120]}",
            )
            held[claim.id].append(evidence)
    for lemma in lemmas():
        _require(describe_lemma(lemma)["status"] == "passed", f"lemma {lemma.id}")
    for identifier, gathered in held.items():
        _require(str(verdict(gathered)) == "verified", f"{identifier}: verdict {verdict(gathered)}")


def _planted_errors_are_found() -> None:
    from dataclasses import replace

    import sympy as sp
    from hypothesis import Phase, settings

    from numerics.refutation import refute
    from numerics.routes import sampling
    from numerics.verify.grades import run_grade
    from numerics.verify.records import REQUIRED_GRADES, Evidence, Grade, Status, Verdict, verdict
    from tests.sabotage.planting import NUMERIC, SMALL, forged, only
    from theory import find_claim
    from theory.claim import FalseVariant
    from theory.identities import check, identities
    from theory.sums import length

    real = settings
    setattr(sampling, "settings", lambda **given: real(**{**given, "phases": (Phase.generate,)}))  # noqa: B010  (typed as a class)
    small, share = sp.Rational(1, 100), 1 / length
    plants = [
        ("P1", 0, share),
        ("P1", 1, share),
        ("G1", 0, small),
        ("G2", 2, share),
        ("G8", 1, share),
        ("G8", 3, share),
    ]
    for identifier, number, error in plants:
        claim = find_claim(identifier)
        part = claim.parts[number]
        wrong = replace(part, statement=part.statement + error)
        _require(
            run_grade(only(claim, wrong), Grade.DERIVED, SMALL).status is Status.FAILED, f"{identifier}: derived a lie"
        )
        planted = only(claim, forged(part, part.statement + error))
        for grade in (Grade.REPLAYED, *NUMERIC):
            _require(run_grade(planted, grade, SMALL).status is Status.FAILED, f"{identifier}: {grade} passed a lie")
    for identity in identities():
        _require(not check(replace(identity, left=identity.left + share)).is_zero, f"false {identity.name} is zero")
    true = find_claim("G1").parts[0]
    posing = refute(FalseVariant("posing", "true", true), tries=1)
    _require(not posing.complete and posing.counterexample is None, "a true statement was refuted")
    barren = replace(find_claim("G1"), false_variants=())
    _require(run_grade(barren, Grade.REFUTED, SMALL).status is Status.FAILED, "nothing refuted, yet passed")
    _require(not sampling.Sample(0, 0, 0.0, "").passed and not sampling.Sample(10, 4, 0.0, "").passed, "vacuous sample")
    _require(sampling.Sample(10, 5, 0.0, "").passed and not sampling.Sample(9, 9, 0.0, "x").passed, "sample")
    good = [Evidence(grade, Status.PASSED, 0.0, "") for grade in REQUIRED_GRADES]
    for status in Status:
        for place, evidence in enumerate(good):
            found = verdict([*good[:place], replace(evidence, status=status), *good[place + 1 :]])
            wanted = {Status.FAILED: Verdict.FAILED, Status.PASSED: Verdict.VERIFIED, Status.EXEMPT: Verdict.VERIFIED}
            _require(found is wanted.get(status, Verdict.INCOMPLETE), f"verdict of {status}")
    _require(verdict(good[:-1]) is Verdict.INCOMPLETE, "verdict without a grade")
    _require(verdict([replace(e, status=Status.EXEMPT) for e in good]) is Verdict.INCOMPLETE, "verdict of exemptions")
