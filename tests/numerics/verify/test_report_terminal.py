"""The terminal table: fits, names what failed, says what did not run."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from numerics.verify.records import Verdict
from numerics.verify.report_terminal import not_run_line, overall_verdict, problems, render_table
from tests.numerics.verify.sample_results import sample_results


def _print(results: dict[str, Any], width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(render_table(results))
    return out.getvalue()


def test_table_fits_a_hundred_columns_with_a_whole_row_for_each_claim() -> None:
    lines = _print(sample_results()).splitlines()
    assert max(map(len, lines)) <= 100
    row = next(line for line in lines if line.startswith("P1-diag "))
    assert " ".join(row.split()) == "P1-diag ✓ 0.41 ✓ 1.32 ✓ 2.05 ✗ 0.90 ✗ 1.00 ✓ 4.80 ✗ 1.00 – – 11.5 failed"
    row = next(line for line in lines if line.startswith("G1 "))
    assert " ".join(row.split()) == "G1 ✓ 0.41 ✓ 1.32 ? 0.20 ✓ 12.4 ✓ 3.30 – ✓ 1.10 – ○ 18.7 incomplete"


def test_failures_name_claim_route_and_variant() -> None:
    lines = problems(sample_results())
    assert lines[0].startswith("P1-diag: differentiated failed: worst deviation 0.5")
    assert "P1-diag: false variant L-for-L-1 not rejected by sloped: no counterexample up to L = 4" in lines
    assert "G1: enclosed inconclusive: radius too wide: 0.4" in lines
    assert len(lines) == 5
    assert all(line.split(" <")[0] in " ".join(_print(sample_results()).split()) for line in lines)


def test_what_did_not_run_is_one_line_with_its_claims() -> None:
    assert not_run_line(sample_results()) == (
        "Not run: sampled (G1); mechanised (all claims); trained (P1, P1-diag, G2)"
    )


def test_overall_verdict_is_the_worst_of_claims_lemmas_and_identities() -> None:
    results = sample_results()
    assert overall_verdict(results) is Verdict.FAILED
    results["claims"] = [c for c in results["claims"] if c["verdict"] != "failed"]
    assert overall_verdict(results) is Verdict.INCOMPLETE
    results["claims"] = [c for c in results["claims"] if c["verdict"] == "verified"]
    assert overall_verdict(results) is Verdict.VERIFIED
    results["lemmas"][0]["status"] = "failed"
    assert overall_verdict(results) is Verdict.FAILED
    results["lemmas"][0]["status"] = "passed"
    results["identities"]["zero"] = 1
    assert overall_verdict(results) is Verdict.FAILED
    assert problems(results) == ["identities: 1 of 2 true identities do not reduce to 0"]


def test_console_markup_and_escape_codes_in_text_stay_text() -> None:
    results = sample_results()
    results["claims"][1]["evidence"][3]["summary"] = "[red]x[/red] \x1b[2J done"
    text = _print(results)
    assert "[red]x[/red]" in text
    assert "\x1b" not in text


def test_long_identifiers_do_not_widen_the_table() -> None:
    results = sample_results()
    results["claims"][0]["id"] = "a-very-long-identifier-of-a-claim"
    assert max(map(len, _print(results).splitlines())) <= 100


def test_partial_run_says_so() -> None:
    assert "partial" in _print({**sample_results(), "partial": True})
    assert "partial" not in _print(sample_results())
