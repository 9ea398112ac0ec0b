"""Grade ``mechanised``: what the Coq development proved, read from the report of ``make prove``.

The report counts only for the sources that it was made from, and only with the three usual axioms of
MathComp-Analysis.  It never changes a verdict.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import theory
from numerics.verify.records import Evidence, Grade, Status

REPORT = Path("reports/prove/results.json")
EXPECTED_AXIOMS = frozenset(
    {
        "boolp.propositional_extensionality",
        "boolp.functional_extensionality_dep",
        "boolp.constructive_indefinite_description",
    }
)


def _sources() -> dict[str, str]:
    folder = Path(theory.__file__).parent / "formal"
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.v"))}


def mechanised(claim: str, report: Path = REPORT) -> Evidence:
    """Evidence of the mechanised proof of one claim.

    >>> mechanised("P1", Path("no/such/file")).status
    <Status.NOT_RUN: 'not_run'>
    """
    if not report.is_file():
        return Evidence(Grade.MECHANISED, Status.NOT_RUN, 0.0, "not run here: make prove (needs Coq) writes the report")
    try:
        content = json.loads(report.read_text(encoding="utf-8"))
        theorems = [t for t in content["theorems"] if t.get("claim") == claim]
        sources, coq = content["sources"], content["coq"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return Evidence(Grade.MECHANISED, Status.NOT_RUN, 0.0, f"{report} cannot be read: run make prove again")
    if sources != _sources():
        return Evidence(Grade.MECHANISED, Status.NOT_RUN, 0.0, "the proof changed since it was checked: run make prove")
    if not theorems:
        return Evidence(Grade.MECHANISED, Status.NOT_RUN, 0.0, "no theorem for this claim")
    axioms = sorted({axiom for theorem in theorems for axiom in theorem["axioms"]})
    numbers = {"theorems": [t["name"] for t in theorems], "axioms": axioms, "coq": coq}
    strange = set(axioms) - EXPECTED_AXIOMS
    if strange:
        return Evidence(Grade.MECHANISED, Status.FAILED, 0.0, f"unexpected axioms: {sorted(strange)}", numbers)
    summary = f"{len(theorems)} theorems checked by Coq {coq}, {len(axioms)} axioms"
    return Evidence(Grade.MECHANISED, Status.PASSED, 0.0, summary, numbers)
