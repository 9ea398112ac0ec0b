"""The command prints, writes its report whole, and refuses bad input in one sentence with exit code 2."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from numerics.__main__ import main
from numerics.audit.verdict import Outcome
from numerics.inputs import SymbolData, TokenData, load_sequences

WALK = np.random.default_rng(0).standard_normal((12, 16, 2)).cumsum(axis=1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("walk.npz", tokens=WALK, labels=np.arange(12) % 2)
    np.savez("ids.npz", tokens=np.random.default_rng(1).integers(0, 7, (12, 16)).astype(np.uint8))
    np.savez("one.npz", tokens=WALK[:1])
    np.savez("long.npz", tokens=np.zeros((2, 5000), dtype=np.uint8))
    np.save("wrong.npy", np.eye(15))
    return tmp_path


def leaves(value):
    if isinstance(value, dict):
        for held in value.values():
            yield from leaves(held)
    elif isinstance(value, list):
        for held in value:
            yield from leaves(held)
    else:
        yield value


@pytest.mark.parametrize("name", ["walk", "ids", "one"])
def test_a_report_is_written_and_json_alone_goes_to_standard_output(name, folder, capsys):
    assert main(["audit", "--tokens", f"{name}.npz", "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    place = folder / "reports" / "audit" / name
    assert json.loads((place / "audit.json").read_text(encoding="utf-8")) == printed
    assert sorted(p.name for p in place.iterdir()) == ["audit.json", "audit.png"]
    with Image.open(place / "audit.png") as picture:
        assert min(picture.size) > 500
    assert printed["verdict"]["outcome"] in set(Outcome)
    asked = ["blind_energy_fraction", "pooled_response", "spt_slope", "spt_slope_autograd", "spt_slope_diagonal"]
    for estimate in (printed["numbers"][n] for n in [*asked, "spt_slope_masked", "blind_range", "visible_dimension"]):
        assert {"value", "low", "high", "method"} <= set(estimate)
        if estimate["low"] is not None and estimate["value"] is not None:
            assert estimate["low"] <= estimate["value"] <= estimate["high"]
    assert all(np.isfinite(v) for v in leaves(printed) if isinstance(v, float))
    assert len(printed["profiles"]["descent"]["value"]) == 16


def test_the_terminal_shows_every_number_with_its_interval(folder, capsys):
    assert main(["audit", "--tokens", "walk.npz", "--report", "elsewhere", "--json", "copy.json"]) == 0
    out = capsys.readouterr().out
    results = json.loads((folder / "copy.json").read_text(encoding="utf-8"))
    assert (folder / "elsewhere" / "walk" / "audit.json").exists()
    assert results["verdict"]["sentence"] in " ".join(out.split())
    for name in ("spt_slope", "spt_slope_masked", "order_slope"):
        held = results["numbers"][name]
        assert f"{held['low']:.4g} to {held['high']:.4g}" in out
    assert "would help" in out
    assert "more probes" in out


def test_the_descent_direction_is_written_as_an_array(folder):
    assert main(["audit", "--tokens", "walk.npz", "--direction", "out/direction.npy"]) == 0
    centring = np.eye(16) - 1 / 16
    moment = np.einsum("nic,njc->ij", WALK, WALK) / 12
    np.testing.assert_allclose(np.load("out/direction.npy"), centring @ moment @ centring, atol=1e-10)


def test_the_demo_and_the_rule_need_no_file(folder, capsys):
    assert main(["audit", "--rule"]) == 0
    rule = capsys.readouterr().out
    assert all(str(outcome) in rule for outcome in Outcome)
    assert not (folder / "reports").exists()


def test_the_photograph_would_be_helped(folder, capsys):
    assert main(["audit", "--demo", "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["verdict"]["outcome"] == "would_help"
    assert printed["numbers"]["blind_energy_fraction"]["value"] == pytest.approx(8 / 9, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--demo"),
        (["--demo", "--tokens", "walk.npz"], "either"),
        (["--tokens", "missing.npz"], "must exist"),
        (["--tokens", "walk.npz", "--pattern", "spiral"], "unknown pattern"),
        (["--tokens", "walk.npz", "--pattern", "window:inf"], "finite"),
        (["--tokens", "walk.npz", "--pattern", "windows:3"], "unknown pattern"),
        (["--tokens", "walk.npz", "--pattern", "wrong.npy"], "L=16"),
        (["--tokens", "walk.npz", "--mask", "causally"], "unknown mask"),
        (["--tokens", "walk.npz", "--mask", "wrong.npy"], "band:W"),
        (["--tokens", "walk.npz", "--pooling", "cls:16"], "0..15"),
        (["--tokens", "walk.npz", "--pooling", "cls:-1"], "0..15"),
        (["--tokens", "walk.npz", "--pooling", "cls:²"], "0..15"),
        (["--tokens", "walk.npz", "--mask-ratio", "0"], "between 0 and 1"),
        (["--tokens", "walk.npz", "--mask-ratio", "1"], "between 0 and 1"),
        (["--tokens", "walk.npz", "--mask-ratio", "nan"], "between 0 and 1"),
        (["--tokens", "walk.npz", "--positions", "wrong.npy"], "15 rows, L=16"),
        (["--tokens", "walk.npz", "--positions", "sinusoidal:7"], "even width"),
        (["--tokens", "walk.npz", "--direction", "there.txt"], ".npy"),
        (["--tokens", "long.npz", "--direction", "there.npy"], "L=4096"),
    ],
)
def test_bad_options_get_one_sentence_and_leave_nothing(arguments, word, folder, capsys):
    before = sorted(p.name for p in folder.iterdir())
    assert main(["audit", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert word in said.err
    assert said.err.count("error:") == 1
    assert "Traceback" not in said.err
    assert sorted(p.name for p in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arrays", "word"),
    [
        ({"tokens": np.full((2, 4, 1), np.nan)}, "finite"),
        ({"tokens": np.ones((2, 4))}, "N x L x d"),
        ({"tokens": np.full((2, 4, 1), 1e200)}, "moderate size"),
        ({"tokens": np.full((2, 4, 1), -1e-200)}, "moderate size"),
        ({"tokens": np.ones((2, 4, 1), dtype=np.int64)}, "astype"),
        ({"tokens": np.array([[0, -1]])}, "non-negative"),
        ({"tokens": np.zeros((3, 1), dtype=int)}, "two positions"),
        ({"tokens": np.zeros((0, 4), dtype=int)}, "at least one sequence"),
        ({"x": np.ones(3)}, "rename"),
        ({"tokens": np.zeros((3, 4), dtype=int), "labels": np.array([0, 1])}, "one number a sequence"),
    ],
)
def test_bad_files_get_one_sentence_and_leave_nothing(arrays, word, folder, capsys):
    np.savez("bad.npz", **arrays)
    assert main(["audit", "--tokens", "bad.npz"]) == 2
    assert word in capsys.readouterr().err
    assert not (folder / "reports").exists()


def test_a_failure_while_drawing_leaves_nothing(folder, monkeypatch, capsys):
    monkeypatch.setattr("numerics.audit.command.draw", lambda results: 1 / 0)
    assert main(["audit", "--tokens", "walk.npz"]) == 3
    assert not (folder / "reports").exists()


def test_integers_are_symbols_and_floats_are_tokens(folder):
    ids, walk = load_sequences("ids.npz"), load_sequences("walk.npz")
    assert isinstance(ids, SymbolData)
    assert isinstance(walk, TokenData)
    assert ids.vocabulary == len(np.unique(ids.symbols)) == 7
    np.savez("sparse.npz", tokens=np.array([[5, 10**15, 5]]))
    sparse = load_sequences("sparse.npz")
    assert isinstance(sparse, SymbolData)
    assert sparse.symbols.tolist() == [[0, 1, 0]]
