"""JUnit: counts add up, nothing that did not run reads as passed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from numerics.verify.records import Grade
from numerics.verify.report_junit import render_junit
from tests.numerics.verify.sample_results import MARKUP, sample_results


def _root(results: dict[str, Any]) -> ET.Element:
    return ET.fromstring(render_junit(results).encode())


def test_one_suite_a_claim_one_case_a_grade_and_counts_add_up() -> None:
    root = _root(sample_results())
    suites = root.findall("testsuite")
    assert [s.get("name") for s in suites] == ["P1", "P1-diag", "G1", "G2"]
    for suite in suites:
        assert [c.get("name") for c in suite.findall("testcase")] == [str(g) for g in Grade]
        assert int(suite.get("failures", -1)) == len(suite.findall("testcase/failure"))
        assert int(suite.get("skipped", -1)) == len(suite.findall("testcase/skipped"))
    assert [(s.get("failures"), s.get("skipped")) for s in suites] == [("0", "2"), ("3", "2"), ("1", "3"), ("0", "2")]
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("36", "4", "9")


def test_failures_say_which_and_inconclusive_says_that_word() -> None:
    failures = {(f.get("type"), str(f.get("message"))) for f in _root(sample_results()).iter("failure")}
    assert ("inconclusive", "G1: enclosed inconclusive: radius too wide: 0.4") in failures
    assert any(kind == "failed" and message.endswith(MARKUP) for kind, message in failures)


def test_refuted_failure_lists_only_the_variants_that_were_missed() -> None:
    suite = _root(sample_results()).findall("testsuite")[1]
    text = suite.findtext("testcase[@name='refuted']/failure") or ""
    assert "L-for-L-1, route sloped: failed" in text
    assert "flipped-sign" not in text


def test_skipped_cases_carry_their_reason() -> None:
    suite = _root(sample_results()).findall("testsuite")[2]
    skipped = suite.find("testcase[@name='trained']/skipped")
    assert skipped is not None
    assert skipped.get("message") == "exempt: an identity, nothing to train"


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    results = sample_results()
    results["claims"][0]["id"] = "P\x001\ud800"
    results["claims"][0]["evidence"][0]["summary"] = "bell \x07"
    suite = ET.fromstring(render_junit(results).encode()).find("testsuite")
    assert suite is not None
    assert suite.get("name") == "P\ufffd1\ufffd"
