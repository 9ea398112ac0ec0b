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

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOORS = {"numerics": numerics_door, "paper_figures": figures_door, "theory": theory_door}
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
    words = shlex.split(command)
    text = _help(words[:2])
    assert all(word in text for word in words[2:] if word.startswith("--"))


@pytest.mark.parametrize("target", TARGETS)
def test_a_make_target_of_the_readme_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL))
def test_the_python_of_the_readme_runs_and_prints_what_it_says(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "pass" in said
    assert "left and right slopes differ" in said


def test_the_readme_names_every_claim_and_every_verify_option():
    from theory.catalogue import claims

    assert all(f"| {claim.id} |" in README for claim in claims())
    assert set(COMMANDS) == {"verify", "compare"}
