"""The experiments on the Long-Range Arena: arms, swaps, what runs without data, probes, records."""

import dataclasses

import numpy as np
import polars
import pytest
import torch

from numerics.errors import InputError
from tests.training.data.made import grey_npz
from training.__main__ import main
from training.data.trajectory import TrajectoryTask
from training.errors import CheckpointError, MissingRecord
from training.execute import execute, load_data, starting_model
from training.experiments.catalogue import find_experiment
from training.experiments.displacement import label_pairs, pretraining_pair
from training.experiments.experiment import SCALES
from training.experiments.lra import whole_image
from training.experiments.lra.accuracy import TABLES, shallow
from training.experiments.lra.arms import INHERITED, Arms
from training.experiments.lra.power import smallest_effect
from training.experiments.lra.swap import SHARED, swapped
from training.experiments.partial import dataset_of, runnable, select, with_finished
from training.experiments.record import read_experiment
from training.experiments.toy_fig5 import initial_model
from training.model.groups import select as select_group
from training.predictions.statistics import minimum_detectable_effect
from training.recipes.catalogue import recipe
from training.sweep import all_runs, sweep


@pytest.fixture
def images(tmp_path, monkeypatch):
    """A data folder with grey images alone."""
    grey_npz(tmp_path / "data" / "cifar10", train=5100, test=64)
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPT_PREPARED", str(tmp_path / "prepared"))
    load_data.cache_clear()
    return tmp_path


@pytest.mark.parametrize("experiment", TABLES, ids=lambda experiment: experiment.name)
def test_every_table_lists_its_arms_at_all_seeds_without_data(experiment, tmp_path, monkeypatch):
    monkeypatch.setenv("SPT_DATA", str(tmp_path))
    for scale in SCALES:
        listed = experiment.runs(scale)
        per_condition: dict[str, set[int]] = {}
        for run in listed:
            per_condition.setdefault(run.condition, set()).add(run.seed)
        assert len({frozenset(seeds) for seeds in per_condition.values()}) == 1
        assert sum(map(len, per_condition.values())) == len(listed)
        assert {dataset_of(run) for run in listed} <= {"listops", "image", "pathfinder", "retrieval", "text"}


def test_tables_share_their_runs_at_laptop_scale():
    hashes = {name: {run.config.hash for run in find_experiment(name).runs("laptop")} for name in ("table1", "table4")}
    scratch = Arms(shallow("image", "laptop"), 3).run("scratch")
    assert scratch.hash in hashes["table1"] & hashes["table4"]
    probes = all_runs([run.config for run in find_experiment("lra-probes").runs("laptop") if "tied" in run.condition])
    assert {run.hash for run in probes} <= {
        run.hash for run in all_runs([run.config for run in find_experiment("table4").runs("laptop")])
    }


def test_arms_of_a_seed_start_from_the_same_weights_except_where_they_inherit(images):
    arms = Arms(recipe("image", "smoke"), 0)
    data = load_data(arms.spt().task)
    scratch = starting_model(arms.run("scratch"), data, None)
    parent = execute(arms.spt(), images / "runs")
    pretrained = parent.model()
    names = [name for name, _ in scratch.named_parameters()]
    for arm, groups in INHERITED.items():
        found = dict(starting_model(arms.run(arm), data, parent).named_parameters())
        inherited = set(select_group(names, groups))
        assert inherited
        for name in names:
            source = pretrained if name in inherited else scratch
            torch.testing.assert_close(found[name], source.get_parameter(name), rtol=0, atol=0)


def test_a_swapped_run_inherits_the_body_from_the_other_set_and_nothing_that_does_not_fit(images):
    target, source = recipe("image", "smoke"), recipe("pathfinder", "smoke")
    config = swapped(target, source, 0)
    record = execute(config, images / "runs")
    assert record.state == "finished"
    assert config.parent is not None
    parent = execute(config.parent, images / "runs").model()
    start = starting_model(config, load_data(config.task), execute(config.parent, images / "runs"))
    for name in select_group([name for name, _ in start.named_parameters()], SHARED):
        torch.testing.assert_close(start.get_parameter(name), parent.get_parameter(name), rtol=0, atol=0)
    assert start.get_parameter("reconstruction.weight").shape != parent.get_parameter("reconstruction.weight").shape
    with pytest.raises((CheckpointError, InputError)):
        execute(dataclasses.replace(config, inherit="all"), images / "runs")


def test_without_data_what_can_run_runs_and_the_rest_is_a_row_with_its_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("SPT_PREPARED", str(tmp_path / "prepared"))
    load_data.cache_clear()
    assert main(["run", "table1", "--scale", "smoke", "--runs", str(tmp_path / "runs"), "--jobs", "1"]) == 0
    shown = capsys.readouterr()
    for dataset in ("image", "text", "retrieval"):
        assert f"{dataset}: not run: missing data: " in shown.out
        assert f"python -m training data fetch {dataset}" in shown.out
    assert "can show no effect" in shown.err
    record = read_experiment(tmp_path / "runs" / "experiments" / "table1-smoke")
    assert set(record.content["missing"]) == {"image", "text", "retrieval"}
    assert {condition.split()[0] for condition in record.runs()["condition"]} == {"listops", "pathfinder"}
    choices = record.table("choices.csv")
    assert choices.columns == ["dataset", "name", "value", "source", "elsewhere"]
    assert choices["source"].null_count() == 0


def test_an_experiment_without_any_data_still_ends_well(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("SPT_PREPARED", str(tmp_path / "prepared"))
    load_data.cache_clear()
    arguments = ["run", "table10", "--scale", "smoke", "--runs", str(tmp_path / "runs"), "--jobs", "1"]
    assert main(arguments) == 0
    assert "image: not run: missing data" in capsys.readouterr().out


def test_wrong_data_are_no_missing_data_the_rest_runs_and_the_exit_code_is_2(images, capsys):
    archive = images / "data" / "imdb" / "aclImdb_v1.tar.gz"
    archive.parent.mkdir()
    archive.write_bytes(b"no archive")
    arguments = ["run", "table1", "--scale", "smoke", "--runs", str(images / "runs"), "--jobs", "1"]
    assert main([*arguments, "--only", "image", "text", "retrieval"]) == 2
    shown = capsys.readouterr().out
    assert "text: not run: wrong data: " in shown
    assert "retrieval: not run: missing data: " in shown
    assert "image scratch" in shown


def test_the_audit_shows_its_numbers_and_says_what_it_could_not_read(images, capsys):
    assert main(["run", "lra-audit", "--scale", "smoke", "--runs", str(images / "runs"), "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert "order strength" in shown
    for dataset in ("text", "retrieval", "GunPoint"):
        assert f"{dataset}: not run: missing data: " in shown
    record = read_experiment(images / "runs" / "experiments" / "lra-audit-smoke")
    assert set(record.table("audit.csv")["dataset"]) == {"image", "listops", "pathfinder"}
    assert record.content["missing"]["text"] == "missing"


def test_what_cannot_be_carried_out_is_refused_before_data_are_prepared(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    run = ["run", "table1", "--runs"]
    for arguments, sentence in (
        ([*run, str(tmp_path / "file" / "runs")], "choose a folder that can be written"),
        ([*run, str(tmp_path), "--jobs", "0"], "must be positive"),
        ([*run, str(tmp_path), "--checkpoint-seconds", "-1"], "must be 0 or more"),
        ([*run, str(tmp_path), "--device", "gpu"], "device"),
    ):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert "could show" not in error  # nothing was begun


def test_only_names_data_sets_or_conditions_and_the_record_holds_what_is_there(images):
    listed = find_experiment("table4").runs("smoke")
    part = select(listed, ("image scratch",))
    assert {run.condition for run in part} == {"image scratch"}
    with pytest.raises(InputError, match="--only names data sets or conditions"):
        select(listed, ("cifar",))
    first = [run for run in listed if run.condition == "image scratch"]
    sweep([run.config for run in first], images / "runs")
    now = [run for run in listed if run.condition == "image qk"]
    kept, records = with_finished(listed, now, sweep([r.config for r in now], images / "runs"), images / "runs")
    assert {run.condition for run in kept} == {"image scratch", "image qk"}
    assert [record.content["hash"] for record in records] == [run.config.hash for run in kept]
    there, missing = runnable(now)
    assert (there, missing) == (now, {})


def test_probes_weights_and_maps_are_measured_on_the_runs(images):
    runs = images / "runs"
    arguments = ["--scale", "smoke", "--runs", str(runs), "--jobs", "1", "--only", "image"]
    for name in ("lra-probes", "table10", "fig7", "table4-whole"):
        assert main(["run", name, *(arguments if name != "table10" else arguments[:-2])]) == 0
    probes = read_experiment(runs / "experiments" / "lra-probes-smoke").table("probes.csv")
    random = probes.filter(polars.col("condition") == "random")
    assert random["size"].to_list() == [0.0] * len(random)
    assert set(probes["condition"]) == {"random", "moved", "spt", "scratch", "spt-finetune"}
    moved = probes.filter(polars.col("condition") != "random")
    shares = (moved["blind_energy"] + moved["stripe_fraction"]).to_numpy()
    assert np.abs(shares - 1).max() < 1e-5  # six digits are written
    whole = read_experiment(runs / "experiments" / "table4-whole-smoke").table("probes.csv")
    assert whole.equals(probes.filter(polars.col("scheme") == "tied"))  # the same runs
    weights = read_experiment(runs / "experiments" / "table10-smoke").table("weights.csv")
    assert set(weights["pair"]) == {"R>SPT", "R>SC", "SPT>FT", "R>FT", "SC>FT"}
    maps = read_experiment(runs / "experiments" / "fig7-smoke").arrays("maps.npz")
    attention = maps["image-attention"].astype(np.float64)
    assert np.allclose(attention.sum(1), 1, atol=attention.shape[1] * 2**-11)  # half precision, entry by entry


def test_image_at_the_papers_length_has_1024_tokens_and_the_paper_scale_is_table_4s(images):
    laptop, paper = (whole_image.recipes(scale)[0] for scale in ("laptop", "paper"))
    assert (laptop.task.size, laptop.dataset, len(laptop.seeds)) == (32, "image32", 8)
    hashes = {run.config.hash for run in find_experiment("table4").runs("paper")}
    assert {Arms(paper, 0).run(arm).hash for arm in whole_image.ARMS} <= hashes


def test_probes_leave_out_a_seed_whose_runs_are_not_all_there(images, capsys):
    arguments = ["run", "table4-whole", "--scale", "smoke", "--runs", str(images / "runs"), "--jobs", "1"]
    assert main([*arguments, "--only", "image spt", "image scratch"]) == 0
    record = read_experiment(images / "runs/experiments/table4-whole-smoke")
    with pytest.raises(MissingRecord, match="holds a part of its experiment"):  # predictions then read "not run"
        record.table("probes.csv")


def test_displacements_are_frobenius_norms_between_the_four_networks(images):
    arms = Arms(recipe("image", "smoke"), 0)
    chain = (arms.spt(), arms.run("scratch"), arms.run("spt-finetune"))
    spt, scratch, finetuned = (execute(run, images / "runs") for run in chain)
    rows = [*pretraining_pair(spt), *label_pairs(spt, scratch, finetuned)]
    networks = {"R": initial_model(spt), "SPT": spt.model(), "SC": scratch.model(), "FT": finetuned.model()}
    for pair, row in rows:
        if row["component"] != "query":
            continue
        start, end = (networks[name].layer(0).attention.query for name in pair.split(">"))
        parts = [
            (b.double() - a.double()).detach().square().sum()
            for a, b in zip(start.parameters(), end.parameters(), strict=True)
        ]
        assert row["displacement"] == pytest.approx(float(sum(parts)) ** 0.5, rel=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_every_table_of_accuracies_says_beforehand_what_it_could_show(scale, tmp_path, monkeypatch):
    monkeypatch.setenv("SPT_DATA", str(tmp_path))  # no data are needed
    for experiment in (*TABLES, whole_image.WHOLE_IMAGE):
        assert experiment.statement is not None
        datasets = dict.fromkeys(dataset_of(run) for run in experiment.runs(scale))
        assert [line.partition(":")[0] for line in experiment.statement(scale)] == list(datasets)


def test_the_power_statement_is_the_minimum_detectable_effect_of_that_spread():
    deviation, seeds = (2 * 0.25 / 2000) ** 0.5, 6
    values = np.array([1.0, -1.0] * (seeds // 2))
    values *= deviation / values.std(ddof=1)
    assert smallest_effect(2000, seeds) == pytest.approx(minimum_detectable_effect(values), rel=1e-9)
    assert smallest_effect(8000, seeds) == pytest.approx(smallest_effect(2000, seeds) / 2, rel=1e-12)


def test_the_toy_task_is_no_file_task_and_is_always_there():
    load_data.cache_clear()
    listed = find_experiment("toy-fig13").runs("smoke")[:1]
    assert isinstance(listed[0].config.task, TrajectoryTask)
    assert runnable(listed) == (listed, {})
