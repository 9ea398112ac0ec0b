"""Figures drawn once a session, and a stand-in figure that costs nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from paper_figures import catalogue
from paper_figures.__main__ import main
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords
from paper_figures.sources import Source
from tests.paper_figures.made_lra import put_lra
from tests.paper_figures.made_records import put_everything


@dataclass(frozen=True)
class Drawn:
    """What ``make fig14`` left behind."""

    exit_code: int
    folder: Path
    numbers: dict


@pytest.fixture(scope="session")
def fig14(tmp_path_factory) -> Drawn:
    folder = tmp_path_factory.mktemp("figures") / "made" / "here"
    code = main(["make", "fig14", "--out", str(folder)])
    return Drawn(code, folder, json.loads((folder / "fig14.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> KeptRecords:
    """Records of every experiment that a figure is drawn from, their numbers made up; nothing is trained."""
    folder = tmp_path_factory.mktemp("records")
    put_everything(folder)
    return KeptRecords(folder)


@pytest.fixture(scope="session")
def lra(tmp_path_factory) -> KeptRecords:
    """Records of every experiment on the Long-Range Arena at laptop scale, their numbers made up."""
    folder = tmp_path_factory.mktemp("lra")
    put_lra(folder)
    return KeptRecords(folder)


@pytest.fixture
def stand_ins(monkeypatch, tmp_path) -> None:
    """Two figures in place of the catalogue's: one that can be drawn, one whose record is missing."""
    there = Source("a file that is there", Path(matplotlib.__file__), "make there")
    gone = Source("the record of a run", tmp_path / "gone.json", "python -m training run toy --scale laptop")

    def draw(kept: KeptRecords) -> Drawing:
        return Drawing(Figure((1, 1)), {"schema_version": 1}, ("drawn well",), True)

    shown = {
        "plain": PaperFigure("plain", "A plain figure", "nowhere", (lambda kept: there,), draw),
        "lacking": PaperFigure(
            "lacking", "A figure without its record", "nowhere", (lambda kept: there, lambda kept: gone), draw
        ),
    }
    monkeypatch.setattr(catalogue, "_FIGURES", shown)
