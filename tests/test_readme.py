"""The README's commands parse and its Python runs."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from numerics.__main__ import COMMANDS
from numerics.__main__ import main as numerics_door
from paper_figures.__main__ import main as figures_door
from theory.__main__ import main as theory_door
from training.__main__ import main as training_door

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOORS = {
    "numerics": numerics_door,
    "paper_figures": figures_door,
    "theory": theory_door,
    "training": training_door,
}
MODULES = sorted(set(re.findall(r"python -m (\w+[^`\n]*)", README)))
TARGETS = sorted(set(re.findall(r"(?<!paper_figures )\bmake ([a-z-]+)\b", README)))


def _help(arguments: list[str]) -> str:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), pytest.raises(SystemExit) as stopped:
        DOORS[arguments[0]]([*arguments[1:], "--help"])
    assert stopped.value.code == 0
    return shown.getvalue()


@pytest.mark.parametrize("command", MODULES)
def test_a_command_of_the_readme_exists_with_its_options(command):
    for one in command.split(" && python -m "):
        words = shlex.split(one)
        text = _help(words[: 3 if words[:2] == ["training", "data"] else 2])
        assert all(word in text for word in words[2:] if word.startswith("--"))


@pytest.mark.parametrize("target", TARGETS)
def test_a_make_target_of_the_readme_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_slope_checks_of_the_readme_print_what_it_says(capsys):
    exec(compile(_code("check_slope"), "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "pass" in said
    assert "left and right slopes differ" in said


def test_the_model_audit_of_the_readme_prints_a_verdict(capsys):
    exec(compile(_code("audit_model"), "README.md", "exec"), {})
    assert "visible" in capsys.readouterr().out


def _code(mentions: str) -> str:
    (found,) = [code for code in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL) if mentions in code]
    return found


def test_the_proposition_of_the_readme_is_verified_and_a_false_one_is_refuted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = _code("CLAIM = Claim(")
    assert len(code.splitlines()) <= 35
    Path("my_claim.py").write_text(code, encoding="utf-8")
    assert numerics_door(["verify", "--module", "my_claim.py", "--jobs", "1", "--json", "true.json"]) == 0
    assert Path("reports/modules/my_claim/index.html").is_file()
    Path("wrong.py").write_text(code.replace("parts=(blind(weighted),)", "parts=(blind(zero_centred_column_sums),)"))
    capsys.readouterr()
    assert numerics_door(["verify", "--module", "wrong.py", "--jobs", "1"]) == 1
    assert "true value -1/4, claimed 0 at L=2" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "is a Python file"),
        ("x = 1", "holds CLAIM or CLAIMS"),
        ("1 / 0", "stops with ZeroDivisionError"),
        ("from theory import find_claim\nCLAIM = find_claim('P1')", "is taken"),
    ],
)
def test_a_claim_module_that_cannot_be_used_gets_one_sentence(tmp_path, monkeypatch, capsys, content, says):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("held.py").write_text(content)
    assert numerics_door(["verify", "--module", "held.py" if content is not None else "no.py"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert says in error
    assert "Traceback" not in error


def test_the_readme_names_every_claim_and_every_verify_option():
    from theory.catalogue import claims

    assert all(f"| {claim.id} |" in README for claim in claims())
    assert {"verify", "compare", "audit"} <= set(COMMANDS)


def test_the_verdicts_of_the_readme_are_those_of_the_kept_records(capsys):
    shown = README.partition("<!-- verdicts -->\n")[2].partition("<!-- /verdicts -->")[0]
    assert training_door(["verdicts", "--markdown"]) == 0
    assert shown == capsys.readouterr().out


def test_the_claims_table_of_the_readme_is_made_from_the_kept_records(capsys):
    shown = README.partition("<!-- claims -->\n")[2].partition("<!-- /claims -->")[0]
    assert figures_door(["claims"]) == 0
    assert shown == capsys.readouterr().out


def test_a_report_that_cannot_be_written_gets_one_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert numerics_door(["verify", "--claim", "Q2", "--json", str(tmp_path / "file" / "x.json"), "--jobs", "1"]) == 2
    assert "could not be read or written" in " ".join(capsys.readouterr().err.split())
