"""The house keeps its own promises: shapes are checked, layers hold, the wheel and the lock say what they should."""

import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from setuptools import find_packages

CHECKOUT = Path(__file__).resolve().parent.parent
ROOMS = ("theory", "numerics", "training", "paper_figures")
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("room", ROOMS)
def test_shapes_are_checked_in_every_room_but_theory(room):
    spec = importlib.import_module(room).__spec__
    assert spec is not None
    assert ("Jaxtyping" in type(spec.loader).__name__) == (room != "theory")


def test_a_wrong_shape_is_refused(tmp_path):
    """In a process of its own: a stand-in ``numerics`` whose function is given sequences of different lengths."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "numerics.py").write_text(
        "from jaxtyping import Float\n"
        "from torch import Tensor\n"
        'def gap(left: Float[Tensor, "tokens"], right: Float[Tensor, "tokens"]) -> Float[Tensor, ""]:\n'
        "    return left[0] - right[0]\n"
    )
    (tmp_path / "test_gap.py").write_text(
        "import numerics, pytest, torch\n"
        "def test_equal_lengths():\n"
        "    assert numerics.gap(torch.zeros(3), torch.zeros(3)).shape == ()\n"
        "def test_unequal_lengths():\n"
        "    numerics.gap(torch.zeros(3), torch.zeros(4))\n"
    )
    hook = next(option for option in PROJECT["tool"]["pytest"]["ini_options"]["addopts"] if "jaxtyping" in option)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", hook, "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "Type-check error" in ran.stdout


@pytest.mark.parametrize(
    ("room", "statement", "contract"),
    [("theory", "import numpy", "theory holds no floats"), ("numerics", "import training", "Arrows go down")],
)
def test_a_planted_upward_import_breaks_the_layers(tmp_path, room, statement, contract):
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    for name in ROOMS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(statement + "\n" if name == room else "")
    lint_imports = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([lint_imports, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    broken = [line for line in ran.stdout.splitlines() if line.endswith("BROKEN")]
    assert len(broken) == 1
    assert broken[0].startswith(contract)


def test_the_wheel_holds_the_four_rooms_alone():
    found = find_packages(str(CHECKOUT), include=PROJECT["tool"]["setuptools"]["packages"]["find"]["include"])
    assert {name.partition(".")[0] for name in found} == set(ROOMS)


def test_the_lock_pins_every_requirement_within_its_range():
    lines = (CHECKOUT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = dict(line.lower().split("==") for line in lines if not line.startswith("#"))
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pins.values()), "exact public versions only"
    extras = PROJECT["project"]["optional-dependencies"]
    for text in [*PROJECT["project"]["dependencies"], *extras["dev"], *extras["bench"]]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(pins[wanted.name.lower()]), text
