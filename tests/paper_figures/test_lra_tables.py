"""Tables on the Long-Range Arena: the paper's cells from its file, ours from records, and what was not run named."""

from __future__ import annotations

import json
import math
import statistics

import polars
import pytest

from paper_figures.__main__ import main
from paper_figures.accuracy import read
from paper_figures.catalogue import find_figure
from paper_figures.figure import as_json
from paper_figures.kept import KeptRecords
from paper_figures.table01 import TABLE_1
from paper_figures.table02 import TABLE_2
from paper_figures.table03 import TABLE_3
from paper_figures.table04 import TABLE_4
from paper_figures.table05 import TABLE_5
from paper_figures.table07 import TABLE_7
from paper_figures.table08 import TABLE_8
from paper_figures.table09 import TABLE_9
from tests.paper_figures.made_lra import SEEDS, accuracy, put_table, put_weights
from tests.paper_figures.test_table06 import ampersands, body, flat, pipes

TABLES = (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_7, TABLE_8, TABLE_9)
NAMES = [*(table.figure for table in TABLES), "table10", "table11"]
#: Student's .975 quantile at 5 degrees of freedom.
QUANTILE = 2.570582


@pytest.fixture(scope="module")
def nothing(tmp_path_factory) -> KeptRecords:
    return KeptRecords(tmp_path_factory.mktemp("empty"))


@pytest.fixture(autouse=True)
def data(monkeypatch, tmp_path) -> None:
    """A data folder that is empty: what our generators make is there, releases are not."""
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "data"))


@pytest.mark.parametrize("name", NAMES)
def test_markdown_latex_and_html_show_the_same_cells(lra, name):
    extra = find_figure(name).drawing(lra).extra
    shown = flat(body(extra["html"]))
    assert shown
    assert [[cell.replace("`", "") for cell in row] for row in flat(pipes(extra["md"]))] == shown
    assert len(ampersands(extra["tex"])) == len(shown)
    assert set(filter(lambda letter: not letter.isascii(), extra["tex"])) == set()  # pdflatex knows few others


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.figure)
def test_ours_is_mean_and_interval_of_the_seeds_and_the_papers_is_as_printed(lra, table):
    cells = read(table, lra)
    checked = 0
    for cell in cells.cells:
        found = cell.values["peak"]
        if found is None:
            continue
        values = [accuracy(f"{cell.task} {cell.arm}", seed) + 0.1 * (cell.split == "train") for seed in SEEDS]
        assert found.mean == pytest.approx(statistics.mean(values), abs=1e-9)
        half = QUANTILE * statistics.stdev(values) / math.sqrt(len(values))
        assert (found.high - found.low) / 2 == pytest.approx(half, abs=1e-6)
        assert cell.scale == "laptop"
        base = table.base(cell.arm)
        if base is not None:
            other = [accuracy(f"{cell.task} {base}", seed) + 0.1 * (cell.split == "train") for seed in SEEDS]
            gain = cell.gains["peak"]
            assert gain is not None
            assert gain.mean == pytest.approx(statistics.mean(values) - statistics.mean(other), abs=1e-9)
        checked += 1
    assert checked > len(cells.cells) / 3


def test_arms_that_a_scale_leaves_out_name_the_scale_that_has_them(lra):
    cell = read(TABLE_7, lra).at("pathfinder spt-150")
    assert cell.values["peak"] is None
    assert cell.why == "not run (not part of the laptop scale): `python -m training run table7 --scale paper`"
    assert read(TABLE_7, lra).at("image spt-3").said is None  # ours alone


def test_arms_of_the_further_experiment_stand_in_table_4(lra):
    cells = read(TABLE_4, lra)
    for arm in ("scratch-matched", "predicted", "qk independent"):
        assert cells.at(f"image {arm}").values["peak"] is not None
        assert cells.at(f"image {arm}").said is None
    gain = cells.at("image qk independent").gains["peak"]
    assert gain is not None
    ours = [accuracy("image qk independent", s) - accuracy("image scratch independent", s) for s in SEEDS]
    assert gain.mean == pytest.approx(statistics.mean(ours))


def test_images_of_1024_tokens_stand_in_table_4_where_they_were_run(lra, nothing):
    cell = read(TABLE_4, lra).at("image32 qk")
    assert cell.gains["peak"] is not None
    assert [one.prediction.id for one in cell.verdicts] == ["table4-whole-qk-gain"]
    assert "image32 spt" not in [cell.id for cell in read(TABLE_4, lra).cells]
    assert "| Image (1024 tokens) | SPT in Q, K |" in find_figure("table04").drawing(lra).extra["md"]
    assert "1024" not in find_figure("table04").drawing(nothing).extra["md"]


def test_a_laptop_record_is_never_called_a_reproduction(lra):
    for name in ("table01", "table08", "table11"):
        extra = find_figure(name).drawing(lra).extra
        for form in ("md", "tex", "html"):
            assert "laptop scale" in extra[form]
            assert "no reproduction of the paper" in extra[form]
            assert "width 32" in extra[form]


def test_the_papers_scale_is_drawn_where_both_are_kept(tmp_path):
    put_table(tmp_path, "table2", "laptop")
    assert read(TABLE_2, KeptRecords(tmp_path)).found.scale == "laptop"
    put_table(tmp_path, "table2", "paper")
    cells = read(TABLE_2, KeptRecords(tmp_path))
    assert cells.found.scale == "paper"
    assert read(TABLE_2, KeptRecords(tmp_path, "laptop")).found.scale == "laptop"
    assert "the paper's scale" in find_figure("table02").drawing(KeptRecords(tmp_path)).extra["md"]


@pytest.mark.parametrize("name", ["table02", "fig07"])
def test_make_without_records_is_no_error(nothing, name, tmp_path, capsys):
    out = tmp_path / "drawn"
    assert main(["make", name, "--records", str(nothing.folder), "--out", str(out)]) == 0
    assert "not run" in capsys.readouterr().out
    assert "not run" in (out / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*NAMES, "fig03", "fig07", "fig09"])
def test_without_records_the_papers_numbers_stand_and_ours_read_not_run(nothing, name):
    drawing = find_figure(name).drawing(nothing)
    shown = " ".join(drawing.summary)
    assert "not run" in shown
    assert "--scale laptop" in shown
    saved = json.loads(as_json(drawing.numbers))
    assert not saved.get("record")
    assert not saved.get("records")
    if name.startswith("table"):
        for row in saved["rows"]:
            assert row.get("accuracy", {"peak": None})["peak"] is None
            assert not row.get("ours")


def test_cells_without_a_run_say_why_and_what_to_type(nothing):
    cells = read(TABLE_3, nothing)
    assert cells.at("pathfinder qk".replace("qk", "attention")).why == (
        "not run: `python -m training run table3 --scale laptop`"
    )
    text = read(TABLE_1, nothing).at("text scratch").why
    assert (
        text
        == "not run: missing data, `python -m training data fetch text && python -m training run table1 --scale laptop`"
    )
    assert "Amos" in read(TABLE_1, nothing).at("text amos").why


def test_a_task_whose_data_were_missing_is_not_run_and_the_record_is_not_stale(tmp_path):
    put_table(tmp_path, "table1", tasks=("listops", "image"), missing={"text": "no file", "pathfinder": "no file"})
    cells = read(TABLE_1, KeptRecords(tmp_path))
    assert cells.found.kept is not None
    assert not cells.found.kept.stale
    assert cells.at("listops scratch").values["peak"] is not None
    assert cells.at("pathfinder scratch").why.startswith(
        "not run: missing data, `python -m training data fetch pathfinder"
    )
    row = next(
        row for row in body(find_figure("table01").drawing(KeptRecords(tmp_path)).extra["html"]) if row[0] == "Text"
    )
    assert row[4] == "not run"
    assert "missing data" in row[-1]


def test_a_record_without_some_conditions_of_a_task_is_not_stale(tmp_path):
    put_table(tmp_path, "table1", without=("pathfinder scratch-matched",))
    cells = read(TABLE_1, KeptRecords(tmp_path))
    assert cells.found.kept is not None
    assert not cells.found.kept.stale
    assert cells.at("pathfinder scratch").values["peak"] is not None
    assert cells.at("pathfinder scratch-matched").why == "not run: `python -m training run table1 --scale laptop`"


def test_a_record_of_other_runs_is_said_to_be_stale(tmp_path):
    put_table(tmp_path, "table9", runs={"image-other-s0-000000000000": "0" * 64})
    drawn = find_figure("table09").drawing(KeptRecords(tmp_path))
    assert any("stale" in line for line in drawn.summary)
    assert "stale" in drawn.extra["md"]


def test_the_block_that_our_copy_lost_is_said_and_not_guessed(lra):
    cells = read(TABLE_3, lra)
    for task in TABLE_3.tasks:
        for arm in ("attention+mlp", "mlp+norms+encoder"):
            assert cells.at(f"{task} {arm}").said is None
    assert "lost in our copy" in find_figure("table03").drawing(lra).extra["md"]


def test_runs_at_chance_are_counted_beside_the_seeds(lra):
    shown = flat(body(find_figure("table02").drawing(lra).extra["html"]))
    frozen = [row for row in shown if row[1] == "attention frozen"]
    assert frozen
    assert {row[8] for row in frozen} == {"6 (1 at chance)"}


def test_predictions_stand_beside_the_cells_that_they_are_about(lra):
    cells = read(TABLE_4, lra)
    assert [one.prediction.id for one in cells.at("image qk").verdicts] == [
        "table4-laptop-qk-gain",
        "table4-laptop-qk-carries",
    ]
    shown = flat(body(find_figure("table04").drawing(lra).extra["html"]))
    verdicts = {(row[0], row[1]): row[-1] for row in shown}
    assert "at laptop scale" in verdicts["Image (CIFAR10)", "SPT in Q, K"]
    assert verdicts["PathFinder", "SPT in Q, K"] == "not judged"


def test_weights_stand_beside_the_papers_and_its_norms_are_joined(lra):
    rows = {(row["layer"], row["component"]): row for row in find_figure("table10").drawing(lra).numbers["rows"]}
    norms = rows["0", "norms"]
    assert norms["paper"]["R>SPT"] == pytest.approx(math.hypot(5.76, 4.05))
    query = rows["0", "query"]
    assert query["paper ratio"] == pytest.approx(7.90 / 24.51)
    table = polars.read_csv(lra.folder / "table10-laptop" / "weights.csv")
    mine = table.filter((polars.col("component") == "query") & (polars.col("pair") == "R>SC"))
    assert query["ours"]["R>SC"]["mean"] == pytest.approx(mine["displacement"].mean())
    assert rows["1", "query"]["ours"] == {}


def test_a_weights_record_of_a_task_without_data_is_not_run(tmp_path):
    put_weights(tmp_path, "table10", "image")
    cells = flat(body(find_figure("table11").drawing(KeptRecords(tmp_path)).extra["html"]))
    assert "not run" in {row[3] for row in cells}
