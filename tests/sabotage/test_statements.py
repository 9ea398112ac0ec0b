"""Every mistake in a closed form is found by the verifier, which names claim, part and route.

Mistakes are generated from the statements.  Each is planted twice: as the statement of the part, where the derivation
must refuse it, and forged onto the end of the true derivation, where each numeric route must refuse it by itself.
``SABOTAGE_ALL=1`` plants all of them.
"""

from collections import Counter
from dataclasses import replace

import pytest

from numerics.verify.grades import run_grade
from numerics.verify.records import Grade, Status
from numerics.verify.run import verify_claim
from tests.sabotage.mistakes import chosen, is_mistake, parts, statement_mistakes
from tests.sabotage.planting import NUMERIC, SMALL, forged, only
from theory import claims
from theory.claim import Quantity

#: Two mistakes of every part of the first six claims, one of every third part of the newer ones.
FIRST = ("P1", "P1-diag", "G1", "G2", "G4", "G8")
_PLANNED = [(c, p, 2 if p.statement else 1) for c, p in parts(claims()) if c.id in FIRST]
_PLANNED += [(c, p, 1) for c, p in chosen([q for q in parts(claims()) if q[0].id not in FIRST], 9, seed=4)]
CASES = [
    pytest.param(claim, part, changed, id=f"{claim.id}: {part.label}: {kind} {number}")
    for claim, part, count in _PLANNED
    for number, (kind, changed) in enumerate(chosen(statement_mistakes(part), count))
]


def test_mistakes_of_every_kind_are_generated_for_every_part():
    kinds: Counter[str] = Counter()
    for _, part in parts(claims()):
        found = statement_mistakes(part)
        assert found, part.label
        kinds.update(kind for kind, _ in found)
    assert kinds.total() >= 250
    for kind in ("sign", "L for L − 1", "L for L + 1", "transposed indices", "Δ for Δ̄", "JCJ for C", "dropped factor"):
        assert kinds[kind], kind
    assert min(kinds["doubled"], kinds["dropped term"], kinds["one for zero"]) > 0


@pytest.mark.parametrize(("claim", "part", "changed"), CASES)
def test_a_mistake_is_found_by_every_route_on_its_own(claim, part, changed):
    if not is_mistake(part, changed):
        pytest.skip("equal to the statement, by loops over fractions and by the normal form")
    wrong = only(claim, replace(part, statement=changed))
    assert run_grade(wrong, Grade.DERIVED, SMALL).status is Status.FAILED

    result = verify_claim(only(claim, forged(part, changed)), SMALL)
    assert result["id"] == claim.id
    assert result["verdict"] == "failed"
    evidence = {item["grade"]: item for item in result["evidence"]}
    assert evidence["derived"]["status"] == "passed", "the forged line was to get past the calculus"
    assert evidence["refuted"]["status"] == "passed"
    expected = (Grade.REPLAYED,) if part.quantity is Quantity.ALGEBRAIC else (Grade.REPLAYED, *NUMERIC)
    for grade in expected:
        assert evidence[grade]["status"] == "failed", (grade, evidence[grade]["summary"])
        summary = evidence[grade]["summary"]
        assert summary.startswith((part.label, "ZeroDivisionError")), summary
