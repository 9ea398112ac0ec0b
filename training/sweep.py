"""Many runs, one single-threaded process a core; parents first, each configuration once.

joblib's local processes by default; ``backend="dask"`` sends the same calls to a dask cluster (extra ``cluster``; the
scheduler's address in DASK_SCHEDULER_ADDRESS, else a local cluster).  On a GPU, or on several processes of torchrun
(``training.distributed``), one run follows the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import joblib

from numerics.errors import InputError
from training.distributed import joined, started, this_machine
from training.execute import Execution, execute, load_data, use_one_thread
from training.files import storage_error
from training.loop import training_set
from training.records import RunRecord, find_record
from training.stages import Pretrain, RunConfig, chain

BACKENDS = ("processes", "dask")


def all_runs(configs: Iterable[RunConfig]) -> list[RunConfig]:
    """The runs and their ancestors, each once, ancestors before descendants."""
    found = {run.hash: run for config in configs for run in chain(config)}
    return sorted(found.values(), key=lambda run: len(chain(run)))


def pending_runs(configs: Iterable[RunConfig], runs: Path) -> list[RunConfig]:
    """What is not there yet."""
    return [run for run in all_runs(configs) if find_record(run, runs) is None]


def sweep(
    configs: Sequence[RunConfig],
    runs: Path,
    *,
    jobs: int = 1,
    backend: str = "processes",
    checkpoint_seconds: float = 30.0,
    progress: Callable[[RunRecord], None] = lambda record: None,
    device: str = "cpu",
    precision: str = "float32",
) -> list[RunRecord]:
    """Carry out every run that is not there yet; the records of ``configs`` in their order.

    ``progress`` is called with each new record, ancestors included.  ``jobs`` counts for CPUs without torchrun alone.
    """
    execution = Execution(checkpoint_seconds, device=device, precision=precision)
    check_execution(runs, jobs, backend)
    with joined(device):
        machine = this_machine(device if backend == "processes" else "cpu")  # dask's workers look for their own
        every = all_runs(configs)
        there = machine.agree(*(find_record(run, runs) is not None for run in every))
        pending = [run for run, known in zip(every, there, strict=True) if not known]
        in_turn = backend == "processes" and (jobs == 1 or machine.world > 1 or machine.device.type == "cuda")
        for depth in sorted({len(chain(run)) for run in pending}):
            wave = [run for run in pending if len(chain(run)) == depth]
            if in_turn:
                use_one_thread()
                for run in wave:
                    progress(execute(run, runs, execution))
            else:
                _parallel(wave, runs, jobs, backend, execution, progress)
    return [_found(config, runs) for config in configs]


def check_execution(runs: Path, jobs: int, backend: str) -> None:
    """Refuse what cannot be carried out, before data are prepared; makes the folder of runs."""
    if jobs < 1:
        raise InputError(f"the number of processes must be positive: jobs={jobs}; use --jobs 1")
    if backend not in BACKENDS:
        raise InputError(f"unknown backend: {backend!r}; use {' or '.join(BACKENDS)}")
    if backend == "dask" and started() > 1:
        raise InputError("torchrun starts the processes itself: backend=dask; drop --backend, or do without torchrun")
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(runs, error) from error


def _parallel(
    wave: list[RunConfig],
    runs: Path,
    jobs: int,
    backend: str,
    execution: Execution,
    progress: Callable[[RunRecord], None],
) -> None:
    # Longest first, so that no core waits for a long run started last.
    wave = sorted(wave, key=cost, reverse=True)
    how = (execution.checkpoint_seconds, execution.device, execution.precision)
    calls = [joblib.delayed(_remote)(run, runs.resolve(), *how) for run in wave]
    options: dict[str, Any] = {"backend": "loky", "inner_max_num_threads": 1}
    cluster: AbstractContextManager[Any] = nullcontext()
    if backend == "dask":
        cluster, options = _connect_to_dask(jobs), {"backend": "dask"}
    with cluster, joblib.parallel_config(**options):
        for name in joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=2 * jobs)(calls):
            progress(_found(next(run for run in wave if run.id == name), runs))


def _remote(
    run: RunConfig, runs: Path, checkpoint_seconds: float, device: str = "cpu", precision: str = "float32"
) -> str:
    use_one_thread()
    return execute(run, runs, Execution(checkpoint_seconds, device=device, precision=precision)).id


def cost(run: RunConfig) -> int:
    """Sequences that pass through the network, a training step counted three times: the unit of the time left."""
    data, stage = load_data(run.task), run.stage
    held_out = len(data.validation)
    if not isinstance(stage, Pretrain):
        held_out += len(data.test) + min(len(data.train), stage.train_sample)
    return 3 * stage.epochs * len(training_set(run, data)) + (1 + stage.epochs // stage.evaluate_every) * held_out


def _found(config: RunConfig, runs: Path) -> RunRecord:
    record = find_record(config, runs)
    assert record is not None
    return record


def _connect_to_dask(jobs: int) -> AbstractContextManager[Any]:
    try:
        client = import_module("distributed").Client
    except ImportError:
        raise InputError(
            "the dask backend needs the extra cluster: distributed is not installed; "
            "pip install 'attention-blindness[cluster]'"
        ) from None
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    made: AbstractContextManager[Any] = client(address) if address else client(n_workers=jobs, threads_per_worker=1)
    return made
