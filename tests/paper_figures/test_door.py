"""The door: what it lists, what it refuses, and that no file is ever half there."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures import figure as writing
from paper_figures.__main__ import main
from paper_figures.catalogue import figures, find_figure
from paper_figures.figure import as_json, write_together
from paper_figures.kept import KeptRecords
from paper_figures.style import figure_style


def one_sentence(err: str) -> str:
    """The error as printed: one line, no traceback."""
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    return err


def test_list_names_every_figure_its_files_and_the_command_for_each(capsys):
    assert main(["list"]) == 0
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    for figure in figures():
        assert figure.name in shown
        sources = figure.sources(KeptRecords())
        assert sources
        for source in sources:
            assert source.command.split()[0] in shown


@pytest.mark.usefixtures("stand_ins")
def test_list_says_which_file_is_missing_and_how_to_get_it(capsys):
    assert main(["list"]) == 0
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert shown.count(" yes ") == 2
    assert shown.count(" no ") == 1
    assert "training run toy" in shown


def test_help_shows_every_command_with_an_example(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "python -m paper_figures list" in shown
    assert "python -m paper_figures make fig14" in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["make", "fig99"], "got 'fig99'"), (["make", "all", "fig99"], "got 'fig99'"), (["make"], "none was given")],
)
def test_bad_names_are_one_sentence_and_exit_code_2(arguments, says, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert says in one_sentence(capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("stand_ins")
def test_all_draws_what_it_can_and_names_what_is_missing(tmp_path, capsys):
    assert main(["make", "all", "--out", str(tmp_path)]) == 0
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "lacking: not drawn" in shown
    assert "python -m training run toy --scale laptop" in shown
    assert "drawn well" in shown
    assert {path.name for path in tmp_path.iterdir()} == {f"plain.{s}" for s in ("json", "pdf", "png", "svg")}


@pytest.mark.usefixtures("stand_ins")
def test_a_named_figure_without_its_record_is_refused(tmp_path, capsys):
    assert main(["make", "plain", "lacking", "--out", str(tmp_path)]) == 2
    assert "python -m training run toy --scale laptop" in one_sentence(capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("place", ["file", "file/below"])
def test_an_output_folder_that_cannot_be_is_refused(place, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert main(["make", "plain", "--out", str(tmp_path / place)]) == 2
    assert "name another folder" in one_sentence(capsys.readouterr().err)
    assert (tmp_path / "file").read_text() == "mine"


class FullDisk:
    """Stands in for ``os`` where files are written: the disk fills up in the middle of the third file."""

    def __init__(self):
        self.opened = 0

    def __getattr__(self, name):
        return getattr(os, name)

    def fdopen(self, handle, mode):
        file = os.fdopen(handle, mode, buffering=0)
        self.opened += 1
        if self.opened < 3:
            return file
        file.write(b"half")
        file.close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.usefixtures("stand_ins")
def test_a_full_disk_leaves_no_half_written_file(monkeypatch, tmp_path, capsys):
    (tmp_path / "plain.png").write_bytes(b"the figure of yesterday")
    monkeypatch.setattr(writing, "os", FullDisk())
    assert main(["make", "plain", "--out", str(tmp_path)]) == 2
    assert "No space left on device" in one_sentence(capsys.readouterr().err)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"plain.png": b"the figure of yesterday"}


def test_an_interrupted_write_leaves_no_half_written_file(monkeypatch, tmp_path):
    def interrupted(source: str, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_together(tmp_path, {"a.png": b"a", "a.json": b"{}"})
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("stand_ins")
def test_a_fault_of_the_software_is_exit_code_3_and_debug_shows_where(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("paper_figures.__main__.rendered", lambda name, drawing: 1 / 0)
    assert main(["make", "plain", "--out", str(tmp_path)]) == 3
    assert "internal error: ZeroDivisionError" in one_sentence(capsys.readouterr().err)
    assert main(["make", "plain", "--out", str(tmp_path), "--debug"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_importing_the_style_changes_no_setting_and_leaving_it_restores_them_all():
    program = (
        "import matplotlib; before = dict(matplotlib.rcParams); import paper_figures.style;"
        "assert dict(matplotlib.rcParams) == before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with matplotlib.rc_context({"font.size": 31.0, "text.usetex": True}):
        before = dict(matplotlib.rcParams)
        with figure_style():
            assert matplotlib.rcParams["font.size"] == 8.0
            assert not matplotlib.rcParams["text.usetex"]
        assert dict(matplotlib.rcParams) == before


@given(st.lists(st.lists(st.one_of(st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)))))
def test_numbers_are_saved_as_they_are(rows):
    numbers = {"rows": rows, "text": "[ 1, 2 ]", "lines": "[\n1,\n2\n]"}
    assert json.loads(as_json(numbers)) == numbers


def test_a_figure_is_found_by_its_number_with_and_without_a_nought():
    assert find_figure("fig4") is find_figure("fig04")
