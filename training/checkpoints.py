"""Checkpoints in safetensors: parameters alone, or the whole state of a run.  No pickle.

The header names the configuration by hash; a file of another configuration, or a truncated one, is refused with a
sentence.  Random numbers need no state of their own (``training.randomness``): the step counter is that state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from training.distributed import ALONE, Machine
from training.errors import CheckpointError
from training.evaluation import Row
from training.files import write_whole
from training.model.groups import select
from training.model.network import SequenceModel

_HEADER = "header"


@dataclass
class TrainingState:
    """Everything that a run needs to go on: the position, the curves, moments and the last good parameters."""

    step: int = 0
    """Steps done."""
    rows: list[Row] = field(default_factory=list)
    """Evaluations so far."""
    losses: list[float] = field(default_factory=list)
    """Training loss of every step."""
    good: dict[str, Tensor] = field(default_factory=dict)
    """Parameters at the start of the last epoch that began with finite ones."""
    wall_seconds: float = 0.0
    """Wall time of all sessions."""
    cpu_seconds: float = 0.0
    """Processor time of all sessions."""
    sessions: int = 1
    """Times that the run was started or resumed."""


def save_parameters(
    path: Path, parameters: Mapping[str, Tensor], run_hash: str, identity: Mapping[str, str] | None = None
) -> None:
    """Write parameters alone, with what they belong to (``training.identity``)."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in parameters.items()}
    write_whole(path, save(tensors, _one_entry({"configuration": run_hash, **(identity or {})})))


def load_parameters(path: Path, run_hash: str | None = None) -> dict[str, Tensor]:
    """Read parameters; ``run_hash`` is the configuration that they must belong to."""
    return _read(path, run_hash)[0]


def read_header(path: Path) -> dict[str, str]:
    """What a checkpoint says of itself: configuration, task, vocabulary, positions."""
    return _read(path, None, tensors=False)[1]


def inherit_parameters(model: SequenceModel, parameters: Mapping[str, Tensor], selection: str) -> list[str]:
    """Copy the selected groups from a checkpoint into a network; returns the names copied."""
    own = dict(model.named_parameters())
    chosen = select(own, selection)
    if not chosen:
        raise CheckpointError(f"an inherited selection must name parameters: {selection!r} names none in this network")
    for name in chosen:
        if name not in parameters or parameters[name].shape != own[name].shape:
            found = tuple(parameters[name].shape) if name in parameters else "nothing"
            raise CheckpointError(
                f"an inherited parameter must fit: {name} has shape {tuple(own[name].shape)}, the checkpoint holds "
                f"{found}; inherit from a run of the same network, or select fewer groups"
            )
        with torch.no_grad():
            own[name].copy_(parameters[name])
    return chosen


def save_state(
    path: Path,
    state: TrainingState,
    model: SequenceModel,
    optimiser: torch.optim.Optimizer,
    run_hash: str,
    machine: Machine = ALONE,
) -> None:
    """Write the whole state in one file, so that its parts always belong together."""
    tensors = {f"model.{name}": value.detach().cpu().contiguous() for name, value in model.named_parameters()}
    tensors |= {f"good.{name}": value.cpu().contiguous() for name, value in state.good.items()}
    for number, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value).cpu() for name, value in moments.items()}
    tensors["losses"] = torch.tensor(state.losses, dtype=torch.float64)
    header = {
        "configuration": run_hash,
        "step": str(state.step),
        "rows": json.dumps(state.rows),
        "wall_seconds": repr(state.wall_seconds),
        "cpu_seconds": repr(state.cpu_seconds),
        "sessions": str(state.sessions),
        "execution": json.dumps(machine.described()),
    }
    write_whole(path, save(tensors, _one_entry(header)))


def load_state(
    path: Path,
    model: SequenceModel,
    optimiser: torch.optim.Optimizer,
    run_hash: str,
    machine: Machine = ALONE,
) -> TrainingState:
    """Put a saved state into a network and its optimiser; returns the position and curves."""
    tensors, header = _read(path, run_hash)
    _check_execution(path, header, machine)
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "good": {}, "optimiser": {}}
    for name, tensor in tensors.items():
        part, _, rest = name.partition(".")
        if rest:
            parts[part][rest] = tensor
    model.load_state_dict(parts["model"])
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in parts["optimiser"].items():
        number, _, moment = name.partition(".")
        moments.setdefault(int(number), {})[moment] = tensor
    optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
    return TrainingState(
        step=int(header["step"]),
        rows=json.loads(header["rows"]),
        losses=tensors["losses"].tolist(),
        good=parts["good"],
        wall_seconds=float(header["wall_seconds"]),
        cpu_seconds=float(header["cpu_seconds"]),
        sessions=int(header["sessions"]) + 1,
    )


def _one_entry(header: Mapping[str, str]) -> dict[str, str]:
    """The header as a single entry: safetensors writes several in no fixed order, and equal runs give equal bytes."""
    return {_HEADER: json.dumps(dict(header), sort_keys=True)}


def _check_execution(path: Path, header: dict[str, str], machine: Machine) -> None:
    """Rounding must not change half-way.  Checkpoints older than this entry are of one process on a CPU in float32."""
    began, now = json.loads(header.get("execution", json.dumps(ALONE.described()))), machine.described()
    if began != now:
        was, this = ("{device} in {precision} by {processes}".format(**words) for words in (began, now))
        raise CheckpointError(
            f"a run must go on as it began, on device, in precision and by number of processes: {path} was written on "
            f"{was}, this is {this}; go on with --device {began['device']} --precision {began['precision']} and "
            f"torchrun --nproc_per_node={began['processes']}, or delete the file to begin again"
        )


def _read(path: Path, run_hash: str | None, tensors: bool = True) -> tuple[dict[str, Tensor], dict[str, str]]:
    if not path.is_file():
        raise CheckpointError(f"a checkpoint must exist: {path}; delete the folder {path.parent} and run again")
    try:
        with safe_open(path, framework="pt") as file:
            header: dict[str, str] = file.metadata() or {}
            header = json.loads(header[_HEADER]) if _HEADER in header else header  # older files: an entry a key
            content = {name: file.get_tensor(name) for name in file.keys()} if tensors else {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"a checkpoint must be a whole safetensors file: {path} ({error}); delete the folder {path.parent} and run "
            "again"
        ) from None
    found = header.get("configuration", "")
    if run_hash is not None and found != run_hash:
        raise CheckpointError(
            f"a checkpoint must belong to its configuration: {path} was written for {found[:12] or 'none'}, "
            f"wanted {run_hash[:12]}; delete it and run again"
        )
    return content, header
