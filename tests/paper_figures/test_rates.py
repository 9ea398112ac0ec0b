"""Figures 4 and 13: the saved numbers are those of the records, computed here anew with numpy alone."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from scipy import stats

from paper_figures import fig04, fig13
from tests.paper_figures.made_records import DIVERGED, RATES, SEEDS

VALUES = [f"{moment}_{split}_accuracy" for moment in ("final", "peak") for split in ("train", "test")]
FIGURES = {"fig04": (fig04, "toy-fig4"), "fig13": (fig13, "toy-fig13")}


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request, made):
    module, experiment = FIGURES[request.param]
    with (made.folder / f"{experiment}-smoke" / "runs.csv").open() as file:
        return module.FIGURE.drawing(made), list(csv.DictReader(file))


def column(rows: list[dict], condition: str, rate: float, value: str) -> dict[int, float]:
    chosen = [row for row in rows if row["condition"] == condition and float(row["learning_rate"]) == rate]
    return {int(row["seed"]): float(row[value]) for row in chosen if row[value] not in ("", "NaN")}


def assert_spread(saved: dict, values: list[float]) -> None:
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values))
    expected = [np.mean(values), min(values), max(values), np.mean(values) - half, np.mean(values) + half, len(values)]
    found = [saved[name] for name in ("mean", "least", "greatest", "low", "high", "seeds")]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("condition", ["scratch", "spt-finetune"])
@pytest.mark.parametrize("value", VALUES)
def test_accuracies_are_means_ranges_and_intervals_over_seeds(drawn, condition, value):
    drawing, rows = drawn
    saved = drawing.numbers["accuracies"][condition][value]
    assert [point["learning_rate"] for point in saved] == list(RATES)
    for point in saved:
        assert_spread(point, list(column(rows, condition, point["learning_rate"], value).values()))


@pytest.mark.parametrize("value", VALUES)
def test_gains_are_differences_within_seeds(drawn, value):
    drawing, rows = drawn
    for point in drawing.numbers["gains"][value]:
        scratch, trained = (column(rows, c, point["learning_rate"], value) for c in ("scratch", "spt-finetune"))
        assert_spread(point, [trained[seed] - scratch[seed] for seed in SEEDS if seed in scratch])


def test_a_seed_that_diverged_is_left_out_and_named(drawn):
    drawing, _ = drawn
    assert drawing.numbers["accuracies"]["scratch"]["final_test_accuracy"][-1]["seeds"] == len(SEEDS) - 1
    expected = [{"condition": "scratch", "learning_rate": RATES[-1], "seed": DIVERGED}]
    assert drawing.numbers["diverged"] == expected
    assert f"1 of {2 * len(RATES) * len(SEEDS)} runs diverged (labels alone at 0.1)" in drawing.numbers["caption"]


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_gain_beside_the_papers_is_that_of_the_best_rates(drawn, split):
    drawing, rows = drawn
    value = f"peak_{split}_accuracy"
    best = {}
    for condition in ("scratch", "spt-finetune"):
        means = {rate: np.mean(list(column(rows, condition, rate, value).values())) for rate in RATES}
        best[condition] = column(rows, condition, max(means, key=means.__getitem__), value)
    gains = [best["spt-finetune"][seed] - best["scratch"][seed] for seed in SEEDS if seed in best["scratch"]]
    if drawing.numbers["figure"] == "fig04":
        (found,) = [one for one in drawing.numbers["compared"] if one["paper"]["id"] == f"peak-{split}-gain"]
        assert_spread(found["ours"]["gain"], gains)
        assert found["paper"]["value"] == 0.1
        assert "about .10 (section 4.1)" in found["line"]
    else:
        assert_spread(drawing.numbers["compared"][0]["ours"][f"{split} gain"], gains)


def test_the_verdict_stands_beside_the_papers_number(made):
    lines = {one["paper"]["id"]: one["line"] for one in fig04.FIGURE.drawing(made).numbers["compared"]}
    assert lines["peak-train-gain"].endswith("verdict: peak-train-gain confirmed.")
    assert lines["peak-test-gain"].endswith("verdict: peak-test-gain contradicted.")
    assert "verdict" not in lines["consistently"]  # none was written


def test_every_rate_is_counted_once_as_above_below_or_undecided(made):
    numbers = fig04.FIGURE.drawing(made).numbers
    counts = numbers["compared"][2]["ours"]
    gains = numbers["gains"]["final_test_accuracy"]
    assert counts["above"] == sum(point["low"] > 0 for point in gains)
    assert counts["below"] == sum(point["high"] < 0 for point in gains)
    assert counts["rates"] == len(RATES)


def test_scale_and_seeds_stand_in_the_picture(drawn):
    drawing, _ = drawn
    texts = " ".join(text.get_text() for text in drawing.picture.texts)
    assert f"smoke scale (shows that it works, decides nothing), {len(SEEDS)} seeds" in texts


def test_figure_13_names_its_budget(made):
    drawing = fig13.FIGURE.drawing(made)
    assert drawing.numbers["label_epochs"] == 40
    assert any("(40 epochs)" in text.get_text() for text in drawing.picture.texts)


def test_the_panels_of_accuracies_hold_the_range_of_all_seeds(drawn):
    drawing, _ = drawn
    for axes in drawing.picture.subfigs[0].axes[:4]:
        bands = [np.asarray(c.get_paths()[0].vertices)[:, 1] for c in axes.collections if isinstance(c, PolyCollection)]
        assert len(bands) == 2
        low, high = axes.get_ylim()
        assert all(low <= band.min() <= band.max() <= high for band in bands)
