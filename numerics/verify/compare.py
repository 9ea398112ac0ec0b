"""What changed between two result files of the verifier, and whether it got worse.

``load_results`` reads a file and refuses one that is not a results file, in one sentence.  ``compare_results``
lists changes; :func:`exit_code` is 1 when any of them is for the worse.  Evidence that is lost (a claim or variant
gone, a failed route that no longer runs) is worse, not neutral.  Times are information only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from numerics.verify.records import SCHEMA_VERSION, Evidence, Grade, Status, Verdict, verdict
from numerics.verify.report_terminal import Results, grade_cells, one_line, words

TIME_RATIO = 2.0
# Below a tenth of a second a ratio of two wall times says more about the scheduler than about the code.
TIME_FLOOR_SECONDS = 0.1

_RANK: dict[str, int] = {
    Status.FAILED: 0,
    Status.INCONCLUSIVE: 1,
    Status.NOT_RUN: 1,
    Status.EXEMPT: 2,
    Status.PASSED: 3,
    Verdict.INCOMPLETE: 1,
    Verdict.VERIFIED: 3,
}


class Effect(StrEnum):
    """Direction of a change."""

    WORSE = "worse"
    BETTER = "better"
    NEUTRAL = "neutral"
    INFORMATION = "information"


@dataclass(frozen=True)
class Change:
    """One difference: what kind, of what, from what to what."""

    kind: str
    subject: str
    before: str
    after: str
    effect: Effect

    def __str__(self) -> str:
        """One line for people."""
        return one_line(f"{self.subject}: {self.kind}: {self.before or '–'} → {self.after or '–'}")


def _require(holds: bool, rule: str, value: object, remedy: str) -> None:
    if not holds:
        shown = one_line(value)
        raise ValueError(f"{rule}: {shown if len(shown) <= 80 else shown[:79] + '…'}; {remedy}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def validate_results(data: object, where: str = "results") -> Results:
    """The same data when it is a results file of this schema.

    Args:
        data: parsed JSON.
        where: what to call it in an error.

    Raises:
        ValueError: one sentence with the rule, the value found and the remedy.

    >>> validate_results({"schema_version": 2})
    Traceback (most recent call last):
    ...
    ValueError: results must have schema_version 1: 2; write it again with this version of `numerics verify`
    """
    again = "write it again with this version of `numerics verify`"
    _require(isinstance(data, dict), f"{where} must be a JSON object", type(data).__name__, again)
    assert isinstance(data, dict)
    version = data.get("schema_version")
    _require(version == SCHEMA_VERSION, f"{where} must have schema_version {SCHEMA_VERSION}", version, again)
    _require(isinstance(data.get("environment"), dict), f"{where} must have an object environment", "none", again)
    for key, name, needed in (("claims", "claim", True), ("lemmas", "lemma", False)):
        rows = data.get(key, None if needed else [])
        _require(isinstance(rows, list), f"{where} must have a list {key}", type(rows).__name__, again)
        assert isinstance(rows, list)
        _require(all(isinstance(r, dict) for r in rows), f"{where} {key} must be objects", rows, again)
        ids = [r.get("id") for r in rows]
        _require(all(isinstance(i, str) and i for i in ids), f"{where} every {name} must have a text id", ids, again)
        _require(len(set(ids)) == len(ids), f"{where} {name} ids must differ", ids, again)
    for claim in data["claims"]:
        _validate_claim(claim, f"{where} claim {claim['id']}", again)
    return data


def _validate_claim(claim: Mapping[str, Any], where: str, again: str) -> None:
    _require(claim.get("verdict") in set(Verdict), f"{where} has no known verdict", claim.get("verdict"), again)
    for key in ("evidence", "refuted"):
        rows = claim.get(key)
        _require(isinstance(rows, list), f"{where} must have a list {key}", type(rows).__name__, again)
        assert isinstance(rows, list)
        for row in rows:
            _require(isinstance(row, dict), f"{where} {key} must be objects", row, again)
            _require(row.get("status") in set(Status), f"{where} {key} has no known status", row.get("status"), again)
            name = "grade" if key == "evidence" else "route"
            _require(row.get(name) in set(Grade), f"{where} {key} has no known {name}", row.get(name), again)
    for row in claim["evidence"]:
        _require(_is_number(row.get("seconds")), f"{where} seconds must be a number", row.get("seconds"), again)
    for row in claim["refuted"]:
        _require(isinstance(row.get("variant"), str), f"{where} variant must be text", row.get("variant"), again)
    grades = [row["grade"] for row in claim["evidence"]]
    _require(len(set(grades)) == len(grades), f"{where} must have each grade once", grades, again)
    rows = [Evidence(Grade(e["grade"]), Status(e["status"]), 0.0, "") for e in claim["evidence"]]
    found = verdict(rows)
    said = claim["verdict"]
    _require(found == said, f"{where} verdict must follow from its evidence ({found})", said, again)


def load_results(path: str | Path) -> Results:
    """Read and validate a results file.

    Raises:
        ValueError: one sentence when the file is missing, is not JSON, or is not a results file.

    >>> load_results("no such file")
    Traceback (most recent call last):
    ...
    ValueError: a results file must exist: no such file; make one with `python -m numerics verify --json PATH`
    """
    make = "make one with `python -m numerics verify --json PATH`"
    _require(Path(path).is_file(), "a results file must exist", path, make)
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"a results file must be readable JSON: {path} ({one_line(error)}); {make}") from error
    return validate_results(data, str(path))


def _effect(before: str, after: str) -> Effect:
    if _RANK[after] < _RANK[before] or (before == Status.FAILED and after in (Status.NOT_RUN, Status.EXEMPT)):
        return Effect.WORSE
    return Effect.BETTER if _RANK[after] > _RANK[before] else Effect.NEUTRAL


def _by(rows: Iterable[Mapping[str, Any]] | None, *keys: str) -> dict[str, Mapping[str, Any]]:
    return {" by ".join(str(row.get(key)) for key in keys): row for row in rows or ()}


def _time(subject: str, before: object, after: object) -> list[Change]:
    if not (isinstance(before, (int, float)) and isinstance(after, (int, float))):
        return []
    low, high = sorted((float(before), float(after)))
    if high < TIME_FLOOR_SECONDS or high <= TIME_RATIO * low:
        return []
    return [Change("time", subject, f"{before:.2f} s", f"{after:.2f} s", Effect.INFORMATION)]


def _stated(claim: Mapping[str, Any]) -> dict[str, str]:
    """What a claim states, part by part: a silent change here would let a weaker claim keep its verdict."""
    stated = {f"statement {p.get('label', '')}".strip(): str(p.get("latex", "")) for p in claim.get("parts") or ()}
    stated["hypotheses"] = "; ".join(str(h.get("latex", "")) for h in claim.get("hypotheses") or ())
    stated["assumptions"] = "; ".join(map(str, claim.get("assumptions") or ()))
    return stated


def _claim_changes(name: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Change]:
    changes = []
    if a["verdict"] != b["verdict"]:
        changes.append(Change("verdict", name, a["verdict"], b["verdict"], _effect(a["verdict"], b["verdict"])))
    cells_a, cells_b = grade_cells(a), grade_cells(b)
    for grade in Grade:
        before, after = cells_a[grade], cells_b[grade]
        old, new = str(before["status"]), str(after["status"])
        if old != new:
            changes.append(Change("grade", f"{name} {grade}", words(old), words(new), _effect(old, new)))
        changes += _time(f"{name} {grade}", before.get("seconds"), after.get("seconds"))
    said_a, said_b = _stated(a), _stated(b)
    for key in dict.fromkeys([*said_a, *said_b]):
        if said_a.get(key, "") != said_b.get(key, ""):
            changes.append(Change(key, name, said_a.get(key, ""), said_b.get(key, ""), Effect.NEUTRAL))
    rows_a, rows_b = _by(a.get("refuted"), "variant", "route"), _by(b.get("refuted"), "variant", "route")
    for key in dict.fromkeys([*rows_a, *rows_b]):
        subject = f"{name} variant {key}"
        if key not in rows_b:
            changes.append(Change("variant removed", subject, words(rows_a[key]["status"]), "", Effect.WORSE))
        elif key not in rows_a:
            status = rows_b[key]["status"]
            effect = Effect.NEUTRAL if status == Status.PASSED else Effect.WORSE
            changes.append(Change("variant added", subject, "", words(status), effect))
        else:
            old, new = rows_a[key]["status"], rows_b[key]["status"]
            if old != new:
                changes.append(Change("refutation", subject, words(old), words(new), _effect(old, new)))
            found = [json.dumps(rows[key].get("counterexample"), sort_keys=True) for rows in (rows_a, rows_b)]
            if found[0] != found[1]:
                changes.append(Change("counterexample", subject, found[0], found[1], Effect.NEUTRAL))
    return changes


def _row_changes(kind: str, a: Results, b: Results, key: str, hide_missing: bool) -> list[Change]:
    """Claims or lemmas added and removed; ``hide_missing`` for a partial run, which did not ask for the others."""
    field = "verdict" if kind == "claim" else "status"
    rows_a, rows_b = _by(a.get(key), "id"), _by(b.get(key), "id")
    changes = []
    for name in [n for n in rows_a if n not in rows_b and not hide_missing]:
        changes.append(Change(f"{kind} removed", name, str(rows_a[name].get(field)), "", Effect.WORSE))
    for name in [n for n in rows_b if n not in rows_a]:
        status = rows_b[name].get(field)
        good = status in (Verdict.VERIFIED, Status.PASSED)
        changes.append(Change(f"{kind} added", name, "", str(status), Effect.NEUTRAL if good else Effect.WORSE))
    return changes


def compare_results(a: Results, b: Results) -> list[Change]:
    """Every difference from results ``a`` to results ``b``, both valid.

    Claims that a partial ``b`` did not ask for are not counted as removed.

    >>> old = {"claims": [{"id": "P1", "verdict": "verified"}], "environment": {"seed": 0}}
    >>> [str(c) for c in compare_results(old, {"claims": [], "environment": {"seed": 1}})]
    ['P1: claim removed: verified → –', 'environment: seed: 0 → 1']
    """
    partial = bool(b.get("partial"))
    changes = _row_changes("claim", a, b, "claims", partial) + _row_changes("lemma", a, b, "lemmas", partial)
    claims_a, claims_b = _by(a.get("claims"), "id"), _by(b.get("claims"), "id")
    for name in [n for n in claims_a if n in claims_b]:
        changes += _claim_changes(name, claims_a[name], claims_b[name])
    lemmas_a, lemmas_b = _by(a.get("lemmas"), "id"), _by(b.get("lemmas"), "id")
    for name in [n for n in lemmas_a if n in lemmas_b]:
        old, new = str(lemmas_a[name].get("status")), str(lemmas_b[name].get("status"))
        if old != new:
            effect = _effect(old, new) if {old, new} <= set(_RANK) else Effect.NEUTRAL
            changes.append(Change("lemma", name, words(old), words(new), effect))
    zero = [(r.get("identities") or {}).get("zero") for r in (a, b)]
    if zero[0] != zero[1] and not (partial and zero[1] is None):
        effect = Effect.WORSE if (zero[1] or 0) < (zero[0] or 0) else Effect.BETTER
        changes.append(Change("reduce to 0", "identities", str(zero[0] or 0), str(zero[1] or 0), effect))
    inputs_a, inputs_b = _by(a.get("inputs"), "name"), _by(b.get("inputs"), "name")
    for name in dict.fromkeys([*inputs_a, *inputs_b]):
        old, new = str(inputs_a.get(name, {}).get("sha256", "")), str(inputs_b.get(name, {}).get("sha256", ""))
        if old != new:
            changes.append(Change("input", name, old[:12], new[:12], Effect.NEUTRAL))
    return changes + _environment_changes(a.get("environment") or {}, b.get("environment") or {})


def _environment_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Change]:
    changes = []
    for key in ("python", "platform", "cores", "revision", "seed"):
        if a.get(key) != b.get(key):
            changes.append(Change(key, "environment", str(a.get(key, "")), str(b.get(key, "")), Effect.NEUTRAL))
    old, new = a.get("packages") or {}, b.get("packages") or {}
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            changes.append(Change("version", name, str(old.get(name, "")), str(new.get(name, "")), Effect.NEUTRAL))
    return changes + _time("whole run", a.get("seconds"), b.get("seconds"))


def exit_code(changes: Iterable[Change]) -> int:
    """1 when any change is for the worse, else 0.

    >>> exit_code([Change("seed", "environment", "0", "1", Effect.NEUTRAL)])
    0
    """
    return int(any(change.effect is Effect.WORSE for change in changes))


def render_changes(changes: Iterable[Change]) -> RenderableType:
    """The changes for a terminal, worse ones first, times last.

    >>> from rich.console import Console
    >>> Console(width=60).print(render_changes([]))
    Nothing changed.
    """
    rows = list(changes)
    styles = {Effect.WORSE: "bold red", Effect.BETTER: "green", Effect.NEUTRAL: "", Effect.INFORMATION: "dim"}
    lines: list[RenderableType] = []
    for effect, style in styles.items():
        chosen = [row for row in rows if row.effect is effect]
        if chosen:
            lines.append(
                Text(f"{effect.capitalize()} ({len(chosen)})", style=f"bold {style}".replace("bold bold", "bold"))
            )
            lines += [Text(f"  {row}", style=style) for row in chosen]
    return Group(*lines) if lines else Text("Nothing changed.")
