"""Figures 5, 6, 10 and 12: matrices, measures, histograms and trajectories are those of the records."""

from __future__ import annotations

import csv
import io
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.patches import StepPatch
from PIL import Image

from paper_figures import fig05, fig06, fig10, fig12
from paper_figures.__main__ import main
from tests.paper_figures.made_records import RATES, SEEDS, STATES, TOKENS
from tests.paper_figures.test_rates import assert_spread


def read(made, experiment: str, file: str) -> list[dict[str, str]]:
    text = (made.folder / f"{experiment}-smoke" / file).read_text()
    return list(csv.DictReader(io.StringIO(text)))


def arrays(made, experiment: str, file: str) -> dict[str, np.ndarray]:
    with np.load(made.folder / f"{experiment}-smoke" / file) as found:
        return {name: found[name].astype(float) for name in found.files}


@pytest.fixture(scope="module")
def numbers(made) -> dict[str, dict]:
    return {m.FIGURE.name: dict(m.FIGURE.drawing(made).numbers) for m in (fig05, fig06, fig10, fig12)}


@pytest.mark.parametrize(
    ("name", "experiment", "states"), [("fig05", "toy-fig5", STATES), ("fig06", "toy-fig6", STATES[:2])]
)
def test_measures_of_attention_are_spreads_over_seeds(numbers, made, name, experiment, states):
    rows = read(made, experiment, "attention.csv")
    assert set(numbers[name]["measures"]) == set(states)
    assert numbers[name]["seeds"] == len(SEEDS)
    for state, measures in numbers[name]["measures"].items():
        for measure, saved in measures.items():
            assert_spread(saved, [float(row[measure]) for row in rows if row["state"] == state])


@pytest.mark.parametrize(
    ("name", "key", "experiment", "file"),
    [("fig05", "attention", "toy-fig5", "attention.npz"), ("fig06", "components", "toy-fig6", "components.npz")],
)
def test_saved_matrices_are_those_of_the_record_to_four_digits(numbers, made, name, key, experiment, file):
    found = arrays(made, experiment, file)
    saved = numbers[name][key]
    assert set(saved) <= set(found)
    assert len(saved) >= 8
    for matrix, values in saved.items():
        np.testing.assert_allclose(values, found[matrix], rtol=1e-3)


def test_figure_5_shows_the_rate_that_the_record_chose_and_the_uniform_law_beside(numbers):
    assert numbers["fig05"]["learning_rate"] == RATES[0]
    distances = [abs(one - other) for one in range(TOKENS) for other in range(TOKENS)]
    assert numbers["fig05"]["uniform"]["mean_distance"] == pytest.approx(np.mean(distances))
    assert numbers["fig05"]["uniform"]["mass_near"] == pytest.approx(np.mean([d <= 5 for d in distances]))


def test_all_attention_matrices_of_figure_5_share_one_colour_scale(made):
    images = [
        image for part in fig05.FIGURE.drawing(made).picture.subfigs[0].subfigs for a in part.axes for image in a.images
    ]
    assert len(images) == 2 * len(STATES)
    assert len({(image.norm.vmin, image.norm.vmax) for image in images}) == 1


def test_figure_6_names_the_scale_of_every_matrix(made, numbers):
    found = arrays(made, "toy-fig6", "components.npz")
    titles = " ".join(axes.get_title() for axes in fig06.FIGURE.drawing(made).picture.subfigs[0].axes)
    for name, limit in numbers["fig06"]["limits"].items():
        assert limit == np.abs(found[name]).max()
        if not name.endswith("attention"):
            assert f"±{limit:.2g}" in titles


@pytest.mark.parametrize("matrix", ["query", "key", "product"])
def test_figure_12_compares_deviations_within_seeds(numbers, made, matrix):
    rows = [row for row in read(made, "toy-fig6", "moments.csv") if row["matrix"] == matrix]
    of = {s: {row["seed"]: float(row["deviation"]) for row in rows if row["state"] == s} for s in ("initial", "spt")}
    logs = [math.log(of["spt"][str(seed)] / of["initial"][str(seed)]) for seed in SEEDS]
    saved = numbers["fig12"]["deviation_factors"][matrix]
    assert_spread({k: v if k == "seeds" else math.log(v) for k, v in saved.items()}, logs)
    (beside,) = [one for one in numbers["fig12"]["compared"] if one["paper"]["id"] == matrix]
    assert f"× {np.exp(np.mean(logs)):.3g}" in beside["line"]


def test_figure_12_draws_shares_that_add_up_to_one(made, numbers):
    for axes in fig12.FIGURE.drawing(made).picture.subfigs[0].axes:
        assert len(axes.patches) == 2
        for patch in axes.patches:
            assert isinstance(patch, StepPatch)
            assert np.sum(patch.get_data()[0]) == pytest.approx(1.0)
    assert sum(row["count"] for row in numbers["fig12"]["bins"]) == sum(
        int(row["count"]) for row in read(made, "toy-fig6", "histograms.csv")
    )


def test_figure_10_measures_amplitude_and_noise_of_what_it_draws(numbers):
    assert numbers["fig10"]["noise"] == pytest.approx(0.1, rel=0.2)
    for example in numbers["fig10"]["examples"]:
        assert example["off_line"] == pytest.approx(0.2, rel=1e-6)  # the made-up amplitude


def test_figure_10_marks_the_papers_anchors(made, numbers):
    assert numbers["fig10"]["anchors"] == [[[0.66, 0.55], [-0.495, -0.605]], [[0.605, -0.55], [-0.55, 0.605]]]
    panels = fig10.FIGURE.drawing(made).picture.subfigs[0].axes
    points = [np.asarray(line.get_xydata()) for line in panels[0].lines]
    marks = [tuple(found[0]) for found in points if len(found) == 1]
    assert marks == [(0.66, 0.55), (-0.495, -0.605)]


def test_a_figure_from_records_is_written_whole_in_every_format(made, tmp_path, capsys):
    assert main(["make", "fig12", "--records", str(made.folder), "--out", str(tmp_path)]) == 0
    assert "paper: no “particular shift from random initialization”" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"fig12.{s}" for s in ("json", "pdf", "png", "svg")]
    with Image.open(tmp_path / "fig12.png") as image:
        assert np.asarray(image.convert("L")).std() > 10
    assert len(list(ET.parse(tmp_path / "fig12.svg").getroot().iter())) > 100
