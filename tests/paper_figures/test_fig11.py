"""Figure 11: curves and speeds are those of the record, computed here anew."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from paper_figures import fig11
from tests.paper_figures.made_records import DIVERGED, EPOCHS, RATES, SEEDS
from tests.paper_figures.test_rates import assert_spread


@pytest.fixture(scope="module")
def numbers(made) -> dict:
    return dict(fig11.FIGURE.drawing(made).numbers)


@pytest.fixture(scope="module")
def curves(made) -> dict[tuple[str, float, int], list[dict[str, float]]]:
    found: dict = {}
    with (made.folder / "toy-fig4-smoke" / "epochs.csv").open() as file:
        for row in csv.DictReader(file):
            key = (row["condition"], float(row["learning_rate"]), int(row["seed"]))
            found.setdefault(key, []).append({k: float(row[k]) for k in ("epoch", "train_loss", "test_accuracy")})
    return found


def test_every_point_is_the_mean_and_range_of_the_seeds_that_reached_its_epoch(numbers, curves):
    assert len(numbers["curves"]) == 2 * len(RATES)
    for curve in numbers["curves"]:
        for point in curve["epochs"]:
            at = [
                row["train_loss"]
                for (condition, rate, _), rows in curves.items()
                if (condition, rate) == (curve["condition"], curve["learning_rate"])
                for row in rows
                if row["epoch"] == point["epoch"]
            ]
            assert_spread(point, at)


@pytest.mark.parametrize("rate", RATES)
def test_speeds_are_differences_within_seeds_and_leave_out_a_run_that_diverged(numbers, curves, rate):
    (saved,) = [row for row in numbers["sooner"] if row["learning_rate"] == rate]
    losses, epochs = [], []
    for seed in SEEDS:
        mean, first = {}, {}
        for condition in ("scratch", "spt-finetune"):
            rows = [row for row in curves[condition, rate, seed] if row["epoch"] > 0]
            mean[condition] = np.mean([row["train_loss"] for row in rows])
            reached = [row["epoch"] for row in rows if row["test_accuracy"] >= 0.8]
            first[condition] = min(reached, default=rows[-1]["epoch"] + 1)
        epochs.append(first["scratch"] - first["spt-finetune"])
        if not (rate == RATES[-1] and seed == DIVERGED):
            losses.append(mean["scratch"] - mean["spt-finetune"])
    assert_spread(saved["mean loss"], losses)
    assert_spread(saved["epochs"], epochs)


def test_losses_that_are_cut_off_are_said_to_be(made, numbers, curves):
    highest = max(row["train_loss"] for rows in curves.values() for row in rows)
    assert highest > fig11.HIGHEST
    assert f"{highest:.3g} at rate" in numbers["caption"]


def test_there_is_one_panel_a_rate(made):
    panels = fig11.FIGURE.drawing(made).picture.subfigs[0].axes
    assert [axes.get_title() for axes in panels if axes.axison] == [f"rate {rate:g}" for rate in RATES]
    assert all(axes.get_xlim()[1] >= EPOCHS for axes in panels if axes.axison)
