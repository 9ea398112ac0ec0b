"""Every task trains: a few steps of self-pretraining and labels, saved, read again and scored alike."""

import math
from typing import Any

import pytest
import torch

from tests.training.data.made import aan, grey_npz, imdb_folder, listops, pathfinder, ucr
from training.data.image import ImageTask
from training.data.listops import ListOpsTask
from training.data.listops_generator import ListOpsLaw
from training.data.pathfinder import PathFinderTask
from training.data.retrieval import RetrievalTask
from training.data.text import TextTask
from training.data.ucr import UcrTask
from training.execute import execute
from training.loop import stage_loss
from training.model.config import transformer
from training.model.initialisation import InitialWeights, initialised_model
from training.stages import Optimiser, Pretrain, RunConfig, Supervised, finetune

TASKS: dict[str, tuple[Any, str]] = {
    "ucr": (UcrTask("Toy"), "l2"),
    "image": (ImageTask(source="jpeg", size=8, validation=6, train_limit=20), "l2"),
    "listops": (ListOpsTask(), "cross-entropy"),
    "listops-generated": (
        ListOpsTask(source="generated", law=ListOpsLaw(train=12, validation=4, test=4, more_than=3, less_than=20)),
        "cross-entropy",
    ),
    "text": (TextTask(least_count=1, validation="split"), "cross-entropy"),
    "pathfinder": (PathFinderTask(), "cross-entropy"),
    "retrieval": (RetrievalTask(), "cross-entropy"),
}

FIXED_LENGTH = ("image", "pathfinder")
SERIES = [("-1", "1 2 3 4"), ("1", "4 3 2 1"), ("-1", "1 1 NaN NaN"), ("1", "5 4 1 0"), ("1", "2 1 1 NaN")]


def fill(folder):
    ucr(folder, train=SERIES)
    grey_npz(folder / "cifar10")
    listops(folder / "listops")
    imdb_folder(folder)
    pathfinder(folder)
    aan(folder / "aan")


def configured(name):
    task, loss = TASKS[name]
    kind = "pair" if name == "retrieval" else "linear"
    model = transformer(**task.model_shape(), width=8, layers=1, heads=2, feedforward=8, classifier=kind)
    stage = Pretrain(optimiser=Optimiser(learning_rate=1e-3), epochs=1, batch=8, mask_ratio=0.5, loss=loss)
    return RunConfig(task, model, InitialWeights(), stage)


@pytest.mark.parametrize("name", [name for name in TASKS if name != "retrieval"])
def test_self_pretraining_and_finetuning_run_and_record_their_curves(name, data_folder, tmp_path):
    fill(data_folder)
    spt = configured(name)
    record = execute(finetune(spt, Supervised(epochs=1, batch=8)), tmp_path / "runs")
    assert record.state == "finished"
    assert math.isfinite(record.summary["final_test_loss"])
    parent = execute(spt, tmp_path / "runs")
    assert math.isfinite(parent.summary["final_validation_loss"])


def test_pairs_train_on_labels_and_their_texts_on_reconstruction(data_folder, tmp_path):
    fill(data_folder)
    spt = configured("retrieval")
    record = execute(RunConfig(spt.task, spt.model, spt.initial, Supervised(epochs=1, batch=2)), tmp_path / "runs")
    assert record.state == "finished"
    data = spt.task.load()
    loss = stage_loss(spt, initialised_model(spt.model, spt.initial, 0), data.unlabeled.batch(torch.arange(8)), 0)
    assert abs(float(loss.detach()) - math.log(99)) < 1.5


@pytest.mark.parametrize("name", [name for name in TASKS if name not in FIXED_LENGTH])
def test_a_logit_does_not_depend_on_what_else_is_in_the_batch(name, data_folder):
    """The shortest row, which longer ones pad the most, against the same row alone."""
    fill(data_folder)
    config = configured(name)
    model, split = initialised_model(config.model, config.initial, 0).double(), config.task.load().train
    together = split.batch(torch.arange(len(split)))
    shortest = int(together.lengths.flatten(1).sum(1).argmin() if name == "retrieval" else together.lengths.argmin())
    alone = split.batch(torch.tensor([shortest]))
    assert alone.tokens[0].shape[together.lengths.ndim - 1] < together.tokens[0].shape[together.lengths.ndim - 1]
    wanted, found = (
        model.classify(batch.tokens if config.model.vocabulary else batch.tokens.double(), batch.lengths)
        for batch in (alone, together)
    )
    torch.testing.assert_close(found[shortest], wanted[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FIXED_LENGTH)
def test_images_have_one_length_and_no_padding(name, data_folder):
    fill(data_folder)
    split = configured(name).task.load().train
    assert set(split.lengths.tolist()) == {split.tokens.shape[1]}


@pytest.mark.parametrize("name", TASKS)
def test_what_the_model_must_fit_agrees_with_the_data(name, data_folder):
    fill(data_folder)
    config = configured(name)
    data, shape = config.task.load(), config.task.model_shape()
    assert data.classes == shape["classes"]
    batch = data.train.batch(torch.arange(2))
    if "vocabulary" in shape:
        assert 0 < int(batch.tokens.max()) < shape["vocabulary"]
        assert len(data.provenance["vocabulary"]) <= shape["vocabulary"]
    else:
        assert batch.tokens.shape[-1] == shape["channels"]
        assert batch.tokens.dtype == torch.float32
    if "target_classes" in shape:
        assert int(batch.targets.max()) < shape["target_classes"]
