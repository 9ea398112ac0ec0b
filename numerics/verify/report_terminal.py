"""The terminal table of a verification: claim × grade, with time and verdict, in 100 columns.

Everything here is a pure function of the content of ``results.json``.  The words and symbols of statuses
live here once; the HTML page, the graph and the JUnit file use the same.  A symbol always stands beside the
colour, so that a log without colour says the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from numerics.verify.records import REQUIRED_GRADES, Grade, Status, Verdict

Results = Mapping[str, Any]

#: One symbol for each status of a route and each verdict of a claim.
SYMBOLS: dict[str, str] = {
    Status.PASSED: "✓",
    Status.FAILED: "✗",
    Status.INCONCLUSIVE: "?",
    Status.NOT_RUN: "–",
    Status.EXEMPT: "○",
    Verdict.VERIFIED: "✓",
    Verdict.INCOMPLETE: "?",
}

_STYLES: dict[str, str] = {
    Status.PASSED: "green",
    Status.FAILED: "bold red",
    Status.INCONCLUSIVE: "yellow",
    Status.NOT_RUN: "dim",
    Status.EXEMPT: "cyan",
    Verdict.VERIFIED: "bold green",
    Verdict.INCOMPLETE: "bold yellow",
}

# Headings broken by hand: nine grades with a symbol and a time each have to fit 100 columns.
_HEADINGS: dict[Grade, str] = {
    Grade.DERIVED: "derived",
    Grade.REPLAYED: "re-\nplayed",
    Grade.ENCLOSED: "en-\nclosed",
    Grade.DIFFERENTIATED: "differ-\nentiated",
    Grade.SLOPED: "sloped",
    Grade.SAMPLED: "sampled",
    Grade.REFUTED: "refuted",
    Grade.MECHANISED: "mecha-\nnised",
    Grade.TRAINED: "trained",
}


def words(status: str) -> str:
    """Status or verdict as people read it.

    >>> words("not_run")
    'not run'
    """
    return str(status).replace("_", " ")


def one_line(text: object) -> str:
    """Text on one line without control characters, so that a claim's text cannot steer the terminal.

    >>> one_line("a\\nb\\x1b[31m")
    'a b [31m'
    """
    return "".join(c if c.isprintable() else " " for c in str(text)).strip()


def seconds_text(seconds: object) -> str:
    """Seconds in at most five characters, two digits or more; empty when there is no number.

    >>> [seconds_text(s) for s in (0.004, 0.42, 12.34, 1234.5, None)]
    ['<0.01', '0.42', '12.3', '1234', '']
    """
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return ""
    if 0 < seconds < 0.01:
        return "<0.01"
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"


def grade_cells(claim: Mapping[str, Any]) -> dict[Grade, Mapping[str, Any]]:
    """Evidence of a claim for every grade in table order; a grade without evidence reads as not run.

    A grade that the claim exempts and that left no evidence reads as exempt, with its reason.

    >>> cells = grade_cells({"evidence": [{"grade": "derived", "status": "passed"}], "exempt": {"sampled": "why"}})
    >>> cells[Grade.DERIVED]["status"], str(cells[Grade.SLOPED]["status"]), str(cells[Grade.SAMPLED]["status"])
    ('passed', 'not_run', 'exempt')
    """
    found = {e["grade"]: e for e in claim.get("evidence") or ()}
    exempt = claim.get("exempt") or {}
    cells: dict[Grade, Mapping[str, Any]] = {}
    for grade in Grade:
        status = Status.EXEMPT if grade in exempt else Status.NOT_RUN
        cells[grade] = found.get(grade) or {"grade": grade, "status": status, "summary": exempt.get(grade, "")}
    return cells


def overall_verdict(results: Results) -> Verdict:
    """Verdict of the whole file: the worst claim; a failed lemma or identity fails it, no claims is incomplete.

    >>> overall_verdict({"claims": []})
    <Verdict.INCOMPLETE: 'incomplete'>
    """
    verdicts = [claim["verdict"] for claim in results.get("claims") or ()]
    identities = results.get("identities") or {}
    broken = any(lemma.get("status") == Status.FAILED for lemma in results.get("lemmas") or ())
    if Verdict.FAILED in verdicts or broken or identities.get("zero", 0) < identities.get("count", 0):
        return Verdict.FAILED
    return Verdict.VERIFIED if verdicts and set(verdicts) == {Verdict.VERIFIED} else Verdict.INCOMPLETE


def problems(results: Results) -> list[str]:
    """One line for everything that failed or stayed inconclusive, naming the claim and the route.

    >>> problems(
    ...     {
    ...         "claims": [
    ...             {"id": "P1", "evidence": [{"grade": "differentiated", "status": "failed", "summary": "off by 2"}]}
    ...         ]
    ...     }
    ... )
    ['P1: differentiated failed: off by 2']
    """
    lines = []
    for claim in results.get("claims") or ():
        for grade, cell in grade_cells(claim).items():
            if cell["status"] in (Status.FAILED, Status.INCONCLUSIVE):
                lines.append(f"{claim['id']}: {grade} {cell['status']}: {cell.get('summary') or 'no summary given'}")
        for row in claim.get("refuted") or ():
            if row["status"] in (Status.FAILED, Status.INCONCLUSIVE):
                outcome = "not rejected" if row["status"] == Status.FAILED else "inconclusive"
                detail = row.get("detail") or "no detail given"
                lines.append(f"{claim['id']}: false variant {row['variant']} {outcome} by {row['route']}: {detail}")
    for lemma in results.get("lemmas") or ():
        if lemma.get("status") not in (None, Status.PASSED):
            lines.append(f"lemma {lemma['id']}: {words(lemma['status'])}")
    identities = results.get("identities") or {}
    wrong = identities.get("count", 0) - identities.get("zero", 0)
    if wrong > 0:
        lines.append(f"identities: {wrong} of {identities['count']} true identities do not reduce to 0")
    return [one_line(line) for line in lines]


def not_run_line(results: Results) -> str:
    """One line that says what was not run and for which claims; empty when everything ran.

    >>> not_run_line({"claims": [{"id": "P1", "evidence": []}]}).split(";")[0]
    'Not run: derived (all claims)'
    """
    claims = results.get("claims") or ()
    entries = []
    for grade in Grade:
        ids = [str(c["id"]) for c in claims if grade_cells(c)[grade]["status"] == Status.NOT_RUN]
        if ids:
            entries.append(f"{grade} ({'all claims' if len(ids) == len(claims) else ', '.join(ids)})")
    return one_line("Not run: " + "; ".join(entries)) if entries else ""


def render_table(results: Results) -> RenderableType:
    """The table claim × grade, the failing evidence below it, and one line for what was not run.

    Args:
        results: content of ``results.json``.

    Returns:
        Something for ``rich.console.Console.print``; it fits 100 columns for identifiers up to 10 characters.

    >>> from rich.console import Console
    >>> Console(width=100).print(render_table({"claims": []}))  # doctest: +ELLIPSIS
    <BLANKLINE>
    ...No claim was checked...
    """
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column("claim", overflow="fold", min_width=7)
    for grade in Grade:
        required = grade in REQUIRED_GRADES
        table.add_column(Text(_HEADINGS[grade], style="" if required else "dim"), no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for claim in results.get("claims") or ():
        row = [Text(one_line(claim["id"]), style="bold")]
        for cell in grade_cells(claim).values():
            took = seconds_text(cell.get("seconds")) if cell["status"] not in (Status.NOT_RUN, Status.EXEMPT) else ""
            row.append(Text(f"{SYMBOLS[cell['status']]} {took}".rstrip(), style=_STYLES[cell["status"]]))
        row.append(Text(seconds_text(claim.get("seconds"))))
        row.append(Text(claim["verdict"], style=_STYLES[claim["verdict"]]))
        table.add_row(*row)
    legend = "   ".join(f"{SYMBOLS[status]} {words(status)}" for status in Status)
    lines: list[RenderableType] = [Text(""), table, Text(""), Text(legend, style="dim")]
    lines += [Text(line, style="red") for line in problems(results)]
    skipped = not_run_line(results)
    if skipped:
        lines.append(Text(skipped, style="dim"))
    count = len(results.get("claims") or ())
    verified = sum(c["verdict"] == Verdict.VERIFIED for c in results.get("claims") or ())
    whole = overall_verdict(results)
    partial = " (partial run: other claims were not asked for)" if results.get("partial") else ""
    closing = f"{verified} of {count} claims verified" if count else "No claim was checked"
    lines.append(Text(f"{closing}; overall {whole}{partial}", style=_STYLES[whole]))
    return Group(*lines)
