"""Figures 3, 7 and 9: they draw what the tables and records hold."""

from __future__ import annotations

import numpy as np
import pytest

from paper_figures import fig03, fig07, fig09
from paper_figures.kept import KeptRecords
from paper_figures.reported import reported
from tests.paper_figures.made_lra import maps, put_maps


def test_figure_3_draws_every_point_that_the_paper_prints(lra):
    drawing = fig03.FIGURE.drawing(lra)
    drawn = [np.asarray(line.get_ydata()).tolist() for axes in drawing.picture.axes for line in axes.lines]
    said = reported("table07")
    for task in ("listops", "image", "pathfinder"):
        assert [said[f"{task} spt-{epochs}"].value["accuracy"] for epochs in (0, 1, 10, 50, 100, 150, 200)] in drawn
    depth = reported("table08")
    assert [depth[f"pathfinder {n}-layer swapped train"].value["accuracy"] for n in (1, 2, 4)] in drawn
    assert "laptop scale" in drawing.numbers["caption"]
    assert {row["id"] for row in drawing.numbers["lengths"]} >= set(said)


def test_figure_7_measures_the_maps_of_the_record(lra):
    found = fig07.FIGURE.drawing(lra).numbers["measures"]
    for task in ("image", "pathfinder"):
        assert found[task]["offset share, positions"] == pytest.approx(1.0, abs=1e-6)
        assert 0.5 < found[task]["offset share"] < 1.0
        assert found[task]["mass near"] > found[task]["uniform mass"]


def test_offset_share_is_0_for_scores_that_depend_on_the_key_alone_up_to_the_corners():
    tokens = 60
    key = np.tile(np.random.default_rng(0).normal(size=tokens), (tokens, 1))
    assert fig07.offset_share(key) < 0.1
    at = np.arange(tokens)
    assert fig07.offset_share(np.cos(0.3 * (at[:, None] - at))) == pytest.approx(1.0)


def test_figure_7_measures_block_means_as_the_tokens_that_they_stand_for():
    whole = maps(np.random.default_rng(1), "image")["image-attention"].astype(np.float64)[:24, :24]
    whole /= whole.sum(axis=1, keepdims=True)
    blocks = whole.reshape(12, 2, 12, 2).mean(axis=(1, 3))
    assert fig07.block_of(whole) == 1
    assert fig07.block_of(blocks) == 2


def test_figure_7_without_one_task_draws_the_other_and_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "empty"))
    put_maps(tmp_path, tasks=("pathfinder",))
    drawing = fig07.FIGURE.drawing(KeptRecords(tmp_path))
    assert set(drawing.numbers["measures"]) == {"pathfinder"}
    assert any("data fetch image" in line for line in drawing.summary)


def test_figure_9_computes_norm_changes_from_the_papers_tables(lra):
    numbers = fig09.FIGURE.drawing(lra).numbers
    said = reported("table10")
    wanted = [said[f"{half} query"].value["norm SC"] - said[f"{half} query"].value["norm R"] for half in (0, 2, 4)]
    assert numbers["paper"]["image"]["query"] == pytest.approx(wanted)
    assert numbers["ratio"]["paper"]["image"] > numbers["ratio"]["paper"]["pathfinder"]  # the paper's text: the reverse
