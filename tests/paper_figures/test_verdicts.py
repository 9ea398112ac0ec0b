"""The table of predictions: places in the forest plot, stale records, Markdown."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_figures import verdicts as module
from paper_figures.__main__ import main
from paper_figures.judged import EDGE, placed, signed, verdict_words
from paper_figures.kept import KeptRecords
from paper_figures.reported import reported
from tests.paper_figures.made_records import put_verdicts, verdict
from training.predictions.catalogue import predictions


def test_the_plot_and_the_table_hold_every_verdict(made):
    drawing = module.FIGURE.drawing(made)
    assert [row["id"] for row in drawing.numbers["rows"]] == ["peak-train-gain", "peak-test-gain", "unsure", "left-out"]
    assert drawing.numbers["counts"] == {
        "confirmed": 1, "contradicted": 1, "inconclusive": 1, "not run": 1, "stale": 0,
    }  # fmt: skip
    table = drawing.extra["md"]
    for row in drawing.numbers["rows"]:
        assert f"`{row['id']}`" in table
    assert "0.3 [0.2, 0.4] | 0.01 (0.02) | 10 | 0.1 | confirmed |" in table
    assert "inconclusive (suggestive)" in table
    assert "- `python -m training run toy --scale paper`" in table


def test_a_confirmed_effect_lies_right_of_its_bound_in_detectable_effects(tmp_path):
    row = placed(verdict("x"), tmp_path)
    assert (row.distance, row.low, row.high) == pytest.approx((2.0, 1.0, 3.0))


@given(st.sampled_from([">", "<"]), st.floats(-1, 1), st.floats(-1, 1), st.floats(0.01, 1))
def test_the_interval_excludes_the_bound_exactly_where_its_image_excludes_0(sign, margin, effect, reach):
    margin = round(margin, 3)
    low, high = effect - reach, effect + reach
    centre, least, greatest = signed(f"mean over seeds {sign} {margin:g}", effect, low, high)
    assert least <= centre <= greatest
    if abs(low - margin) > 1e-9 and abs(high - margin) > 1e-9:
        assert (least > 0) == (low > margin if sign == ">" else high < margin)
        assert (greatest < 0) == (high < margin if sign == ">" else low > margin)


@given(st.floats(-2, 2), st.floats(0.01, 1))
def test_within_a_margin_the_image_is_the_distance_to_the_nearest_end(effect, reach):
    low, high = effect - reach, effect + reach
    _, least, greatest = signed("mean over seeds within ±0.5", effect, low, high)
    inside = [0.5 - abs(value) for value in np.linspace(low, high, 1001)]
    assert least == pytest.approx(min(inside), abs=1e-9)
    assert greatest == pytest.approx(max(inside), abs=2 * reach / 1000)


def test_effects_without_spread_lie_on_the_edge_and_single_seeds_nowhere(tmp_path):
    assert placed(verdict("x", minimum_detectable_effect=0.0), tmp_path).distance == EDGE
    one = verdict("x", verdict="inconclusive", low=None, high=None, minimum_detectable_effect=None, seeds=1)
    assert placed(one, tmp_path).distance is None
    put_verdicts(tmp_path, one)
    assert "one seed" in module.FIGURE.drawing(KeptRecords(tmp_path)).picture.axes[0].texts[-1].get_text()


def test_a_verdict_whose_record_has_changed_is_stale_and_counts_as_not_run(tmp_path):
    (tmp_path / "runs.csv").write_text("changed")
    stale = verdict("x", records=[{"path": "runs.csv", "sha256": "0" * 64}])
    put_verdicts(tmp_path, stale)
    drawing = module.FIGURE.drawing(KeptRecords(tmp_path))
    assert drawing.numbers["counts"]["stale"] == 1
    assert drawing.numbers["rows"][0]["distance"] is None
    assert "python -m training verdicts --write" in drawing.summary[-1]
    assert "judges again" in drawing.extra["md"]
    assert verdict_words(tmp_path, "smoke", ("x",)) == ""


def test_verdicts_of_another_scale_do_not_stand_beside_a_record(made):
    assert verdict_words(made.folder, "smoke", ("peak-train-gain",)) == "verdict: peak-train-gain confirmed"
    assert verdict_words(made.folder, "paper", ("peak-train-gain",)) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"schema_version": 2},
        {"verdicts": [verdict("x", verdict="perhaps")]},
        {"verdicts": [verdict("x", direction_or_margin="large")]},
        {"verdicts": [{"id": "x"}]},
        {"verdicts": None},
    ],
)
def test_a_file_of_another_schema_is_one_sentence_and_exit_code_2(changes, tmp_path, capsys):
    put_verdicts(tmp_path, **changes)
    assert main(["make", "verdicts", "--records", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err.strip()
    assert len(err.splitlines()) == 1
    assert "python -m training verdicts --write" in err
    assert not (tmp_path / "out").exists()


def test_the_table_is_written_beside_the_plot(made, tmp_path):
    assert main(["make", "verdicts", "--records", str(made.folder), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "verdicts.md").read_text().startswith("# Predictions about training")
    assert json.loads((tmp_path / "verdicts.json").read_text())["counts"]["confirmed"] == 1


@pytest.mark.parametrize("figure", ["fig04", "fig05", "fig06", "fig10", "fig11", "fig12", "fig13"])
def test_every_statement_of_the_paper_has_a_place_a_quote_and_predictions_that_exist(figure):
    statements = reported(figure)
    known = {prediction.id for prediction in predictions()}
    assert statements
    for one in statements.values():
        assert one.where
        assert len(one.quote) > 20
        assert set(one.predictions) <= known
