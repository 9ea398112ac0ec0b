"""A checkpoint is what it was: reloaded and measured again it scores alike, and it refuses another task's data."""

import shutil
from dataclasses import replace

import pytest

from numerics.errors import InputError
from tests.training.data.made import imdb_folder
from tests.training.data.test_training_on_tasks import TASKS, configured, fill
from training.__main__ import main
from training.checkpoints import read_header
from training.data.text import TextTask
from training.data.trajectory import TrajectoryTask
from training.errors import CheckpointError
from training.evaluate_command import measure
from training.execute import execute, load_data
from training.model.config import ModelConfig
from training.model.initialisation import InitialWeights
from training.stages import Optimiser, Pretrain, RunConfig, Supervised, finetune


@pytest.fixture
def runs(data_folder, tmp_path):
    """Raw data of every task, and a folder for runs."""
    fill(data_folder)
    load_data.cache_clear()
    return tmp_path / "runs"


def toy():
    task = TrajectoryTask(train=20, validation=8, test=8, unlabeled=20)
    return RunConfig(task, ModelConfig(width=8), InitialWeights(), Pretrain(Optimiser(), epochs=1, batch=8))


@pytest.mark.parametrize("name", [*TASKS, "toy"])
def test_a_reloaded_network_scores_as_its_record_says_bit_for_bit(name, runs):
    spt = toy() if name == "toy" else configured(name)
    record = execute(finetune(spt, Supervised(epochs=1, batch=4)), runs)
    for one in (record, execute(spt, runs)):
        for measured, value in measure(one).items():
            assert one.summary[f"final_{measured}"] == value, measured


def test_the_door_measures_a_run_again(runs, capsys):
    record = execute(toy(), runs)
    assert main(["evaluate", record.id, "--runs", str(runs)]) == 0
    assert "bit for bit" in capsys.readouterr().out
    assert main(["evaluate", "nothing", "--runs", str(runs)]) == 2


def test_a_checkpoint_names_its_task_vocabulary_and_positions(runs):
    text = execute(configured("text"), runs)
    header = read_header(text.folder / "model.safetensors")
    assert header["task"] == "text"
    assert header["positions"] == "sinusoidal"
    assert len(header["vocabulary"]) == 16
    assert read_header(execute(toy(), runs).folder / "model.safetensors")["vocabulary"] == "none"


def test_another_task_is_refused(runs, capsys):
    record = execute(configured("text"), runs)
    assert main(["evaluate", record.id, "--runs", str(runs), "--on", "listops-short"]) == 2
    assert "must be of the same task" in capsys.readouterr().err


def test_another_vocabulary_is_refused(runs, data_folder):
    """The same task with one review more: a symbol more, so that every id may mean another character."""
    spt = configured("text")
    execute(spt, runs)
    shutil.rmtree(data_folder / "imdb" / "aclImdb")
    shutil.rmtree(data_folder.parent / "prepared")
    imdb_folder(data_folder, repeat=7)
    (data_folder / "imdb" / "aclImdb" / "train" / "pos" / "99_9.txt").write_text("ωωω films", encoding="utf-8")
    load_data.cache_clear()
    with pytest.raises(CheckpointError, match="must be of the same vocabulary"):
        execute(finetune(spt, Supervised(epochs=1, batch=4)), runs)


def test_another_positional_scheme_is_refused(runs):
    spt = configured("image")
    other = finetune(spt, Supervised(epochs=1, batch=8))
    changed = replace(spt.model, positions="alibi")
    with pytest.raises(InputError, match="must be of the same positional scheme"):
        execute(RunConfig(spt.task, changed, spt.initial, other.stage, 0, spt, "all"), runs)


def test_named_groups_may_come_from_another_task_and_everything_may_not(runs):
    spt = configured("image")
    target = configured("ucr")
    labels = Supervised(epochs=1, batch=8)
    named = RunConfig(target.task, target.model, target.initial, labels, 0, spt, "attention+mlp+norms+encoder")
    assert execute(named, runs).state == "finished"
    with pytest.raises(CheckpointError, match="must be of the same task"):
        execute(RunConfig(target.task, target.model, target.initial, labels, 0, spt, "all"), runs)


def test_embedded_ids_may_not_come_from_another_vocabulary(runs):
    spt = configured("text")
    task = TextTask(least_count=2, validation="split")
    labels = Supervised(epochs=1, batch=4)
    with pytest.raises(CheckpointError, match="must be of the same vocabulary"):
        execute(RunConfig(task, spt.model, spt.initial, labels, 0, spt, "encoder"), runs)
    assert execute(RunConfig(task, spt.model, spt.initial, labels, 0, spt, "qk"), runs).state == "finished"
