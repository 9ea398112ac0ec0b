"""Records: what is missing, damaged, stale or of another schema is said in one sentence with the command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from numerics.errors import InputError
from paper_figures import fig12
from paper_figures.__main__ import main
from paper_figures.catalogue import find_figure
from paper_figures.kept import KeptRecords
from tests.paper_figures.made_records import csv, put

COMMAND = "python -m training run toy-fig10 --scale smoke"


@pytest.fixture
def own(made, tmp_path) -> Path:
    """The made-up record of toy-fig10 in a folder of the test's own."""
    shutil.copytree(made.folder / "toy-fig10-smoke", tmp_path / "records" / "toy-fig10-smoke")
    return tmp_path / "records"


def refused(own: Path, capsys, *names: str) -> str:
    """The one sentence with which a figure is refused, at exit code 2, without a file."""
    out = own.parent / "out"
    assert main(["make", *(names or ("fig10",)), "--records", str(own), "--scale", "smoke", "--out", str(out)]) == 2
    err = capsys.readouterr().err.strip()
    assert len(err.splitlines()) == 1
    assert COMMAND in err
    assert not out.exists()
    return err


def edit(own: Path, **changes: object) -> None:
    index = own / "toy-fig10-smoke" / "experiment.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | changes))


def test_a_missing_record_is_one_sentence_with_the_command(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert "missing: records of toy-fig10" in refused(tmp_path / "empty", capsys)


def test_a_changed_file_is_refused(own, capsys):
    with (own / "toy-fig10-smoke" / "examples.csv").open("a") as file:
        file.write("0,0,0,0,0,0,0\n")
    assert "missing or changed" in refused(own, capsys)


def test_a_truncated_index_is_refused(own, capsys):
    index = own / "toy-fig10-smoke" / "experiment.json"
    index.write_text(index.read_text()[:50])
    assert "cannot be read" in refused(own, capsys)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"schema_version": 2}, "schema_version is not 1"),
        ({"files": None}, "files and runs"),
        ({"name": "toy-fig6"}, "its folder says toy-fig10"),
    ],
)
def test_an_index_of_another_schema_or_experiment_is_refused(own, capsys, changes, says):
    edit(own, **changes)
    assert says in refused(own, capsys)


def test_a_table_without_a_column_is_refused(own, capsys):
    put(own, "toy-fig10", {"examples.csv": csv([{"label": 0, "example": 0, "position": 0, "x": 0.0}])})
    assert "it has no y, clean_x, clean_y" in refused(own, capsys)


def test_an_empty_table_and_an_unnamed_file_are_refused(own, capsys):
    put(own, "toy-fig10", {"examples.csv": b"label,example,position,x,y,clean_x,clean_y\n"})
    assert "it has no rows" in refused(own, capsys)
    put(own, "toy-fig10", {})
    assert "the index does not name it" in refused(own, capsys)


def test_all_draws_the_others_when_one_record_is_damaged(own, monkeypatch, tmp_path, capsys):
    figures = {name: find_figure(name) for name in ("fig10", "fig12")}
    monkeypatch.setattr("paper_figures.catalogue._FIGURES", figures)
    put(own, "toy-fig6", {"moments.csv": b"damaged"})
    assert main(["make", "all", "--records", str(own), "--out", str(tmp_path / "out")]) == 2
    assert "toy-fig6-smoke" in capsys.readouterr().err
    assert (tmp_path / "out" / "fig10.png").is_file()
    assert not (tmp_path / "out" / "fig12.png").exists()


def test_the_largest_scale_on_disk_is_drawn_unless_one_is_named(own):
    assert KeptRecords(own).scale_of("toy-fig10") == "smoke"
    shutil.copytree(own / "toy-fig10-smoke", own / "toy-fig10-paper")
    assert KeptRecords(own).scale_of("toy-fig10") == "paper"
    assert KeptRecords(own, "smoke").scale_of("toy-fig10") == "smoke"
    assert KeptRecords(own).scale_of("toy-fig4") == "paper"  # to be run


def test_a_record_of_other_runs_is_drawn_and_said_to_be_stale(made, tmp_path):
    assert made.read("toy-fig6").warning == ""
    shutil.copytree(made.folder / "toy-fig6-smoke", tmp_path / "toy-fig6-smoke")
    index = tmp_path / "toy-fig6-smoke" / "experiment.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"runs": {"trajectory-spt-s0-000000000000": "0" * 64}}))
    drawing = fig12.FIGURE.drawing(KeptRecords(tmp_path))
    assert drawing.numbers["record"]["stale"] is True
    assert "python -m training run toy-fig6 --scale smoke" in drawing.summary[-1]
    assert any("stale:" in text.get_text() for text in drawing.picture.texts)


def test_a_records_folder_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert main(["make", "fig04", "--records", str(tmp_path / "nowhere")]) == 2
    assert "nowhere does not exist" in capsys.readouterr().err
    assert main(["make", "fig04", "--records", str(tmp_path / "file")]) == 2
    assert "--records must be a folder" in capsys.readouterr().err


def test_an_unknown_setting_of_a_record_is_an_error_that_names_it(made):
    with pytest.raises(InputError, match=r"no task\.colour"):
        made.read("toy-fig4").setting("task.colour")
