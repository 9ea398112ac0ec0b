"""``python -m training evaluate``: reload a finished run from its checkpoint and measure it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich import box
from rich.table import Table

from training.checkpoints import read_header
from training.data.catalogue import find_entry
from training.evaluation import evaluate_labels, evaluate_reconstruction
from training.execute import load_data
from training.identity import check_identity, identity
from training.records import RunRecord, check_whole, read_record
from training.stages import Pretrain
from training.terminal import out


def evaluate(
    run: Annotated[str, tyro.conf.Positional],
    runs: Path = Path("runs"),
    on: str = "",
) -> int:
    """Reload a finished run and measure it again.  Example: python -m training evaluate image16-labels-s0-1589b0ca9054

    Exit code 0: the same numbers as in the record (or another data set was asked for); 1: they differ; 2: bad input.

    Args:
        run: name of a run folder (the records of experiments list them).
        runs: folder of run records.
        on: another data set from "data list" of the same task; its vocabulary must be the checkpoint's.
    """
    record = read_record(runs / run)
    check_whole(record)
    measured = measure(record, on)
    known = record.summary
    table = Table("measure", "now", "record", box=box.SIMPLE_HEAD)
    differ = False
    for name, value in measured.items():
        before = None if on else known.get(f"final_{name}")
        differ |= before is not None and before != value
        table.add_row(name.replace("_", " "), f"{value:.6f}", "–" if before is None else f"{before:.6f}")
    console = out()
    console.print(table)
    if not on:
        console.print(_said(differ, record))
    return int(differ)


def _said(differ: bool, record: RunRecord) -> str:
    if not differ:
        return "the same as in the record, bit for bit"
    now = json.loads(json.dumps(dict(load_data(record.config.task).provenance)))
    if any(now.get(part) != record.content["data"].get(part) for part in ("files", "splits")):
        return "the numbers differ: the data are not those that the record was made with"
    return "the reloaded network differs from its record"


def measure(record: RunRecord, on: str = "") -> dict[str, float]:
    """Losses and accuracies of the reloaded network, by split.

    Raises:
        CheckpointError: where the checkpoint is of another task, vocabulary or positional scheme than the data.
    """
    config = record.config
    task: Any = find_entry(on).task if on else config.task
    data = load_data(task)
    path = record.folder / "model.safetensors"
    wanted = identity(config, data) | {"task": str(task.name)}
    check_identity(read_header(path), wanted, path)
    network, stage = record.model(), config.stage
    if isinstance(stage, Pretrain):
        loss = evaluate_reconstruction(network, data.validation.unlabeled(), stage.mask_ratio, stage.loss, config.seed)
        return {"validation_loss": loss}
    found: dict[str, float] = {}
    for name, split in (("validation", data.validation), ("test", data.test)):
        found[f"{name}_loss"], found[f"{name}_accuracy"] = evaluate_labels(network, split)
    return found
