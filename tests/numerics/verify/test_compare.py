"""Comparison of results files: every kind of change is found, and worse is told from better."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from numerics.verify.compare import Effect, compare_results, exit_code, load_results, render_changes, validate_results
from tests.numerics.verify.sample_results import sample_results

Results = dict[str, Any]


def _evidence(results: Results, claim: int, name: str) -> dict[str, Any]:
    row: dict[str, Any] = next(e for e in results["claims"][claim]["evidence"] if e["grade"] == name)
    return row


def _set(results: Results, claim: int, name: str, /, **values: Any) -> None:
    _evidence(results, claim, name).update(values)


CHANGES: list[tuple[str, Callable[[Results], Any], str, Effect]] = [
    ("claim removed", lambda r: r["claims"].pop(3), "G2: claim removed: verified → –", Effect.WORSE),
    (
        "claim added",
        lambda r: r["claims"].append({**r["claims"][0], "id": "N"}),
        "N: claim added: – → verified",
        Effect.NEUTRAL,
    ),
    (
        "failed claim added",
        lambda r: r["claims"].append({**r["claims"][1], "id": "N"}),
        "N: claim added: – → failed",
        Effect.WORSE,
    ),
    ("verdict", lambda r: r["claims"][0].update(verdict="failed"), "P1: verdict: verified → failed", Effect.WORSE),
    (
        "better",
        lambda r: r["claims"][2].update(verdict="verified"),
        "G1: verdict: incomplete → verified",
        Effect.BETTER,
    ),
    (
        "grade",
        lambda r: _set(r, 0, "enclosed", status="inconclusive"),
        "P1 enclosed: grade: passed → inconclusive",
        Effect.WORSE,
    ),
    ("exempt", lambda r: _set(r, 0, "enclosed", status="exempt"), "P1 enclosed: grade: passed → exempt", Effect.WORSE),
    (
        "failure hidden",
        lambda r: _set(r, 1, "differentiated", status="not_run"),
        "P1-diag differentiated: grade: failed → not run",
        Effect.WORSE,
    ),
    (
        "grade better",
        lambda r: _set(r, 1, "differentiated", status="passed"),
        "P1-diag differentiated: grade: failed → passed",
        Effect.BETTER,
    ),
    (
        "counterexample",
        lambda r: r["claims"][0]["refuted"][0]["counterexample"].update(L=3),
        "P1 variant flipped-sign by derived: counterexample:",
        Effect.NEUTRAL,
    ),
    (
        "refutation",
        lambda r: r["claims"][0]["refuted"][0].update(status="failed"),
        "P1 variant flipped-sign by derived: refutation: passed → failed",
        Effect.WORSE,
    ),
    (
        "variant removed",
        lambda r: r["claims"][0]["refuted"].pop(0),
        "P1 variant flipped-sign by derived: variant removed: passed → –",
        Effect.WORSE,
    ),
    (
        "variant added",
        lambda r: r["claims"][3]["refuted"].append(r["claims"][0]["refuted"][0]),
        "G2 variant flipped-sign by derived: variant added: – → passed",
        Effect.NEUTRAL,
    ),
    (
        "statement",
        lambda r: r["claims"][0]["parts"][0].update(latex="0 = 0"),
        r"P1: statement supervised: \left.\frac{d L_{\mathrm{sup}}}{d\alpha}\right|_{\alpha=0} = 0 → 0 = 0",
        Effect.NEUTRAL,
    ),
    ("assumptions", lambda r: r["claims"][0]["assumptions"].pop(), "P1: assumptions:", Effect.NEUTRAL),
    ("hypotheses", lambda r: r["claims"][0]["hypotheses"].clear(), "P1: hypotheses:", Effect.NEUTRAL),
    ("lemma", lambda r: r["lemmas"][0].update(status="failed"), "row-centring: lemma: passed → failed", Effect.WORSE),
    ("lemma removed", lambda r: r["lemmas"].pop(0), "row-centring: lemma removed: passed → –", Effect.WORSE),
    ("identities", lambda r: r["identities"].update(zero=1), "identities: reduce to 0: 2 → 1", Effect.WORSE),
    ("input", lambda r: r["inputs"][0].update(sha256="cd" * 32), "photograph: input:", Effect.NEUTRAL),
    (
        "version",
        lambda r: r["environment"]["packages"].update(sympy="1.15"),
        "sympy: version: 1.14.0 → 1.15",
        Effect.NEUTRAL,
    ),
    ("seed", lambda r: r["environment"].update(seed=7), "environment: seed: 0 → 7", Effect.NEUTRAL),
    ("slower", lambda r: _set(r, 0, "enclosed", seconds=4.2), "P1 enclosed: time: 2.05 s → 4.20 s", Effect.INFORMATION),
    ("faster", lambda r: _set(r, 0, "enclosed", seconds=0.0), "P1 enclosed: time: 2.05 s → 0.00 s", Effect.INFORMATION),
    (
        "run",
        lambda r: r["environment"].update(seconds=200.0),
        "whole run: time: 61.40 s → 200.00 s",
        Effect.INFORMATION,
    ),
]


@pytest.mark.parametrize(("name", "change", "line", "effect"), CHANGES, ids=[c[0] for c in CHANGES])
def test_each_kind_of_change_is_found_alone(
    name: str, change: Callable[[Results], Any], line: str, effect: Effect
) -> None:
    after = sample_results()
    change(after)
    changes = compare_results(sample_results(), after)
    assert len(changes) == 1
    assert str(changes[0]).startswith(line)
    assert changes[0].effect is effect
    assert exit_code(changes) == int(effect is Effect.WORSE)


def test_equal_results_have_no_change_and_small_time_differences_are_noise() -> None:
    after = sample_results()
    _evidence(after, 0, "enclosed")["seconds"] = 4.0  # under twice 2.05
    before = sample_results()
    _evidence(before, 0, "derived")["seconds"] = 0.001
    _evidence(after, 0, "derived")["seconds"] = 0.09  # ninety times, but under the floor
    assert compare_results(before, after) == []


def test_partial_run_does_not_count_claims_it_was_not_asked_for() -> None:
    after = {**sample_results(), "partial": True, "claims": sample_results()["claims"][:1], "lemmas": []}
    assert exit_code(compare_results(sample_results(), after)) == 0


def test_rendering_puts_worse_first_and_names_every_change() -> None:
    after = sample_results()
    after["claims"][0]["verdict"] = "failed"
    after["environment"]["seed"] = 7
    changes = compare_results(sample_results(), after)
    out = io.StringIO()
    Console(file=out, width=100, color_system=None).print(render_changes(reversed(changes)))
    assert out.getvalue().splitlines() == [
        "Worse (1)",
        "  P1: verdict: verified → failed",
        "Neutral (1)",
        "  environment: seed: 0 → 7",
    ]


def test_sample_is_valid_and_survives_a_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(sample_results()))
    assert compare_results(load_results(path), validate_results(sample_results())) == []


BROKEN: list[tuple[Callable[[Results], Any], str]] = [
    (lambda r: r.update(schema_version=2), "schema_version 1: 2"),
    (lambda r: r.pop("schema_version"), "schema_version 1: None"),
    (lambda r: r.pop("claims"), "a list claims: NoneType"),
    (lambda r: r.update(claims={}), "a list claims: dict"),
    (lambda r: r.update(claims=["x"]), "claims must be objects"),
    (lambda r: r.update(lemmas="x"), "a list lemmas: str"),
    (lambda r: r.pop("environment"), "an object environment"),
    (lambda r: r["claims"][0].pop("id"), "every claim must have a text id"),
    (lambda r: r["claims"][0].update(id="G2"), "claim ids must differ"),
    (lambda r: r["claims"][0].update(verdict="fine"), "claim P1 has no known verdict: fine"),
    (lambda r: r["claims"][0].pop("evidence"), "claim P1 must have a list evidence"),
    (lambda r: r["claims"][0].pop("refuted"), "claim P1 must have a list refuted"),
    (lambda r: _set(r, 0, "derived", status="ok"), "claim P1 evidence has no known status: ok"),
    (lambda r: _set(r, 0, "derived", grade="guessed"), "claim P1 evidence has no known grade: guessed"),
    (lambda r: _set(r, 0, "derived", grade="sloped"), "claim P1 must have each grade once"),
    (lambda r: _set(r, 0, "derived", seconds="1"), "claim P1 seconds must be a number: 1"),
    (lambda r: _set(r, 0, "derived", status="failed"), "claim P1 verdict must follow from its evidence (failed)"),
    (lambda r: r["claims"][0]["refuted"][0].update(route="x"), "claim P1 refuted has no known route: x"),
    (lambda r: r["claims"][0]["refuted"][0].update(variant=3), "claim P1 variant must be text: 3"),
]


@pytest.mark.parametrize(("spoil", "message"), BROKEN, ids=[b[1] for b in BROKEN])
def test_what_is_not_a_results_file_is_refused_in_one_sentence(spoil: Callable[[Results], Any], message: str) -> None:
    results = deepcopy(sample_results())
    spoil(results)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        validate_results(results, "A.json")
    text = str(caught.value)
    assert text.startswith("A.json")
    assert "; " in text
    assert "\n" not in text


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[]", b"3", b"null", b"[" * 100_000])
def test_unreadable_files_are_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.json.*numerics verify"):
        load_results(path)
    with pytest.raises(ValueError, match="must exist"):
        load_results(tmp_path)
