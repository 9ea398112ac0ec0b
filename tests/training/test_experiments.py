"""Experiments end to end at a tiny size: records hold what figures and verdicts read, small, and the same each time."""

import numpy as np
import polars
import pytest
import torch

from numerics.errors import InputError
from tests.training.small import labels, pretraining
from training.execute import Execution, execute
from training.experiments import toy_fig4, toy_parts
from training.experiments.catalogue import find_experiment
from training.experiments.record import csv_bytes, keep_experiment, npz_bytes, read_experiment, write_experiment
from training.experiments.toy_fig5 import gap_rate
from training.experiments.toy_fig10 import EXAMPLES
from training.predictions.catalogue import predictions
from training.predictions.prediction import Records, judge
from training.probes.patterns import uniform_distance
from training.records import step_file
from training.sweep import all_runs, sweep

TINY = toy_fig4.ToyFig4(seeds=2, rates=(3e-3,), label_epochs=1, spt_epochs=1, unlabeled=400)
NAMES = ("toy-fig4", "toy-fig5", "toy-fig6", "toy-fig10", "toy-fig13", "toy-parts", "toy-probes")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Every experiment of the toy task, run and kept."""
    runs = tmp_path_factory.mktemp("runs")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(toy_fig4.PRESETS, "smoke", TINY)
        for name in NAMES:
            experiment = find_experiment(name)
            items = experiment.runs("smoke")
            done = sweep([item.config for item in items], runs)
            record = write_experiment(experiment, "smoke", items, done, runs)
            found[name] = read_experiment(keep_experiment(record.folder, runs / "kept"))
            again = write_experiment(experiment, "smoke", items, done, runs)
            assert again.content["files"] == record.content["files"], "the same runs give the same bytes"
    return found


def test_kept_records_name_their_files_and_command(records):
    for name, record in records.items():
        assert record.content["command"] == f"python -m training run {name} --scale smoke"
        assert set(record.files) == {path.name for path in record.folder.iterdir()}
        with pytest.raises(InputError, match=r"has no nothing\.csv"):
            record.table("nothing.csv")


def test_experiments_share_their_runs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(toy_fig4.PRESETS, "smoke", TINY)
        configs = {name: [item.config for item in find_experiment(name).runs("smoke")] for name in NAMES}
    together = all_runs([config for each in configs.values() for config in each])
    assert sum(config.stage.name == "spt" for config in together) == 2 * TINY.seeds  # and one tied run a seed
    assert {run.id for run in all_runs(configs["toy-fig5"])} == {run.id for run in all_runs(configs["toy-fig4"])}


def test_equal_updates_are_equal():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(toy_fig4.PRESETS, "smoke", TINY)
        stage = toy_parts.matched(TINY, 3e-3)
    updates = 3 * stage.epochs
    spt = TINY.spt_epochs * round(TINY.unlabeled / TINY.batch)
    assert 0 <= updates - (spt + 3 * TINY.label_epochs) < 3
    paper = toy_parts.matched(toy_fig4.ToyFig4(), 3e-3)
    assert 3 * paper.epochs == pytest.approx(3700, abs=3)
    assert paper.epochs // paper.evaluate_every == pytest.approx(20, abs=1)


def test_attention_of_figure_5_sums_to_one_and_its_rate_has_the_greatest_gap(records):
    record = records["toy-fig5"]
    arrays = record.arrays("attention.npz")
    assert set(arrays) == {f"{a}-{b}" for a in ("initial", "spt", "finetuned", "scratch") for b in ("one", "mean")}
    for matrix in arrays.values():
        assert matrix.dtype == np.float16
        np.testing.assert_allclose(matrix.astype(float).sum(1), 1, atol=5e-3)
    rates = record.table("rate.csv")
    assert rates.filter(polars.col("chosen"))["gap"].item() == rates["gap"].max()
    losses = record.table("losses.csv")
    assert set(losses["stage"]) == {"spt", "scratch", "spt-finetune"}
    assert bool((losses["least"] <= losses["mean"]).all())
    start = record.table("attention.csv").filter(polars.col("state") == "initial")["mean_distance"]
    np.testing.assert_allclose(start, uniform_distance(100), rtol=0.02)


def test_the_gap_is_scratch_minus_self_pretrained():
    rows = [("spt", 9.0, 0, None), ("scratch", 1.0, 0, 0.7), ("spt-finetune", 1.0, 0, 0.5)]
    rows += [("scratch", 2.0, 0, 0.5), ("spt-finetune", 2.0, 0, 0.6)]
    names = ["condition", "learning_rate", "seed", "final_train_loss"]
    rate, gaps = gap_rate(polars.DataFrame(rows, schema=names, orient="row"))
    assert rate == 1.0
    assert gaps == pytest.approx({1.0: 0.2, 2.0: -0.1})


def test_components_of_figure_6_multiply_to_its_scores_and_histograms_count_every_entry(records):
    record = records["toy-fig6"]
    arrays = {name: value.astype(float) for name, value in record.arrays("components.npz").items()}
    for state in ("initial", "spt"):
        product = arrays[f"{state}-query"].T @ arrays[f"{state}-key"]
        np.testing.assert_allclose(arrays[f"{state}-product"], product, atol=2e-3)
        scores = arrays["positions"] @ product @ arrays["positions"].T / np.sqrt(32)
        np.testing.assert_allclose(arrays[f"{state}-scores"], scores, atol=0.05)
        np.testing.assert_allclose(arrays[f"{state}-attention"].sum(1), 1, atol=5e-3)
    counts = record.table("histograms.csv").group_by("state", "matrix").agg(polars.col("count").sum())
    assert set(counts["count"]) == {TINY.seeds * 32 * 32}
    assert len(counts) == 6


def test_examples_of_figure_10_differ_from_their_clean_orbits_by_noise_alone(records):
    table = records["toy-fig10"].table("examples.csv")
    assert len(table) == 2 * EXAMPLES * 100
    noise = (table["x"] - table["clean_x"]).to_numpy()
    assert 0.25 < np.median(np.abs(noise)) / 0.6745 < 0.35


def test_probes_have_a_row_for_every_condition_and_displacements_start_at_zero(records):
    table = records["toy-probes"].table("probes.csv")
    assert set(table["condition"]) == {"spt", "spt-tied", "scratch", "spt-finetune", "scratch-matched", "random"}
    steps = table.filter((polars.col("condition") == "spt") & (polars.col("seed") == 0))["step"].to_list()
    assert steps == [0, 1, 3, 10, 12]
    start = table.filter((polars.col("condition") == "spt") & (polars.col("step") == 0))
    assert start["size"].to_list() == [0.0, 0.0]
    shares = table.select(total=polars.col("blind_energy") + polars.col("stripe_fraction"))["total"]
    np.testing.assert_allclose(shares.fill_nan(1.0), 1, atol=1e-5)
    tied = table.filter((polars.col("condition") == "spt-tied") & (polars.col("step") == 0))
    assert float(tied["scores_align_masked"].min()) > float(start["scores_align_masked"].abs().max())
    weights = records["toy-probes"].table("weights.csv")
    assert set(weights["pair"]) == {"R>SPT", "R>SC", "SPT>FT", "R>FT", "SC>FT"}
    still = weights.filter((polars.col("pair") == "R>SPT") & (polars.col("component") == "classifier"))
    assert still["displacement"].to_list() == [0.0, 0.0]


def test_two_seeds_decide_nothing(records):
    folder = records["toy-fig4"].folder.parent
    found = judge(predictions(), Records(folder, "smoke"))
    assert {one.verdict for one in found} == {"inconclusive", "not run"}
    assert sum(one.verdict == "inconclusive" for one in found) >= 12


def test_parameters_after_a_step_are_those_of_a_run_that_stops_there(tmp_path):
    config = pretraining(epochs=2, keep_steps=(1, 5, 7))
    record = execute(config, tmp_path / "whole")
    short = execute(pretraining(epochs=1), tmp_path / "whole")
    for name, value in record.model(step=5).named_parameters():
        assert torch.equal(value, short.model().get_parameter(name))

    def stop(run, step, steps):
        if step == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(config, tmp_path / "stopped", Execution(0.0, stop))
    resumed = execute(config, tmp_path / "stopped")
    for step in config.stage.keep_steps:
        assert (resumed.folder / step_file(step)).read_bytes() == (record.folder / step_file(step)).read_bytes()
    with pytest.raises(InputError, match="count from 1"):
        labels(keep_steps=(0,))


def test_tables_and_arrays_are_written_to_the_same_bytes():
    table = polars.DataFrame({"a": [1 / 3, float("nan"), None], "b": ["x", "y", "z"]})
    assert csv_bytes(table) == b"a,b\n0.333333,x\nNaN,y\n,z\n"
    arrays = {"one": np.arange(3.0)}
    assert npz_bytes(arrays) == npz_bytes(arrays)
