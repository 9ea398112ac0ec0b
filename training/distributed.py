"""Where a run is computed: on a CPU or a GPU, in which precision, alone or as one of several processes.

Several processes (``torchrun --nproc_per_node=N -m training run ...``) compute together the steps that one computes
alone.  Order and masks are functions of seed and step, so each process draws those of the whole batch, takes its share
of the rows and divides its losses by the count of the whole batch (sequences, or masked tokens).  Losses and gradients
summed over the processes are then those of one process up to rounding.  Process and device numbers come from torchrun's
environment; tensors on a CPU travel by gloo, those on GPUs by nccl.

Gradients are summed by one plain all-reduce a step, not by torch's DistributedDataParallel: that must be told of
parameters that a stage does not use (each stage leaves a head alone, and AdamW must not touch what has no gradient),
averages where a sum is wanted, and would need a second all-reduce for the loss, by which all must agree that a step
diverged.  Its gain, sending during the backward pass, is small here: with two gloo processes on two cores a step took
6.7 ms against DDP's 7.9 (9 thousand parameters), 189 against 187 (99 thousand), 164 against 160 (3 million).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn

from numerics.errors import InputError
from training.data.sequences import Batch

DEVICES = ("cpu", "cuda", "auto")
PRECISIONS = ("float32", "bfloat16")

_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
#: The others wait while the first prepares data or waits for another command that computes the same run; a process that
#: dies does not take so long to be noticed, torchrun stops the others.
_PATIENCE = timedelta(days=1)


@dataclass(frozen=True)
class Machine:
    """A device, a precision, and which of how many processes this is."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    """Where this process computes."""
    precision: str = "float32"
    """float32; or bfloat16, in which products are computed while weights, optimiser and losses stay float32."""
    rank: int = 0
    """Number of this process, from 0."""
    world: int = 1
    """Number of processes."""

    @property
    def first(self) -> bool:
        """Whether this process writes records, checkpoints and progress."""
        return self.rank == 0

    def described(self) -> dict[str, Any]:
        """What a record and a checkpoint say of it; a run goes on only with the same."""
        return {"device": self.device.type, "precision": self.precision, "processes": self.world}

    def hardware(self) -> dict[str, Any]:
        """The GPU's name, where one is used."""
        return {"gpu": torch.cuda.get_device_name(self.device)} if self.device.type == "cuda" else {}

    def autocast(self) -> AbstractContextManager[Any]:
        """The context of a forward pass: torch's own rules of what is computed in bfloat16 and what in float32."""
        if self.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def share(self, samples: int) -> tuple[slice, float]:
        """The rows of a batch that this process computes, and their weight: the part of the batch that they are.

        Where there are more processes than rows, some compute a row of another with weight 0: their gradients are
        zeros, and they need no path of their own.

        >>> [Machine(rank=rank, world=3).share(2) for rank in range(3)]
        [(slice(0, 1, None), 0.0), (slice(0, 1, None), 0.5), (slice(1, 2, None), 0.5)]
        """
        start, end = samples * self.rank // self.world, samples * (self.rank + 1) // self.world
        return (slice(start, end), (end - start) / samples) if end > start else (slice(0, 1), 0.0)

    def place(self, batch: Batch, rows: slice) -> Batch:
        """Some rows of a batch on the device, as long as the whole batch (padding may count)."""
        tokens = batch.tokens[rows].to(self.device)
        return Batch(
            tokens,
            batch.lengths[rows].to(self.device),
            None if batch.labels is None else batch.labels[rows].to(self.device),
            tokens if batch.targets is batch.tokens else batch.targets[rows].to(self.device),
        )

    def sum_step(self, model: nn.Module, loss: Float[Tensor, ""]) -> float:
        """Sum the loss and, in place, all gradients over the processes; returns the loss."""
        if self.world == 1:
            return float(loss.detach())
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        sent = torch.cat([loss.detach().reshape(1), *(gradient.flatten() for gradient in gradients)])
        dist.all_reduce(sent)
        value, *summed = sent.split([1, *(gradient.numel() for gradient in gradients)])
        for gradient, part in zip(gradients, summed, strict=True):
            gradient.copy_(part.view_as(gradient))
        return float(value)

    def total(self, *values: float) -> tuple[float, ...]:
        """Sums over the processes, in float64 (counts are exact)."""
        if self.world == 1:
            return values
        sums = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(sums)
        return tuple(sums.tolist())

    def agree(self, *answers: bool) -> list[bool]:
        """The first process's answers, for which the others wait."""
        if self.world == 1 or not answers:
            return list(answers)
        sent = torch.tensor(answers, dtype=torch.uint8)
        dist.broadcast(sent, 0)
        return [bool(answer) for answer in sent.tolist()]

    def equalise(self, model: nn.Module) -> None:
        """Give all processes the parameters of the first (processors of different make may have rounded otherwise)."""
        if self.world > 1:
            for parameter in model.parameters():
                dist.broadcast(parameter.detach(), 0)


#: One process on a CPU in float32.
ALONE = Machine()


def this_machine(device: str = "cpu", precision: str = "float32") -> Machine:
    """The machine of this process; one of several inside ``joined`` alone."""
    check_names(device, precision)
    place = chosen_device(device)
    if not dist.is_initialized():
        return Machine(place, precision)
    return Machine(place, precision, dist.get_rank(), dist.get_world_size())


def check_names(device: str, precision: str) -> None:
    """Refuse devices and precisions that do not exist."""
    if device not in DEVICES:
        raise InputError(f"unknown device: {device!r}; use one of {', '.join(DEVICES)}")
    if precision not in PRECISIONS:
        raise InputError(f"unknown precision: {precision!r}; use one of {', '.join(PRECISIONS)}")


def chosen_device(name: str) -> torch.device:
    """The device of this process; ``auto`` is a GPU where there is one.  Of several GPUs each process has its own."""
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise InputError("the device cuda needs a GPU that torch can use: there is none; use --device cpu or auto")
    index = int(os.environ["LOCAL_RANK"]) if started() > 1 else 0
    if index >= torch.cuda.device_count():
        raise InputError(
            f"every process needs a GPU of its own: this is process {index + 1} on a machine with "
            f"{torch.cuda.device_count()}; use torchrun --nproc_per_node={torch.cuda.device_count()}"
        )
    return torch.device("cuda", index)


def started() -> int:
    """How many processes torchrun started; 1 without it.

    >>> started()
    1
    """
    return int(os.environ["WORLD_SIZE"]) if all(name in os.environ for name in _TORCHRUN) else 1


def is_first() -> bool:
    """Whether this process speaks: it is alone, or torchrun's first."""
    return started() == 1 or os.environ["RANK"] == "0"


@contextmanager
def joined(device: str) -> Iterator[None]:
    """Connect the processes that torchrun started for as long as the context lasts; nothing without torchrun."""
    if started() == 1:
        yield
        return
    backend, place = "gloo", chosen_device(device)
    if place.type == "cuda":
        torch.cuda.set_device(place)
        backend = "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend, timeout=_PATIENCE)
    try:
        yield
    finally:
        dist.destroy_process_group()
