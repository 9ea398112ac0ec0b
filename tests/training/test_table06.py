"""Table 6: runs that are what they are called, choices with reasons, verdicts by the house's rules."""

from dataclasses import fields

import polars
import pytest
import torch

from tests.paper_figures.made_records import csv, put
from training.__main__ import main
from training.config import sources
from training.data.ucr import PAPER_SETS, UcrTask
from training.experiments import table06
from training.experiments.experiment import SCALES
from training.experiments.record import read_experiment
from training.experiments.table06 import CONDITIONS, PRESETS, SHAPE, Table6, condition_of, conditions, runs
from training.predictions.prediction import Records, judge
from training.predictions.statistics import LEVEL
from training.predictions.table06 import REPORTED_GAINS, TABLE_6
from training.stages import Pretrain, batches_per_epoch, chain

SEEDS = range(PRESETS["paper"].seeds)


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """A data folder with nothing in it."""
    monkeypatch.setenv("SPT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPT_PREPARED", str(tmp_path / "prepared"))
    (tmp_path / "data").mkdir()
    return tmp_path


@pytest.fixture
def data(spt_data, tmp_path, monkeypatch):
    """The real series, prepared elsewhere."""
    monkeypatch.setenv("SPT_DATA", str(spt_data))
    monkeypatch.setenv("SPT_PREPARED", str(tmp_path / "prepared"))
    if not list(spt_data.glob("ucr/*/GunPoint")):
        pytest.skip(f"{spt_data} holds no UCR sets: real series not tested")
    return tmp_path


@pytest.mark.parametrize("dataset", PAPER_SETS)
@pytest.mark.parametrize("scale", SCALES)
def test_matched_scratch_makes_as_many_updates_as_pretraining_and_finetuning(scale, dataset):
    found = conditions(PRESETS[scale], dataset, seed=0)
    size = PAPER_SETS[dataset][0]
    updates = {
        name: sum(link.stage.epochs * batches_per_epoch(size, link.stage.batch) for link in chain(config))
        for name, config in found.items()
    }
    assert updates["scratch-matched"] == updates["spt-finetune"] > updates["scratch"]
    looks = {config.stage.epochs // config.stage.evaluate_every for config in found.values()}
    assert looks == {PRESETS[scale].looks}, "the best of more looks would be better by itself"


def test_conditions_of_a_seed_share_all_but_how_they_are_trained():
    for dataset in PAPER_SETS:
        for seed in SEEDS:
            found = conditions(Table6(), dataset, seed)
            assert len({(c.task, c.model, c.initial, c.seed) for c in found.values()}) == 1
            scratch, tuned = found["scratch"], found["spt-finetune"]
            assert tuned.stage == scratch.stage
            assert tuned.parent is not None
            assert isinstance(tuned.parent.stage, Pretrain)
            assert (tuned.inherit, scratch.parent) == ("all", None)


def test_the_paper_scale_trains_as_long_as_the_paper_on_enough_seeds():
    choices = PRESETS["paper"]
    assert (choices.spt_epochs, choices.label_epochs) == (200, 100)
    assert choices.seeds >= 6
    assert len(runs("paper")) == len(PAPER_SETS) * len(CONDITIONS) * choices.seeds
    least_p = len(TABLE_6) / 2 ** (choices.seeds - 1)
    assert least_p <= LEVEL < 2 * least_p, "fewer seeds could not confirm all predictions, however large the gains"


def test_every_choice_has_a_value_and_a_reason():
    for choices in PRESETS.values():
        assert set(sources(choices)) == {field.name for field in fields(Table6)}
        table = polars.read_csv(table06.tables("paper", [], [])["choices.csv"])
        assert table["name"].to_list() == [field.name for field in fields(Table6)]
        assert table.null_count().sum_horizontal().item() == 0


def test_without_data_runs_are_listed_and_running_says_for_each_set_what_is_missing(no_data, capsys):
    assert main(["list", "--runs", str(no_data / "runs")]) == 0
    assert "table6" in capsys.readouterr().out
    for jobs in ("1", "2"):
        assert main(["run", "table6", "--scale", "smoke", "--runs", str(no_data / "runs"), "--jobs", jobs]) == 0
        said = [line for line in capsys.readouterr().out.splitlines() if "not run: missing data" in line]
        assert len(said) == len(PAPER_SETS)
        assert all(
            f"python -m training data fetch ucr:{name}" in line for name, line in zip(PAPER_SETS, said, strict=True)
        )
    assert not list(no_data.rglob("run.json"))
    assert not list(no_data.rglob("experiment.json"))


@pytest.mark.usefixtures("data")
def test_the_network_and_the_number_of_updates_fit_the_series():
    for dataset, (train, test, length) in PAPER_SETS.items():
        task = UcrTask(dataset=dataset)
        loaded = task.load()
        assert task.model_shape() == SHAPE
        assert (len(loaded.train), len(loaded.unlabeled), len(loaded.test)) == (train, train, test)
        assert loaded.train.batch(torch.arange(2)).tokens.shape[1] == length
        assert len(loaded.validation) == test, "TEST stands for validation, as the table says"


def test_the_experiment_leaves_a_record_with_both_accuracies_of_every_run(data, monkeypatch):
    monkeypatch.setitem(PRESETS, "smoke", Table6(seeds=1, label_epochs=2, spt_epochs=2, looks=2))
    monkeypatch.setattr(table06, "PAPER_SETS", {"ECG200": PAPER_SETS["ECG200"]})
    arguments = ["run", "table6", "--scale", "smoke", "--runs", str(data / "runs"), "--jobs", "1"]
    assert main(arguments) == 0
    record = read_experiment(data / "runs" / "experiments" / "table6-smoke")
    table = record.runs()
    assert sorted(table["condition"]) == sorted(condition_of("ECG200", c) for c in CONDITIONS)
    assert (table["peak_test_accuracy"] >= table["final_test_accuracy"]).all()
    assert (table["peak_test_accuracy"] == table["peak_validation_accuracy"]).all(), "TEST stands for validation"
    assert record.table("choices.csv").filter(polars.col("name") == "seeds")["value"].item() == "1"
    start = record.epochs().filter(polars.col("epoch") == 0)
    both = start.filter(polars.col("condition").str.contains("scratch"))
    assert both["test_loss"].n_unique() == 1, "scratch and matched scratch start from the same weights"


def record_of(folder, gains, sets=tuple(PAPER_SETS), seeds=SEEDS):
    """Runs whose peak gains over scratch are given, over matched scratch a tenth less; final values lie below."""
    rows = []
    for dataset in sets:
        for seed in seeds:
            base = 0.8 + 0.001 * seed
            tuned = base + gains[dataset] + 0.0005 * (seed % 3)
            for condition, peak in zip(CONDITIONS, (base, tuned - 0.9 * gains[dataset], tuned), strict=True):
                row = {"condition": condition_of(dataset, condition), "learning_rate": 3e-3, "seed": seed}
                rows.append(row | {"peak_test_accuracy": peak, "final_test_accuracy": peak - 0.1, "state": "finished"})
    put(folder, "table6", {"runs.csv": csv(rows)}, scale="paper")
    return Records(folder, "paper")


def test_gains_of_the_papers_size_are_confirmed_and_absent_ones_contradicted(tmp_path):
    found = {one.prediction.id: one for one in judge(TABLE_6, record_of(tmp_path / "paper", REPORTED_GAINS))}
    assert {one.verdict for one in found.values()} == {"confirmed"}
    assert found["table6-average"].effect == pytest.approx(0.0305 + 0.0004, abs=2e-4)
    assert found["table6-gunpoint"].controls["over matched"] == pytest.approx(0.9 * 0.05)
    none = judge(TABLE_6, record_of(tmp_path / "none", dict.fromkeys(PAPER_SETS, -0.01)))
    assert {one.verdict for one in none} == {"contradicted"}


def test_fewer_than_six_seeds_and_missing_sets_decide_nothing(tmp_path):
    few = judge(TABLE_6, record_of(tmp_path / "few", REPORTED_GAINS, seeds=range(5)))
    assert {one.verdict for one in few} == {"inconclusive"}
    part = judge(TABLE_6, record_of(tmp_path / "part", REPORTED_GAINS, sets=("GunPoint", "ECG200")))
    verdicts = {one.prediction.id: one.verdict for one in part}
    assert verdicts.pop("table6-gunpoint") == verdicts.pop("table6-ecg200") == "confirmed"
    assert set(verdicts.values()) == {"not run"}


def test_half_of_each_reported_gain_is_asked_for():
    asked = {one.id: one.margin for one in TABLE_6}
    for dataset, gain in REPORTED_GAINS.items():
        assert asked[f"table6-{dataset.lower()}"] == gain / 2
    assert asked["table6-over-matched"] == 0
