"""The report of the Coq proofs counts only for its own sources, and only with the expected axioms."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import theory
from numerics.verify.mechanised import EXPECTED_AXIOMS, mechanised
from numerics.verify.records import Status


@pytest.fixture
def report(tmp_path):
    folder = Path(theory.__file__).parent / "formal"
    content = {
        "theorems": [{"name": "P1_supervised", "claim": "P1", "axioms": sorted(EXPECTED_AXIOMS)}],
        "sources": {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.glob("*.v")},
        "coq": "8.16.1",
    }
    path = tmp_path / "results.json"

    def write(**changes):
        path.write_text(json.dumps({**content, **changes}), encoding="utf-8")
        return path

    return write


def test_a_fresh_report_passes_for_the_claims_it_proves(report):
    evidence = mechanised("P1", report())
    assert evidence.status is Status.PASSED
    assert evidence.numbers["theorems"] == ["P1_supervised"]
    assert mechanised("G8", report()).status is Status.NOT_RUN


def test_a_stale_or_unreadable_report_reads_as_not_run(report):
    assert "changed" in mechanised("P1", report(sources={"Softmax.v": "0"})).summary
    assert mechanised("P1", report(theorems="none")).status is Status.NOT_RUN
    path = report()
    path.write_text("{", encoding="utf-8")
    assert "again" in mechanised("P1", path).summary


def test_an_unexpected_axiom_fails(report):
    theorems = [{"name": "P1_supervised", "claim": "P1", "axioms": ["admitted.cheat"]}]
    evidence = mechanised("P1", report(theorems=theorems))
    assert evidence.status is Status.FAILED
    assert "cheat" in evidence.summary
