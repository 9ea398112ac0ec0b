"""The mechanised proofs compile, admit nothing and rest on three axioms; planted errors do not pass.

Needs Coq with MathComp-Analysis; where they are missing, everything but the friendly refusal is skipped.
"""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FORMAL = Path(__file__).resolve().parents[2] / "theory" / "formal"
BASH = shutil.which("bash") or "/bin/bash"
AXIOMS = {
    "boolp.propositional_extensionality",
    "boolp.functional_extensionality_dep",
    "boolp.constructive_indefinite_description",
}
THEOREMS = {
    "softmax_slope": "G1",
    "G1_supervised": "G1",
    "G1_reconstruction": "G1",
    "P1_supervised": "P1",
    "P1_reconstruction": "P1",
    "P1_witness": "P1",
    "P1_diag_supervised": "P1-diag",
    "P1_diag_reconstruction": "P1-diag",
    "P1_diag_witness": "P1-diag",
}
FRIENDLY = "The mechanised proofs were not checked: "


def prove(sources, *arguments, **options):
    command = [BASH, str(sources / "prove.sh"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **options)


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """The output of one full run, its build folder and its report."""
    folder = tmp_path_factory.mktemp("formal")
    before = sorted(FORMAL.iterdir())
    ran = prove(FORMAL, "--build", folder / "build", "--report", folder / "results.json")
    if ran.returncode == 2 and FRIENDLY in ran.stderr:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert sorted(FORMAL.iterdir()) == before, "compiling leaves nothing beside the sources"
    return ran.stdout, folder / "build", json.loads((folder / "results.json").read_text(encoding="utf-8"))


@pytest.fixture
def planted(tmp_path):
    """Makes a small project, of Tiny.v and Axioms.v, around a copy of the script; returns what proving it gives."""
    if shutil.which("coqc") is None:
        pytest.skip("coqc was not found: the script refuses before it looks at the sources")

    def run(source, questions="Print Assumptions tiny. (* P1 *)"):
        shutil.copy(FORMAL / "prove.sh", tmp_path)
        (tmp_path / "_CoqProject").write_text("-R . Blindness\nTiny.v\nAxioms.v\n", encoding="utf-8")
        (tmp_path / "Tiny.v").write_text(source + "\n", encoding="utf-8")
        (tmp_path / "Axioms.v").write_text(f"From Blindness Require Import Tiny.\n{questions}\n", encoding="utf-8")
        report = tmp_path / "results.json"
        report.write_text("an older report", encoding="utf-8")
        ran = prove(tmp_path, "--build", tmp_path / "build", "--report", report)
        if FRIENDLY in ran.stderr:
            pytest.skip(ran.stderr.strip())
        return ran, report

    return run


@pytest.mark.slow
def test_every_theorem_is_proved_from_the_three_axioms_alone(proved):
    printed, _, results = proved
    assert results["schema_version"] == 1
    assert {theorem["name"]: theorem["claim"] for theorem in results["theorems"]} == THEOREMS
    assert all(set(theorem["axioms"]) == AXIOMS for theorem in results["theorems"])
    assert all(f"{name} ({claim})" in printed for name, claim in THEOREMS.items())
    assert re.match(r"\d+\.\d+", results["coq"])
    assert results["mathcomp_analysis"]
    assert results["seconds"] >= 1


@pytest.mark.slow
def test_the_report_names_every_source_with_its_hash(proved):
    _, _, results = proved
    assert results["sources"] == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FORMAL.glob("*.v")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "where", "true", "false"),
    [
        ("Proposition1.v", "Theorem P1_reconstruction", "(- (L%:R ^- 2 * frob", "((L%:R ^- 2 * frob"),
        ("Proposition1.v", "Theorem P1_reconstruction", "(- (L%:R ^- 2 * frob", "(- (L%:R ^- 1 * frob"),
        ("Proposition1.v", "Theorem P1_reconstruction", "frobenius Dbar C", "frobenius Delta C"),
        ("Proposition1.v", "Lemma full_mask_centred_column_sums", "\\sum_i Delta i j = 0", "\\sum_i Delta j i = 0"),
        ("DiagonalMask.v", "Theorem P1_diag_reconstruction", "(- ((L%:R - 1) ^- 2 * frob", "(((L%:R - 1) ^- 2 * frob"),
        ("DiagonalMask.v", "Theorem P1_diag_reconstruction", "((L%:R - 1) ^- 2 * frob", "(L%:R ^- 2 * frob"),
        ("DiagonalMask.v", "Theorem P1_diag_supervised",
         "column_sums : forall j, \\sum_i Dbar i j", "column_sums : forall j, \\sum_i Delta i j"),
        ("Witnesses.v", "Theorem P1_witness", "(- 4%:R^-1)", "4%:R^-1"),
    ],
    ids=[
        "P1 with the sign flipped", "P1 with 1/L", "P1 with the uncentred pattern", "row sums for column sums",
        "P1-diag with the sign flipped", "P1-diag with 1/L²", "P1-diag for zero column sums of the pattern itself",
        "witness with the sign flipped",
    ],
)  # fmt: skip
def test_a_false_statement_does_not_compile(proved, tmp_path, file, where, true, false):
    _, build, _ = proved
    text = (FORMAL / file).read_text(encoding="utf-8")
    assert true in text
    wrong = text.replace(true, false)
    (tmp_path / file).write_text(wrong, encoding="utf-8")
    ran = subprocess.run(
        ["coqc", "-w", "none", "-R", str(build), "Blindness", file],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ran.returncode != 0
    line = re.search(r"line (\d+), characters", ran.stderr)
    assert line is not None, ran.stderr
    proof = wrong.index("Proof.", wrong.index(where))
    end = wrong.index("Qed.", proof)
    first, last = (wrong[:place].count("\n") + 1 for place in (proof, end))
    assert first <= int(line.group(1)) <= last, f"it must fail inside the proof of {where}:\n{ran.stderr}"


def test_a_true_tiny_theorem_passes(planted):
    ran, report = planted("Theorem tiny : 1 + 1 = 2.\nProof. reflexivity. Qed.")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    results = json.loads(report.read_text(encoding="utf-8"))
    assert results["theorems"] == [{"name": "tiny", "claim": "P1", "axioms": []}]


@pytest.mark.parametrize(
    ("source", "questions", "reason"),
    [
        ("Theorem tiny : 1 = 2.\nProof. Admitted.", "Print Assumptions tiny. (* P1 *)", "nothing may be admitted"),
        ("Axiom tiny_axiom : 1 = 2.\nTheorem tiny : 1 = 2.\nProof. exact tiny_axiom. Qed.",
         "Print Assumptions tiny. (* P1 *)", "nothing may be admitted"),
        ("Variable shortcut : 1 = 2.\nTheorem tiny : 1 = 2.\nProof. exact shortcut. Qed.",
         "Print Assumptions tiny. (* P1 *)", "tiny rests on Tiny.shortcut"),
        ("Theorem tiny : 1 = 2.\nProof. reflexivity. Qed.", "Print Assumptions tiny. (* P1 *)", "does not compile"),
        ("Theorem tiny : 1 = 1.\nProof. reflexivity. Qed.", "", "the assumptions of every Theorem"),
        ("Theorem tiny : 1 = 1.\nProof. reflexivity. Qed.", "Print Assumptions tiny.", "with its claim"),
    ],
    ids=["admitted", "axiom", "variable outside a section", "wrong proof", "theorem not asked for", "no claim"],
)  # fmt: skip
def test_what_is_not_proved_leaves_no_report(planted, source, questions, reason):
    ran, report = planted(source, questions)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert reason in ran.stderr
    assert not report.exists()


def test_without_coq_the_script_says_what_to_install(tmp_path):
    (tmp_path / "bin").mkdir()
    ran = prove(FORMAL, "--report", tmp_path / "results.json", env={"PATH": str(tmp_path / "bin")})
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith(FRIENDLY)
    assert "apt-get install --no-install-recommends coq libcoq-mathcomp-analysis" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "results.json").exists()


def test_an_unknown_argument_is_refused_with_the_ones_that_exist(tmp_path):
    ran = prove(FORMAL, "--bild", tmp_path)
    assert ran.returncode == 2
    assert ran.stderr == "unknown argument --bild: prove.sh takes --build FOLDER and --report FILE\n"


def test_nothing_is_admitted_in_the_sources():
    words = re.compile(r"\b(Admitted|admit|Axiom|Conjecture|Parameters?|bypass_check)\b")
    found = [path.name for path in sorted(FORMAL.glob("*.v")) if words.search(path.read_text(encoding="utf-8"))]
    assert len(list(FORMAL.glob("*.v"))) >= 5
    assert found == []
