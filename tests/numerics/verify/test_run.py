"""The verifier end to end: verdicts, exit codes, files."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from numerics import __main__ as door
from numerics.gradcheck import SlopeOutcome
from numerics.inputs import TokenData, photograph_crops
from numerics.routes.slope import slope_check_with_control
from numerics.verify.compare import load_results
from numerics.verify.files import write_whole
from numerics.verify.grades import run_grade
from numerics.verify.plan import Plan
from numerics.verify.records import REQUIRED_GRADES, Evidence, Grade, Status, Verdict, verdict
from numerics.verify.run import verify_claim
from theory import objects
from theory.catalogue import claims, find_claim
from theory.claim import Constraint

SMALL = Plan(trials=2, instances=2, examples=12)


def _all(status, *, but=None):
    changes = but or {}
    return [Evidence(grade, changes.get(grade, status), 0.0, "") for grade in REQUIRED_GRADES]


def test_a_verdict_needs_every_required_grade():
    assert verdict(_all(Status.PASSED)) is Verdict.VERIFIED
    for grade in REQUIRED_GRADES:
        assert verdict(_all(Status.PASSED, but={grade: Status.FAILED})) is Verdict.FAILED
        for missing in (Status.NOT_RUN, Status.INCONCLUSIVE):
            assert verdict(_all(Status.PASSED, but={grade: missing})) is Verdict.INCOMPLETE
        assert verdict(_all(Status.PASSED, but={grade: Status.EXEMPT})) is Verdict.VERIFIED
    assert verdict(_all(Status.EXEMPT)) is Verdict.INCOMPLETE
    assert verdict([]) is Verdict.INCOMPLETE


def test_mechanised_and_trained_never_change_a_verdict():
    extra = [Evidence(Grade.MECHANISED, Status.FAILED, 0.0, ""), Evidence(Grade.TRAINED, Status.FAILED, 0.0, "")]
    assert verdict([*_all(Status.PASSED), *extra]) is Verdict.VERIFIED


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_every_claim_is_verified_at_small_size(claim, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no report of a mechanised proof here
    result = verify_claim(claim, SMALL)
    required = [e for e in result["evidence"] if e["grade"] in REQUIRED_GRADES]
    assert [(e["grade"], e["summary"]) for e in required if e["status"] == "failed"] == []
    assert result["verdict"] == "verified"
    assert {e["grade"]: e["status"] for e in result["evidence"]}["mechanised"] == "not_run"


def test_a_wrong_statement_fails_and_names_the_route():
    claim = find_claim("P1")
    wrong = replace(claim.parts[1], statement=-claim.parts[1].statement)
    result = verify_claim(replace(claim, parts=(claim.parts[0], wrong)), SMALL)
    failed = {e["grade"] for e in result["evidence"] if e["status"] == "failed"}
    assert result["verdict"] == "failed"
    assert {"derived", "enclosed", "differentiated", "sloped", "sampled"} <= failed


def test_a_claim_without_false_variants_is_not_verified():
    result = verify_claim(replace(find_claim("G2"), false_variants=()), SMALL)
    assert result["verdict"] == "failed"


def test_an_exempt_grade_shows_its_reason():
    claim = replace(find_claim("G2"), exempt={"sampled": "for a reason"})
    evidence = run_grade(claim, Grade.SAMPLED, SMALL)
    assert (evidence.status, evidence.summary) == (Status.EXEMPT, "for a reason")


@pytest.mark.parametrize(("grade", "reason"), [(Grade.SAMPLED, " "), (Grade.DERIVED, "why"), (Grade.REFUTED, "why")])
def test_an_exemption_needs_a_reason_and_some_grades_allow_none(grade, reason):
    claim = replace(find_claim("G2"), exempt={grade.value: reason})
    assert run_grade(claim, grade, SMALL).status is Status.FAILED


def test_a_hypothesis_that_leaves_no_pattern_is_vacuous():
    claim = find_claim("P1")
    pattern = objects.pattern
    i, j = pattern.formal_indices()
    nothing = Constraint("Δ = 0", "the pattern vanishes", pattern[i, j], (i, j))
    empty = replace(claim, parts=(replace(claim.parts[0], hypotheses=(nothing,)),))
    evidence = run_grade(empty, Grade.SAMPLED, SMALL)
    assert evidence.status is Status.FAILED
    assert "non-vacuous" in evidence.summary


def test_the_same_seed_gives_the_same_numbers():
    first, second = (run_grade(find_claim("G1"), Grade.DIFFERENTIATED, SMALL).numbers for _ in range(2))
    assert first == second
    other = run_grade(find_claim("G1"), Grade.DIFFERENTIATED, replace(SMALL, seed=1)).numbers
    assert other != first


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """The command with small sizes on short crops, in an empty folder."""
    short = photograph_crops(8)
    data = TokenData("short crops", short.tokens[:20], short.labels[:20])
    monkeypatch.setattr(door, "photograph_crops", lambda: data)
    monkeypatch.setattr(door, "Plan", lambda **given: replace(SMALL, **given))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_full_run_writes_both_reports_and_exits_zero(quick, monkeypatch, capsys):
    some = tuple(find_claim(identifier) for identifier in ("P1", "G2", "G3", "Q2"))
    monkeypatch.setattr(door, "all_claims", lambda: some)
    assert door.main(["verify", "--jobs", "1"]) == 0
    results = load_results(quick / "reports/verify/results.json")
    assert {c["verdict"] for c in results["claims"]} == {"verified"}
    assert results["identities"]["zero"] == results["identities"]["count"] >= 20
    assert {lemma["status"] for lemma in results["lemmas"]} == {"passed"}
    assert results["inputs"][0]["sequences"] == 20
    page = (quick / "reports/verify/index.html").read_text(encoding="utf-8")
    assert all(f'id="claim-{c.id}"' in page for c in some)
    assert "verified" in capsys.readouterr().out


def test_a_partial_run_prints_json_alone_and_leaves_the_full_report_alone(quick, capsys):
    write_whole(quick / "reports/verify/results.json", "kept")
    assert door.main(["verify", "--claim", "G2", "--json", "-", "--junit", "junit.xml", "--jobs", "1"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert results["partial"] is True
    assert [c["id"] for c in results["claims"]] == ["G2"]
    assert results["claims"][0]["refuted"][0]["counterexample"]["L"] == 2
    assert (quick / "reports/verify/results.json").read_text() == "kept"
    assert "<testsuite" in (quick / "junit.xml").read_text(encoding="utf-8")


def test_a_failed_claim_exits_one_and_an_internal_error_three(quick, monkeypatch, capsys):
    claim = find_claim("G2")
    monkeypatch.setattr("numerics.verify.run.claim_named", lambda *_: replace(claim, false_variants=()))
    assert door.main(["verify", "--claim", "G2", "--jobs", "1"]) == 1
    assert "refuted" in capsys.readouterr().out

    def broken(*args, **kwargs):
        raise RuntimeError("planted")

    monkeypatch.setattr(door, "run_verification", broken)
    assert door.main(["verify", "--claim", "G2"]) == 3
    said = capsys.readouterr().err
    assert "planted" in said
    assert "Traceback" not in said


def test_compare_says_what_changed(quick, capsys):
    door.main(["verify", "--claim", "G2", "--json", "a.json", "--jobs", "1"])
    results = json.loads((quick / "a.json").read_text(encoding="utf-8"))
    for evidence in results["claims"][0]["evidence"]:
        if evidence["grade"] == "sloped":
            evidence["status"] = "failed"
    results["claims"][0]["verdict"] = "failed"
    (quick / "b.json").write_text(json.dumps(results), encoding="utf-8")
    capsys.readouterr()
    assert door.main(["compare", "a.json", "a.json"]) == 0
    assert "Nothing changed" in capsys.readouterr().out
    assert door.main(["compare", "a.json", "b.json"]) == 1
    assert "sloped" in capsys.readouterr().out
    assert door.main(["compare", "a.json", "missing.json"]) == 2


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "file.txt"
    write_whole(target, "old")

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr("numerics.verify.files.os.replace", full)
    with pytest.raises(OSError, match="disk full"):
        write_whole(target, "new")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_real_tokens_of_several_features_and_classes_are_verified():
    rng = np.random.default_rng(0)
    data = TokenData("three classes", rng.standard_normal((6, 9, 2)), np.array([0, 1, 2, 0, 1, 2]))
    plan = replace(SMALL, data=data)
    for grade in (Grade.REPLAYED, Grade.ENCLOSED, Grade.DIFFERENTIATED, Grade.SLOPED):
        evidence = run_grade(find_claim("P1-diag"), grade, plan)
        assert evidence.status is Status.PASSED, evidence.summary


def test_an_inconclusive_slope_leaves_the_grade_inconclusive(monkeypatch):
    def unsure(*given):
        check, control = slope_check_with_control(*given)
        return replace(check, outcome=SlopeOutcome.INCONCLUSIVE), control

    monkeypatch.setattr("numerics.verify.grades.slope_check_with_control", unsure)
    assert run_grade(find_claim("P1"), Grade.SLOPED, SMALL).status is Status.INCONCLUSIVE
