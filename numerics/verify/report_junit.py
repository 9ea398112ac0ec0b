"""JUnit XML of a verification: one suite a claim, one case a grade.

CI systems draw it.  Failed and inconclusive routes are failures (an inconclusive one says that word), what
did not run or is exempt is skipped with the reason; nothing that did not run reads as passed.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from numerics.verify.records import Grade, Status
from numerics.verify.report_terminal import Results, grade_cells, words

# What XML 1.0 cannot hold, even escaped (section 2.2 of the recommendation).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _clean(text: object) -> str:
    return _NOT_XML.sub("\ufffd", str(text))


def _seconds(value: object) -> str:
    return f"{float(value) if isinstance(value, (int, float)) else 0.0:.6f}"


def _case(suite: ET.Element, claim: Mapping[str, Any], grade: Grade, cell: Mapping[str, Any]) -> str:
    status, summary = cell["status"], cell.get("summary") or ""
    case = ET.SubElement(
        suite, "testcase", classname=_clean(claim["id"]), name=grade, time=_seconds(cell.get("seconds"))
    )
    if status in (Status.FAILED, Status.INCONCLUSIVE):
        message = f"{claim['id']}: {grade} {status}: {summary or 'no summary given'}"
        failure = ET.SubElement(case, "failure", type=status, message=_clean(message))
        lines = [message]
        if grade == Grade.REFUTED:
            lines += [
                f"false variant {row['variant']}, route {row['route']}: {words(row['status'])}: {row.get('detail', '')}"
                for row in claim.get("refuted") or ()
                if row["status"] != Status.PASSED
            ]
        failure.text = _clean("\n".join(lines))
    elif status in (Status.NOT_RUN, Status.EXEMPT):
        reason = summary or (claim.get("exempt") or {}).get(grade, "")
        ET.SubElement(case, "skipped", message=_clean(f"{words(status)}: {reason}" if reason else words(status)))
    elif summary:
        ET.SubElement(case, "system-out").text = _clean(summary)
    return "failure" if case.find("failure") is not None else "skipped" if case.find("skipped") is not None else ""


def render_junit(results: Results) -> str:
    """JUnit XML of the content of ``results.json``.

    Args:
        results: content of ``results.json``.

    Returns:
        A whole XML document; every claim has one case for each of the nine grades.

    >>> xml = render_junit(
    ...     {
    ...         "claims": [
    ...             {
    ...                 "id": "P1",
    ...                 "evidence": [{"grade": "derived", "status": "passed", "seconds": 0.5, "summary": "12 steps"}],
    ...             }
    ...         ]
    ...     }
    ... )
    >>> root = ET.fromstring(xml.encode())
    >>> root.get("tests"), root.get("failures"), root.get("skipped")
    ('9', '0', '8')
    """
    root = ET.Element("testsuites", name="verify")
    total = {"tests": 0, "failures": 0, "skipped": 0}
    environment = results.get("environment") or {}
    for claim in results.get("claims") or ():
        suite = ET.SubElement(root, "testsuite", name=_clean(claim["id"]), time=_seconds(claim.get("seconds")))
        if environment.get("started"):
            suite.set("timestamp", _clean(environment["started"]))
        outcomes = [_case(suite, claim, grade, cell) for grade, cell in grade_cells(claim).items()]
        counts = {
            "tests": len(outcomes),
            "failures": outcomes.count("failure"),
            "skipped": outcomes.count("skipped"),
        }
        suite.set("errors", "0")
        for name, count in counts.items():
            suite.set(name, str(count))
            total[name] += count
    root.set("errors", "0")
    root.set("time", _seconds(environment.get("seconds")))
    for name, count in total.items():
        root.set(name, str(count))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
