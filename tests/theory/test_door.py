"""``python -m theory``: what a person sees, and what happens on bad input."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import theory.__main__ as door
from theory import claims, lemmas
from theory.identities import identities
from theory.printing import text
from theory.sums import length

CHECKOUT = Path(__file__).resolve().parents[2]


def run(capsys, *arguments):
    code = door.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def words(output):
    """The output without layout."""
    return "".join(output.split())


def shell(command):
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(
        command, shell=True, cwd=CHECKOUT, env=environment, capture_output=True, encoding="utf-8", check=False
    )


def test_list_shows_every_claim_and_lemma_with_its_sentence(capsys):
    code, out, err = run(capsys, "list")
    assert (code, err) == (0, "")
    for claim in claims():
        assert claim.id in out
        assert words(claim.sentence) in words(column(out, 1))
    for lemma in lemmas():
        assert words(lemma.title) in words(column(out, 1))


def column(output, number):
    """One column of the list, whose first column holds no spaces."""
    kept = []
    for line in output.splitlines():
        cells = line.strip().split(maxsplit=1)
        starts_inside = line.startswith("    ")
        kept.append(line if starts_inside or len(cells) <= number else cells[number])
    return "\n".join(kept)


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_show_prints_statement_limits_and_every_step(capsys, claim):
    code, out, err = run(capsys, "show", claim.id)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100 + out.count("\u0304")
    everything = words(out)
    for line in (claim.title, claim.sentence, claim.source):
        assert words(line) in everything
    for sentence in (*claim.assumptions, *claim.not_needed, *claim.not_shown):
        assert words(sentence) in everything
    for part in claim.parts:
        assert part.label in out
        assert words(part.text) in everything
        for number in range(1, len(part.derivation().steps) + 1):
            assert f"\n  {number}  " in out
    for hypothesis in claim.hypotheses:
        assert words(f"where {text(hypothesis.expression)} = 0") in everything


def test_the_rule_stands_beside_the_line(capsys):
    _, out, _ = run(capsys, "show", "softmax-value")
    (line,) = [x for x in out.splitlines() if x.strip().startswith("3")]
    assert "m[i,j]/n[i]" in line
    assert "equal by Σ m = n" in line


@pytest.mark.parametrize("name", [*(c.id for c in claims()), *(lemma.id for lemma in lemmas())])
def test_show_latex_prints_a_line_a_step(capsys, name):
    code, out, _ = run(capsys, "show", name, "--latex")
    assert code == 0
    found = next((c for c in claims() if c.id == name), None)
    derivations = [p.derivation() for p in found.parts] if found else [
        lemma.derivation for lemma in lemmas() if lemma.id == name
    ]  # fmt: skip
    steps = [line for line in out.splitlines() if " % " in line]
    assert len(steps) == sum(len(d.steps) for d in derivations)
    assert "Σ_{" not in "".join(line.partition(" % ")[0] for line in steps)


def test_identities_lists_all_with_residue_zero(capsys):
    code, out, _ = run(capsys, "identities")
    assert code == 0
    assert f"{len(identities())} of {len(identities())} identities reduce to 0" in out
    assert all(words(identity.name) in words(out) for identity in identities() if len(identity.name) < 20)


def test_a_false_identity_is_counted_and_fails(capsys, monkeypatch):
    (good, *rest) = identities()
    bad = replace(good, name="planted", right=good.right + length)
    monkeypatch.setattr(door, "identities", lambda: (bad, *rest))
    code, out, _ = run(capsys, "identities")
    assert code == 1
    assert f"{len(rest)} of {len(rest) + 1} identities reduce to 0" in out
    assert "−L" in out


def test_an_unknown_identifier_is_one_sentence_on_stderr_and_code_2(capsys):
    code, out, err = run(capsys, "show", "P9")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for word in ("P9", "P1-diag", "softmax-slope", "python -m theory list"):
        assert word in err


@pytest.mark.parametrize("arguments", [(), ("show",), ("prove", "P1"), ("show", "P1", "--colour")])
def test_bad_arguments_end_with_code_2_and_nothing_on_stdout(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        door.main(arguments)
    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert out == ""
    assert err


def test_help_shows_every_command_with_an_example(capsys):
    with pytest.raises(SystemExit) as ended:
        door.main(["--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    for command in ("list", "show P1", "show P1 --latex", "identities"):
        assert f"python -m theory {command}" in out


def test_interruption_is_quiet(capsys, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(door, "main", interrupted)
    assert door._run() == 130
    assert capsys.readouterr() == ("", "")


def test_the_module_runs_as_a_program():
    ran = shell(f"{sys.executable} -m theory show P9")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Traceback" not in ran.stderr


def test_a_closed_pipe_is_quiet():
    ran = shell(f"{sys.executable} -m theory show G8 | head -1")
    assert ran.stderr == ""
    assert ran.stdout.startswith("G8")
