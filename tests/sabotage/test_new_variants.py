"""A new false variant, a true statement that poses as false, and a new identity are each judged rightly."""

from dataclasses import replace
from functools import partial

import pytest

from numerics.refutation import refute
from numerics.verify.grades import run_grade
from numerics.verify.records import Grade, Status
from tests.sabotage.mistakes import chosen, is_mistake, statement_mistakes
from tests.sabotage.planting import SMALL, everywhere
from theory import find_claim
from theory.claim import EVERY_ROUTE, FalseVariant, Route
from theory.identities import identities
from theory.objects import centred, pattern, second_moment
from theory.sums import POSITIONS, index, length, total

_i, _j = index("i", POSITIONS), index("j", POSITIONS)
#: A search for what does not exist ends after this many instances of each size.
FEW = 2
PARTS = [("P1", 1), ("G1", 0), ("G1", 3), ("G2", 2), ("G8", 1), ("G8", 2)]
NEW = [
    pytest.param(identifier, number, changed, id=f"{identifier} {number}: {kind} {place}")
    for identifier, number in PARTS
    for place, (kind, changed) in enumerate(chosen(statement_mistakes(find_claim(identifier).parts[number]), 2, seed=7))
]


@pytest.mark.parametrize(("identifier", "number", "changed"), NEW)
def test_a_new_false_variant_is_rejected_by_every_route_at_a_counterexample(identifier, number, changed):
    """Any mistake in a statement is a false variant that its claim does not list."""
    claim = find_claim(identifier)
    part = claim.parts[number]
    if not is_mistake(part, changed):
        pytest.skip("true")
    variant = FalseVariant("new", "a slip of the pen", replace(part, statement=changed), EVERY_ROUTE, 2)
    result = refute(variant)
    assert result.counterexample is not None
    assert (result.counterexample.true != result.counterexample.claimed).any()
    assert {r.route for r in result.rejections if r.rejected} == {*Route}, result.rejections
    assert result.complete


@pytest.mark.parametrize("identifier", ["P1", "P1-diag", "G1", "G2"])
def test_a_true_statement_that_poses_as_false_fails_the_claim(identifier, monkeypatch):
    assert everywhere(monkeypatch, refute, partial(refute, tries=FEW))
    claim = find_claim(identifier)
    for part in claim.parts[:2]:
        variant = FalseVariant("posing", "true", part, EVERY_ROUTE, claim.least_length)
        result = refute(variant, tries=FEW)
        assert not result.complete
        assert result.counterexample is None
    short = replace(claim, false_variants=(FalseVariant("posing", "true", claim.parts[0], (Route.DERIVED,)),))
    evidence = run_grade(short, Grade.REFUTED, SMALL)
    assert evidence.status is Status.FAILED
    assert "posing" in evidence.summary


def test_a_variant_that_lists_no_route_does_not_pass(monkeypatch):
    assert everywhere(monkeypatch, refute, partial(refute, tries=FEW))
    claim = find_claim("P1")
    posing = FalseVariant("posing", "true, and no route is asked", claim.parts[0], ())
    assert run_grade(replace(claim, false_variants=(posing,)), Grade.REFUTED, SMALL).status is not Status.PASSED


def test_a_true_statement_under_another_name_is_no_false_variant():
    """Equal, but written differently: the search finds nothing and the residue is zero."""
    part = find_claim("P1").parts[1]
    same = total(pattern[_i, _j] * (total(second_moment[_i, _k()], _k()) / length - second_moment[_i, _j]), _i, _j)
    variant = FalseVariant("rewritten", "true", replace(part, statement=same / length**2))
    result = refute(variant, tries=FEW)
    assert result.counterexample is None
    assert not result.complete


def _k():
    return index("k", POSITIONS)


def test_a_new_true_identity_reduces_to_zero_and_a_false_one_fails_every_claim(monkeypatch):
    rows = next(i for i in identities() if i.name == "row sums of Δ̄, any mask")
    true = replace(rows, name="planted", left=2 * rows.left + length, right=length)
    false = replace(rows, name="planted", left=total(centred[_i, _j], _i))
    claim = replace(find_claim("G1"), false_variants=find_claim("G1").false_variants[:1])
    held = identities()
    for identity, expected in ((true, Status.PASSED), (false, Status.FAILED)):
        with monkeypatch.context() as patch:
            assert everywhere(patch, identities, lambda one=identity: (*held, one))
            evidence = run_grade(claim, Grade.REFUTED, SMALL)
        assert evidence.status is expected
        assert ("planted" in evidence.summary) == (expected is Status.FAILED)
