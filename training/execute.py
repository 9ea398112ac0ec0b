"""Run one configuration: once, resumably, with a record at the end.

The work lies in ``runs/.partial/<id>`` until the record is complete, then moves to ``runs/<id>`` in one rename.  A
killed or interrupted run goes on from its last checkpoint and ends with the same curves, bit for bit.  A lock (released
by the system when its holder dies) keeps two commands from computing one run at the same time; the second waits.

Where several processes compute one run together (``training.distributed``), all read the files that they start from,
and the first alone holds the lock and writes.
"""

from __future__ import annotations

import datetime
import fcntl
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from numerics.errors import InputError
from training.checkpoints import (
    TrainingState,
    inherit_parameters,
    load_parameters,
    load_state,
    read_header,
    save_parameters,
    save_state,
)
from training.config import as_plain, sources
from training.data.sequences import TaskData
from training.distributed import Machine, check_names, this_machine
from training.environment import environment
from training.evaluation import chance_warning, summarise
from training.files import move_folder, storage_error
from training.identity import check_inherited, identity
from training.loop import Hooks, make_optimiser, total_steps, train, training_set
from training.model.initialisation import initialised_model
from training.model.network import SequenceModel
from training.progress import reporter
from training.records import (
    PARTIAL,
    SCHEMA_VERSION,
    RunRecord,
    epoch_file,
    find_record,
    read_record,
    step_file,
    write_files,
)
from training.stages import Pretrain, RunConfig


@dataclass(frozen=True)
class Execution:
    """How a run is carried out; nothing here changes its result beyond rounding, so nothing here enters its hash.

    Device, precision and number of processes are recorded in run.json ("execution") beside threads and processor,
    which change rounding too; a run that was interrupted goes on with the same or is refused.
    """

    checkpoint_seconds: float = 30.0
    """Least time between checkpoints."""
    progress: Callable[[str, int, int], None] = lambda run, step, steps: None
    """Called after every step with the run's name, the steps done and the steps in all; by the first process alone."""
    device: str = "cpu"
    """cpu, cuda, or auto: a GPU where there is one."""
    precision: str = "float32"
    """float32; or bfloat16: forward passes under autocast, weights, optimiser and losses in float32."""

    def __post_init__(self) -> None:
        """Refuse devices and precisions that do not exist."""
        check_names(self.device, self.precision)
        if not self.checkpoint_seconds >= 0:
            raise InputError(f"seconds between checkpoints must be 0 or more: {self.checkpoint_seconds}; use 30")


def execute(config: RunConfig, runs: Path, execution: Execution | None = None) -> RunRecord:
    """The record of a configuration: read if it is there, computed (ancestors first) if not."""
    execution = execution or Execution()
    machine = this_machine(execution.device, execution.precision)
    if _is_there(config, runs, machine):
        return read_record(runs / config.id)
    parent = execute(config.parent, runs, execution) if config.parent is not None else None
    partial = runs / PARTIAL / config.id
    with _lock(partial) if machine.first else nullcontext():
        if not _is_there(config, runs, machine):  # another command may have finished it while this one waited
            _compute(config, parent, partial, runs, execution, machine)
        if machine.first:
            shutil.rmtree(partial, ignore_errors=True)
            _lock_file(partial).unlink(missing_ok=True)
    return read_record(runs / config.id)


def _is_there(config: RunConfig, runs: Path, machine: Machine) -> bool:
    """Whether a run is finished, in the eyes of the first process; the others follow it, also to the lock."""
    return machine.agree(find_record(config, runs) is not None)[0]


def _compute(
    config: RunConfig, parent: RunRecord | None, partial: Path, runs: Path, execution: Execution, machine: Machine
) -> None:
    data = load_data(config.task)
    model = starting_model(config, data, parent).to(machine.device)
    optimiser = make_optimiser(model, config.stage.optimiser, config.stage.frozen)
    file = partial / "state.safetensors"
    resumed = machine.agree(file.is_file())[0]
    state = load_state(file, model, optimiser, config.hash, machine) if resumed else TrainingState()
    machine.equalise(model)
    steps, saved = total_steps(config, len(training_set(config, data))), time.monotonic()
    report = reporter(partial, steps)

    def after_step(state: TrainingState) -> None:
        nonlocal saved
        execution.progress(config.id, state.step, steps)
        report(state.step)
        if time.monotonic() - saved >= execution.checkpoint_seconds:
            save_state(file, state, model, optimiser, config.hash, machine)
            saved = time.monotonic()

    def keep(name: str) -> None:
        save_parameters(partial / name, dict(model.named_parameters()), config.hash, identity(config, data))

    hooks = Hooks(after_step, lambda epoch: keep(epoch_file(epoch)), lambda step: keep(step_file(step)))
    diverged = train(config, data, model, optimiser, state, hooks if machine.first else Hooks(), machine)
    if machine.first:
        content = _content(config, parent, data, state, diverged, machine)
        _write(config, partial, runs, content, state, model, identity(config, data))
    machine.agree(True)  # the others read the record next


def _write(
    config: RunConfig,
    partial: Path,
    runs: Path,
    content: dict[str, Any],
    state: TrainingState,
    model: SequenceModel,
    belongs_to: dict[str, str],
) -> None:
    """Put the record together beside the checkpoint, then move it to its place in one rename."""
    finished = partial / "finished"
    shutil.rmtree(finished, ignore_errors=True)
    write_files(finished, content, state.rows, state.losses)
    save_parameters(finished / "model.safetensors", dict(model.named_parameters()), config.hash, belongs_to)
    try:
        for name in [*map(epoch_file, config.stage.keep_epochs), *map(step_file, config.stage.keep_steps)]:
            if (partial / name).is_file():
                (partial / name).rename(finished / name)
    except OSError as error:
        raise storage_error(finished, error) from error
    move_folder(finished, runs / config.id)


def starting_model(config: RunConfig, data: TaskData, parent: RunRecord | None) -> SequenceModel:
    """The network before its first step: initial weights, then what is inherited."""
    model = initialised_model(config.model, config.initial, config.seed, data.unlabeled)
    if parent is not None:
        file = parent.folder / "model.safetensors"
        check_inherited(read_header(file), config, data, file)
        parameters = load_parameters(file, parent.content["hash"])
        inherit_parameters(model, parameters, config.inherit)
    return model


@lru_cache(maxsize=8)
def load_data(task: Any) -> TaskData:
    """The data of a task, kept in memory for the next run on it."""
    data = task.load()
    assert isinstance(data, TaskData)
    return data


def _content(
    config: RunConfig,
    parent: RunRecord | None,
    data: TaskData,
    state: TrainingState,
    diverged: int | None,
    machine: Machine,
) -> dict[str, Any]:
    warnings = []
    if diverged is not None:
        warnings.append(
            {
                "name": "diverged",
                "sentence": f"the loss was not finite at step {diverged}; the record holds the parameters from the "
                "start of that epoch, the last good ones; try a smaller rate or a longer warm-up",
            }
        )
    if not isinstance(config.stage, Pretrain):
        assert data.train.labels is not None
        stuck = chance_warning(state.rows, data.train.labels, min(len(data.train), config.stage.train_sample))
        warnings += [stuck] if stuck else []
    if parent is not None and parent.state == "diverged":
        warnings.append({"name": "parent-diverged", "sentence": f"the run it started from diverged: {parent.id}"})
    return {
        "schema_version": SCHEMA_VERSION,
        "id": config.id,
        "hash": config.hash,
        "parent": None if parent is None else parent.id,
        "state": "finished" if diverged is None else "diverged",
        "diverged_at_step": diverged,
        "warnings": warnings,
        "summary": summarise(state.rows),
        "seeds": {"run": config.seed, "task": getattr(config.task, "seed", None)},
        "cost": {
            "steps": state.step,
            "sessions": state.sessions,
            "wall_seconds": round(state.wall_seconds, 3),
            "cpu_seconds": round(state.cpu_seconds, 3),
            "milliseconds_a_step": round(1000 * state.wall_seconds / max(state.step, 1), 3),
        },
        "execution": machine.described(),
        "environment": environment() | machine.hardware(),
        "data": dict(data.provenance),
        "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "config": as_plain(config),
        "sources": sources(config),
    }


@contextmanager
def _lock(partial: Path) -> Iterator[None]:
    try:
        partial.mkdir(parents=True, exist_ok=True)
        file = _lock_file(partial).open("w")
    except OSError as error:
        raise storage_error(partial, error) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        partial.mkdir(parents=True, exist_ok=True)
        yield


def _lock_file(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.lock")


def use_one_thread() -> None:
    """One thread a process: two single-thread processes beat one with two threads, and sums keep their order."""
    torch.set_num_threads(1)
