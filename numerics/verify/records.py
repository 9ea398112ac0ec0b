"""What the verifier writes down: grades, statuses, evidence, verdicts.

Every route reports an :class:`Evidence`; a claim's verdict follows from its evidence by one rule
(:func:`verdict`) and from nothing else.  ``results.json`` is these records, and the terminal table and the
HTML page are drawn from that file's content alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SCHEMA_VERSION = 1


class Grade(StrEnum):
    """An independent route to evidence, in the order in which tables show them."""

    DERIVED = "derived"
    REPLAYED = "replayed"
    ENCLOSED = "enclosed"
    DIFFERENTIATED = "differentiated"
    SLOPED = "sloped"
    SAMPLED = "sampled"
    REFUTED = "refuted"
    MECHANISED = "mechanised"
    TRAINED = "trained"


#: Grades that a claim needs for the verdict ``verified``; the other two are shown and never change it.
REQUIRED_GRADES = tuple(g for g in Grade if g not in (Grade.MECHANISED, Grade.TRAINED))


class Status(StrEnum):
    """Outcome of one route; a check that did not run is never counted as passed."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not_run"
    EXEMPT = "exempt"


class Verdict(StrEnum):
    """Outcome of a claim."""

    VERIFIED = "verified"
    FAILED = "failed"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True)
class Evidence:
    """One grade of one claim.

    ``summary`` is the line that people read, ``numbers`` what the route must print (JSON values only).
    """

    grade: Grade
    status: Status
    seconds: float
    summary: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


def verdict(evidence: Iterable[Evidence]) -> Verdict:
    """Verdict of a claim from its evidence.

    ``failed`` when any required grade failed, ``verified`` when every required grade passed or is exempt with a
    reason (at least one must have passed), else ``incomplete``.

    >>> verdict([])
    <Verdict.INCOMPLETE: 'incomplete'>
    """
    status = {e.grade: e.status for e in evidence}
    required = [status.get(grade, Status.NOT_RUN) for grade in REQUIRED_GRADES]
    if Status.FAILED in required:
        return Verdict.FAILED
    if Status.PASSED in required and all(s in (Status.PASSED, Status.EXEMPT) for s in required):
        return Verdict.VERIFIED
    return Verdict.INCOMPLETE
