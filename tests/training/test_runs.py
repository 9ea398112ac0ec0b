"""A run: the same bits however often it is stopped, a record whole or not at all, and plain words when it fails."""

import errno
import itertools
import json
import math
import multiprocessing
import os
import random
import time

import pytest
import torch

from numerics.errors import InputError
from tests.training.small import MODEL, TASK, labels, network, pretraining
from training import files
from training.checkpoints import inherit_parameters, load_parameters, save_parameters
from training.config import as_plain, config_hash, from_plain, sources
from training.errors import CheckpointError, StorageError
from training.evaluation import Row, chance_warning, evaluate_labels
from training.execute import Execution, execute, load_data
from training.model.config import ModelConfig
from training.model.initialisation import InitialWeights, initialised_model
from training.records import PARTIAL, find_record, keep_record, list_records, read_record
from training.stages import Optimiser, Pretrain, RunConfig, Supervised, finetune

EVERY_STEP = Execution(checkpoint_seconds=0.0)
RESULT = ("epochs.csv", "steps.csv", "model.safetensors")


def result(record):
    """What must be the same bits: curves and parameters."""
    return {name: (record.folder / name).read_bytes() for name in RESULT}


def stopping_at(step):
    def progress(run, done, steps):
        if done == step:
            raise KeyboardInterrupt

    return Execution(checkpoint_seconds=0.0, progress=progress)


def half_written(runs):
    """Temporary files, and run folders without a readable record."""
    loose = [path for path in runs.rglob("*") if path.is_file() and path.name.startswith(".")]
    folders = [path for path in runs.iterdir() if path.is_dir() and path.name != PARTIAL]
    return loose + [folder for folder in folders if read_record(folder).state not in ("finished", "diverged")]


@pytest.mark.parametrize("config", [pretraining(), labels(keep_epochs=(0, 2))], ids=["pretraining", "labels"])
@pytest.mark.parametrize("step", [1, 4, 5])
def test_an_interrupted_run_ends_with_the_bits_of_an_uninterrupted_one(config, step, tmp_path):
    whole = execute(config, tmp_path / "whole")
    for _ in range(2):  # the second interruption comes after a resumption: at most one step more is done each time
        with pytest.raises(KeyboardInterrupt):
            execute(config, tmp_path / "stopped", stopping_at(step))
        step += 1
    assert not half_written(tmp_path / "stopped")
    resumed = execute(config, tmp_path / "stopped")
    assert result(resumed) == result(whole)
    assert resumed.content["cost"]["sessions"] > 1
    for epoch in config.stage.keep_epochs:
        name = f"epoch-{epoch:04d}.safetensors"
        assert (resumed.folder / name).read_bytes() == (whole.folder / name).read_bytes()


def test_a_chain_killed_at_random_moments_ends_with_the_bits_of_an_uninterrupted_one(tmp_path):
    config = finetune(pretraining(epochs=60), Supervised(epochs=60, batch=8))
    whole = execute(config, tmp_path / "whole")
    runs, draw, killed = tmp_path / "killed", random.Random(0), 0
    context = multiprocessing.get_context("fork")
    runs.mkdir()
    for _ in range(20):
        process = context.Process(target=execute, args=(config, runs, EVERY_STEP))
        process.start()
        process.join(draw.uniform(0.02, 0.16))
        if process.is_alive():
            process.kill()  # SIGKILL: nothing of the run may clean up
            killed += 1
        process.join()
        for folder in runs.glob("trajectory-*"):
            assert read_record(folder).state == "finished"
    assert killed >= 10, "the kills must hit a running process"
    resumed = execute(config, runs)
    assert result(resumed) == result(whole)
    (before,) = [record for record in list_records(runs) if "-spt-" in record.id]
    assert result(before) == result(read_record(tmp_path / "whole" / before.id))
    assert os.listdir(runs / PARTIAL) == []


def test_the_same_configuration_is_not_run_twice_and_a_shared_stage_is_run_once(tmp_path):
    spt = pretraining()
    done = []
    watched = Execution(progress=lambda run, step, steps: done.append(run))
    for rate in (1e-3, 1e-2):
        execute(finetune(spt, Supervised(optimiser=Optimiser(rate), epochs=2, batch=8)), tmp_path, watched)
    steps = len(done)
    assert done.count(spt.id) == spt.stage.epochs * 5
    execute(finetune(spt, Supervised(optimiser=Optimiser(1e-2), epochs=2, batch=8)), tmp_path, watched)
    assert len(done) == steps
    assert len(list_records(tmp_path)) == 3


def test_a_reloaded_network_evaluates_to_the_recorded_numbers(tmp_path):
    config = labels()
    record = execute(config, tmp_path)
    model = record.model()
    loss, accuracy = evaluate_labels(model, load_data(config.task).test)
    last = record.epochs().to_dicts()[-1]
    assert (loss, accuracy) == (last["test_loss"], last["test_accuracy"])
    assert record.summary["final_test_accuracy"] == accuracy
    assert record.summary["peak_test_accuracy"] == max(record.epochs()["test_accuracy"])


def test_finetuning_starts_from_the_inherited_groups_and_elsewhere_from_the_weights_of_scratch(tmp_path):
    spt = pretraining()
    before = execute(spt, tmp_path).model()
    stage = Supervised(epochs=1, batch=8, keep_epochs=(0,))
    qk = execute(finetune(spt, stage, inherit="qk"), tmp_path).model(epoch=0)
    scratch = execute(RunConfig(TASK, MODEL, InitialWeights(), stage), tmp_path).model(epoch=0)
    for name, value in qk.named_parameters():
        source = before if ".query." in name or ".key." in name else scratch
        assert torch.equal(value, source.get_parameter(name)), name
    assert not torch.equal(
        scratch.get_parameter("blocks.0.attention.key.weight"), before.get_parameter("blocks.0.attention.key.weight")
    )


def test_a_record_says_everything_about_its_run(tmp_path):
    config = finetune(pretraining(), Supervised(epochs=2, batch=8))
    content = json.loads((execute(config, tmp_path).folder / "run.json").read_text())
    assert from_plain(content["config"]) == config
    assert content["hash"] == config.hash
    assert content["parent"] == pretraining().id
    assert content["seeds"] == {"run": 0, "task": 0}
    assert content["environment"]["versions"]["torch"] == torch.__version__
    assert content["environment"]["cores"] >= 1
    assert content["sources"]["model.width"].startswith("set by the experiment (the default 32: paper, section 4")
    assert content["sources"]["task.label_flip"] == "paper, section 4"
    assert set(content["cost"]) >= {"wall_seconds", "cpu_seconds", "steps"}


def test_a_hash_sees_every_value_of_the_whole_chain():
    config = finetune(pretraining(), Supervised(epochs=2))
    others = [
        finetune(pretraining(rate=2e-2), Supervised(epochs=2)),
        finetune(pretraining(), Supervised(epochs=2), inherit="qk"),
        finetune(pretraining(seed=1), Supervised(epochs=2)),
        finetune(pretraining(), Supervised(epochs=3)),
    ]
    assert len({run.hash for run in [config, *others]}) == 5
    assert config_hash(from_plain(json.loads(json.dumps(as_plain(config))))) == config.hash
    assert set(sources(config)) >= {"parent.stage.mask_ratio", "stage.optimiser.beta1"}


def test_a_loss_that_is_not_finite_stops_the_run_names_the_step_and_keeps_good_parameters(tmp_path):
    config = pretraining(rate=1e30)
    record = execute(config, tmp_path)
    step = record.content["diverged_at_step"]
    assert record.state == "diverged"
    assert f"not finite at step {step}" in record.content["warnings"][0]["sentence"]
    assert len(record.steps()) == step
    assert all(map(math.isfinite, record.steps()["loss"]))
    assert step < 5, "within the first epoch, so the last good parameters are the initial ones"
    for name, value in initialised_model(config.model, config.initial, config.seed).named_parameters():
        assert torch.equal(record.model().get_parameter(name), value), name
    child = execute(finetune(config, Supervised(epochs=1, batch=8)), tmp_path)
    assert "parent-diverged" in [warning["name"] for warning in child.content["warnings"]]


def test_a_run_that_learns_nothing_is_warned_of_by_name_and_one_that_learns_is_not(tmp_path):
    record = execute(labels(rate=1e-9), tmp_path)
    assert [warning["name"] for warning in record.content["warnings"]] == ["stuck-at-chance"]
    rows: list[Row] = [{"epoch": 1, "train_accuracy": 0.9}]
    assert chance_warning(rows, torch.arange(100) % 2, 100) is None


def test_a_full_disk_leaves_nothing_half_written_and_the_run_goes_on_later(tmp_path, monkeypatch):
    """Every write of a run fails once."""
    config = labels(epochs=1)
    whole = execute(config, tmp_path / "whole")
    real, sentences = os.fsync, list[str]()
    for fails_at in itertools.count():
        runs, calls = tmp_path / f"full{fails_at}", itertools.count()

        def fsync(handle, calls=calls, fails_at=fails_at):
            if next(calls) == fails_at:
                raise OSError(errno.ENOSPC, "No space left on device")
            real(handle)

        with monkeypatch.context() as patch:
            patch.setattr(files.os, "fsync", fsync)
            try:
                execute(config, runs, EVERY_STEP)
                break
            except StorageError as error:
                sentences.append(str(error))
        assert not half_written(runs)
        assert result(execute(config, runs)) == result(whole)
    assert len(sentences) >= 8
    assert all("free some space" in sentence for sentence in sentences)


def test_a_record_that_cannot_be_kept_leaves_the_kept_ones_alone(tmp_path, monkeypatch):
    record = execute(labels(epochs=1), tmp_path / "runs")
    kept = keep_record(record, tmp_path / "kept")
    assert sorted(os.listdir(kept)) == ["epochs.csv", "run.json", "steps.csv"]

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StorageError):
        keep_record(record, tmp_path / "kept")
    assert os.listdir(tmp_path / "kept") == [record.id]
    assert read_record(kept).content == record.content


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(StorageError, match="choose a folder that can be written"):
        execute(labels(), tmp_path / "runs")


def test_a_checkpoint_of_another_configuration_or_a_truncated_one_is_refused(tmp_path):
    model = network(MODEL)
    file = tmp_path / "model.safetensors"
    save_parameters(file, dict(model.named_parameters()), labels().hash)
    assert load_parameters(file, labels().hash).keys() == dict(model.named_parameters()).keys()
    with pytest.raises(CheckpointError, match="must belong to its configuration"):
        load_parameters(file, labels(seed=1).hash)
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(CheckpointError, match="must be a whole safetensors file"):
        load_parameters(file)
    with pytest.raises(CheckpointError, match="must exist"):
        load_parameters(tmp_path / "none.safetensors")


@pytest.mark.parametrize("name", ["epochs.csv", "steps.csv", "model.safetensors"])
@pytest.mark.parametrize("how", ["cut", "gone", "garbage"])
def test_a_damaged_run_does_not_count_as_there(tmp_path, name, how):
    record = execute(labels(), tmp_path)
    file = record.folder / name
    if how == "cut":
        file.write_bytes(file.read_bytes()[:-30])
    elif how == "garbage":
        file.write_bytes(b"\xff\x00" * 40)
    else:
        file.unlink()
    with pytest.raises(InputError, match=rf"{name}.* delete the folder .* and run again"):
        find_record(labels(), tmp_path)


def test_a_truncated_state_is_refused_in_words(tmp_path):
    config = labels()
    with pytest.raises(KeyboardInterrupt):
        execute(config, tmp_path, stopping_at(3))
    (state,) = (tmp_path / PARTIAL).glob("*/state.safetensors")
    state.write_bytes(state.read_bytes()[:200])
    with pytest.raises(CheckpointError, match=r"delete the folder .* and run again"):
        execute(config, tmp_path)


def test_a_checkpoint_of_another_shape_is_refused():
    parameters = dict(network(MODEL).named_parameters())
    with pytest.raises(CheckpointError, match=r"query.weight has shape \(16, 16\), the checkpoint holds \(8, 8\)"):
        inherit_parameters(network(ModelConfig(width=16)), parameters, "qk")
    with pytest.raises(CheckpointError, match="names none"):
        inherit_parameters(network(MODEL), parameters, "mlp")


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Pretrain(mask_ratio=0.0), "strictly between 0 and 1: mask_ratio=0.0"),
        (lambda: Pretrain(mask_ratio=1.0), "strictly between 0 and 1: mask_ratio=1.0"),
        (lambda: Pretrain(loss="huber"), "unknown reconstruction loss"),
        (lambda: Pretrain(normaliser="none"), "unknown normaliser"),
        (lambda: Optimiser(learning_rate=0.0), "learning rate must be positive"),
        (lambda: Optimiser(learning_rate=math.nan), "learning rate must be positive"),
        (lambda: Supervised(epochs=0), "must be positive"),
        (lambda: Supervised(frozen="qkv"), "unknown parameter group: qkv"),
        (lambda: Supervised(epochs=2, keep_epochs=(3,)), "kept epochs must lie in 0..2"),
        (lambda: InitialWeights(scheme="xavier"), "unknown initialisation"),
        (lambda: InitialWeights(scale=0.0), "must be positive"),
        (lambda: RunConfig(TASK, MODEL, InitialWeights(), Supervised(), inherit="qk"), "exactly when it has a parent"),
        (lambda: pretraining(loss="cross-entropy"), "reconstruction of classes uses cross-entropy"),
        (lambda: from_plain({"kind": "Unknown"}), "must be of a known kind"),
        (lambda: from_plain({"kind": "Optimiser", "rate": 1}), "exactly the fields"),
    ],
)
def test_choices_that_make_no_sense_are_refused_in_words(build, sentence):
    with pytest.raises(InputError, match=sentence):
        build()


def test_two_processes_do_not_compute_one_run_at_the_same_time(tmp_path):
    config = labels(epochs=20)
    context = multiprocessing.get_context("fork")
    started = time.monotonic()
    processes = [context.Process(target=execute, args=(config, tmp_path, EVERY_STEP)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert time.monotonic() - started < 60
    (record,) = list_records(tmp_path)
    assert record.content["cost"]["sessions"] == 1
