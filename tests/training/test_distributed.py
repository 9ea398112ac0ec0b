"""Several processes compute what one computes; a GPU and bfloat16 are asked for in words, recorded, and kept to."""

import json
import math
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from numerics.errors import InputError
from tests.training.small import MODEL, TASK, labels, pretraining, ragged_set
from training import evaluation, files
from training.__main__ import main
from training.checkpoints import TrainingState, load_state, save_state
from training.data.sequences import TaskData
from training.distributed import ALONE, Machine, joined, this_machine
from training.errors import CheckpointError
from training.execute import Execution, execute, load_data
from training.loop import Hooks, make_optimiser, stage_loss, train, training_set
from training.model.initialisation import InitialWeights, initialised_model
from training.records import PARTIAL, list_records, read_record
from training.stages import Optimiser, Pretrain, RunConfig, Supervised

CHECKOUT = Path(__file__).resolve().parents[2]
RESULT = ("epochs.csv", "steps.csv", "model.safetensors")
#: AdamW's first step is g / (|g| + epsilon): an epsilon above the rounding of g keeps float32 in the linear range too.
STEADY = Optimiser(learning_rate=1e-2, epsilon=1e-3)


def together(tmp_path, function, *arguments, world=2, seconds=60.0):
    """What each of ``world`` processes returns from ``function``; None where it died.  None may take longer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def work(rank):
        names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in names.items()})
        with joined("cpu"):
            torch.save(function(*arguments), tmp_path / f"answer-{rank}")

    for rank in range(world):
        (tmp_path / f"answer-{rank}").unlink(missing_ok=True)
    processes = [multiprocessing.get_context("fork").Process(target=work, args=(rank,)) for rank in range(world)]
    for process in processes:
        process.start()
    end = time.monotonic() + seconds
    for process in processes:
        process.join(max(end - time.monotonic(), 0))
    hung = [process for process in processes if process.is_alive()]
    for process in hung:
        process.kill()
    assert not hung, "a process waits for ever"
    answers = [tmp_path / f"answer-{rank}" for rank in range(world)]
    return [torch.load(answer) if answer.is_file() else None for answer in answers]


def data_of(kind):
    """Splits of float32 numbers: ragged ones are bucketed, equal ones are not."""
    splits = []
    for seed, samples in enumerate((21, 10, 11, 23)):
        split = ragged_set(samples, 9, channels=MODEL.channels, seed=seed)
        lengths = split.lengths if kind == "ragged" else torch.full_like(split.lengths, 9)
        splits.append(replace(split, tokens=split.tokens.float(), lengths=lengths))
    train_set, validation, test, unlabeled = splits
    return TaskData(train_set, validation, test, unlabeled, classes=2)


def of_type(data, dtype):
    changed = {
        name: replace(split, tokens=split.tokens.to(dtype))
        for name, split in vars(data).items()
        if name in ("train", "validation", "test", "unlabeled")
    }
    return replace(data, **changed)


def run_of(stage):
    return RunConfig(TASK, MODEL, InitialWeights(), stage)


STAGES = {
    "pretraining": Pretrain(optimiser=STEADY, epochs=2, batch=5),
    "expected count": Pretrain(optimiser=STEADY, epochs=2, batch=5, normaliser="expected"),
    "labels": Supervised(optimiser=STEADY, epochs=2, batch=7),
    "one row for two processes": Supervised(optimiser=STEADY, epochs=1, batch=1),
    "one sequence for two processes": Pretrain(optimiser=STEADY, epochs=1, batch=1),
}
CASES = [(stage, kind) for stage in STAGES for kind in ("equal", "ragged")]


def tolerance(value, in_float32):
    """How far two float64 routes to ``value`` may lie apart; ``in_float32`` is one of them carried out in float32.

    Every operation of a route multiplies its exact result by 1 + delta, |delta| <= u.  To first order the result is off
    by sum_k c_k delta_k, where c_k, how the result answers to operation k, belongs to the computation and not to its
    precision.  With delta_k independent and of mean zero (Higham and Mary, SIAM J. Sci. Comput. 41, 2019) Hoeffding's
    inequality bounds that by lambda u ||c||, but for a probability of 2 exp(-lambda^2 / 2): 3e-14 an entry for
    lambda = 8.  The float32 route is one draw of the same sum, so its error over u32 has the size of ||c||; the
    largest error over the entries is taken, and never less than the rounding that storing the largest entry costs,
    because a single draw may be small by chance.  Two routes differ by at most twice the bound of one.
    """
    u32, u64 = torch.finfo(torch.float32).eps / 2, torch.finfo(torch.float64).eps / 2
    value = torch.as_tensor(value, dtype=torch.float64)
    drawn = (torch.as_tensor(in_float32, dtype=torch.float64) - value).abs().max()
    return float(2 * 8 * u64 / u32 * torch.maximum(drawn, u32 * value.abs().max()))


def distance(one, other):
    difference = torch.as_tensor(one, dtype=torch.float64) - torch.as_tensor(other, dtype=torch.float64)
    return float(difference.abs().max())


def step_of(case, machine, dtype=torch.float64, shares=None):
    """Loss and gradients of one step: of this process's share, or the sum over the shares of all computed here."""
    stage, data = STAGES[case[0]], of_type(data_of(case[1]), dtype)
    config = run_of(stage)
    model = initialised_model(MODEL, InitialWeights(), 0).to(dtype)
    batch = training_set(config, data).batch(torch.arange(stage.batch) + 3)
    value = 0.0
    for part in [machine] if shares is None else shares:
        loss = stage_loss(config, model, batch, 4, part)
        loss.backward()
        value += machine.sum_step(model, loss)
    return {"loss": torch.tensor(value)} | {
        name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None
    }


def run_case(case, machine, dtype=torch.float64):
    """Losses, evaluations and final parameters of a short run."""
    config, data = run_of(STAGES[case[0]]), of_type(data_of(case[1]), dtype)
    model = initialised_model(MODEL, InitialWeights(), 0).to(dtype)
    state = TrainingState()
    assert train(config, data, model, make_optimiser(model, STEADY, "none"), state, Hooks(), machine) is None
    found = {"losses": torch.tensor(state.losses)}
    for name in state.rows[0].keys() - {"step_loss"}:
        found[name] = torch.tensor([row[name] for row in state.rows])
    return found | {name: value.detach() for name, value in model.named_parameters()}


def all_cases(of_case):
    machine = this_machine()
    return [of_case(case, machine) for case in CASES]


def test_shares_cover_a_batch_once_and_weigh_what_they_hold():
    for samples in range(1, 12):
        for world in range(1, 6):
            shares = [Machine(rank=rank, world=world).share(samples) for rank in range(world)]
            rows = [list(range(samples))[rows] for rows, _ in shares]
            assert all(rows), "every process has a row to compute"
            held = [own for own, (_, weight) in zip(rows, shares, strict=True) if weight]
            assert list(chain.from_iterable(held)) == list(range(samples))
            assert all(weight in (0.0, len(own) / samples) for own, (_, weight) in zip(rows, shares, strict=True))


def test_a_step_of_several_processes_is_the_step_of_one(tmp_path):
    for world in (2, 3):
        answers = together(tmp_path, all_cases, step_of, world=world)
        for case, *found in zip(CASES, *answers, strict=True):
            whole, rough = step_of(case, ALONE), step_of(case, ALONE, torch.float32)
            shares = [Machine(rank=rank, world=world) for rank in range(world)]
            apart = step_of(case, ALONE, shares=shares)
            for answer in found:
                assert answer.keys() == whole.keys(), "a parameter without gradient stays without"
                for name, value in whole.items():
                    assert torch.equal(answer[name], found[0][name]), "all processes hold the same"
                    assert distance(answer[name], value) <= tolerance(value, rough[name]), (case, world, name)
                    if world == 2:  # a + b = b + a: nothing but the order of a sum may depend on who computes
                        assert torch.equal(answer[name], apart[name]), (case, name)


def test_the_bound_refuses_shares_that_are_averaged_instead_of_weighed():
    for case in CASES[:6]:
        whole, rough = step_of(case, ALONE), step_of(case, ALONE, torch.float32)
        stage, data = STAGES[case[0]], of_type(data_of(case[1]), torch.float64)
        model = initialised_model(MODEL, InitialWeights(), 0).double()
        batch = training_set(run_of(stage), data).batch(torch.arange(stage.batch) + 3)
        averaged = 0.0
        for rank in range(2):
            rows, _ = Machine(rank=rank, world=2).share(stage.batch)
            own = ALONE.place(batch, rows)
            averaged += float(stage_loss(run_of(stage), model, own, 4).detach()) / 2
        assert distance(averaged, whole["loss"]) > 1e6 * tolerance(whole["loss"], rough["loss"])


def test_a_short_run_of_two_processes_has_the_curves_of_one(tmp_path, monkeypatch):
    """Evaluation included: batches of 4, so that the two share it unevenly."""
    monkeypatch.setattr(evaluation, "EVALUATION_BATCH", 4)
    answers = together(tmp_path, all_cases, run_case)
    for case, *found in zip(CASES, *answers, strict=True):
        whole, rough = run_case(case, ALONE), run_case(case, ALONE, torch.float32)
        for name, value in whole.items():
            assert torch.equal(found[0][name], found[1][name]), "all processes go on from the same"
            if name in ("epoch", "step") or name.endswith("accuracy"):
                assert torch.equal(found[0][name], value), "counts are exact: no sample dropped or counted twice"
            else:
                assert distance(found[0][name], value) <= tolerance(value, rough[name]), (case, name)


def watched_run(config, runs, dies_at=None):
    """Carry out a run; the second process may not write, the first may die."""
    machine = this_machine()
    if not machine.first:

        def refused(*_):
            raise AssertionError("the first process alone writes")

        for name in ("fsync", "replace"):
            setattr(files.os, name, refused)

    def progress(run, step, steps):
        assert machine.first
        if step == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    return execute(config, runs, Execution(0.0, progress)).id


@pytest.mark.parametrize("config", [pretraining(), labels(keep_epochs=(0, 2))], ids=["pretraining", "labels"])
def test_a_killed_run_of_two_processes_ends_with_the_bits_of_an_uninterrupted_one(config, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert together(tmp_path, watched_run, config, whole) == [config.id, config.id]
    assert together(tmp_path, watched_run, config, stopped, 4) == [None, None], "the others stop too"
    assert not list_records(stopped)
    with pytest.raises(CheckpointError, match=r"float32 by 2, this is .* torchrun --nproc_per_node=2"):
        execute(config, stopped)
    assert together(tmp_path, watched_run, config, stopped) == [config.id, config.id]
    one, other = read_record(whole / config.id), read_record(stopped / config.id)
    assert other.content["cost"]["sessions"] == 2
    assert other.content["execution"] == {"device": "cpu", "precision": "float32", "processes": 2}
    for name in [*RESULT, *(f"epoch-{epoch:04d}.safetensors" for epoch in config.stage.keep_epochs)]:
        assert (one.folder / name).read_bytes() == (other.folder / name).read_bytes()
    assert os.listdir(stopped / PARTIAL) == []


def test_a_diverged_run_of_two_processes_is_recorded_by_both_at_the_same_step(tmp_path):
    config = pretraining(rate=1e30)
    assert together(tmp_path, watched_run, config, tmp_path / "runs") == [config.id, config.id]
    step = read_record(tmp_path / "runs" / config.id).content["diverged_at_step"]
    assert step == execute(config, tmp_path / "alone").content["diverged_at_step"]


def test_torchrun_runs_an_experiment_through_the_door_and_one_process_speaks(tmp_path):
    (tmp_path / "door.py").write_text(
        "import sys\n"
        "import training.run_command as command\n"
        "from training.__main__ import main\n"
        "from tests.training.test_door import TINY\n"
        "command.find_experiment = lambda name: TINY\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "door.py"]
    ran = subprocess.run(
        [*command, "run", "tiny", "--jobs", "2", "--device", "cpu", "--runs", "runs"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("record: runs/experiments/tiny-smoke") == 1
    assert ran.stderr.count("tiny at smoke scale: 4 runs, 0 there already") == 1
    records = list_records(tmp_path / "runs")
    assert [record.content["execution"]["processes"] for record in records] == [2] * 4


def test_bfloat16_changes_products_and_leaves_weights_moments_and_losses_in_float32(tmp_path):
    machine = this_machine("cpu", "bfloat16")
    for config in (pretraining(), labels()):
        data = load_data(config.task)
        model = initialised_model(config.model, config.initial, config.seed)
        optimiser = make_optimiser(model, config.stage.optimiser, "none")
        batch = training_set(config, data).batch(torch.arange(8))
        if isinstance(config.stage, Supervised):
            with machine.autocast():
                logits = model.classify(batch.tokens, batch.lengths)
            assert batch.labels is not None
            assert logits.dtype == torch.bfloat16
            wanted = F.cross_entropy(logits.float(), batch.labels)
            assert torch.equal(stage_loss(config, model, batch, 0, machine), wanted), "the loss is computed in float32"
        loss = stage_loss(config, model, batch, 0, machine)
        assert loss.dtype == torch.float32
        assert not torch.equal(loss, stage_loss(config, model, batch, 0)), "precision makes a difference"
        loss.backward()
        optimiser.step()
        held = [value for moments in optimiser.state.values() for value in moments.values()]
        held += [
            *model.parameters(),
            *(parameter.grad for parameter in model.parameters() if parameter.grad is not None),
        ]
        assert {value.dtype for value in held} == {torch.float32}
        weight = model.get_parameter("blocks.0.attention.value.weight")
        assert not torch.equal(weight, weight.bfloat16().float()), "small updates are not rounded away"
        record = execute(config, tmp_path, Execution(precision="bfloat16"))
        assert record.content["execution"] == {"device": "cpu", "precision": "bfloat16", "processes": 1}
        assert record.id == config.id, "precision is not part of the configuration"
        assert all(map(math.isfinite, record.steps()["loss"]))


def test_a_run_goes_on_in_the_precision_it_began_with_and_older_checkpoints_count_as_float32(tmp_path):
    def stop(run, step, steps):
        if step == 3:
            raise KeyboardInterrupt

    config = labels()
    with pytest.raises(KeyboardInterrupt):
        execute(config, tmp_path, Execution(0.0, stop, precision="bfloat16"))
    with pytest.raises(CheckpointError, match="go on with --device cpu --precision bfloat16"):
        execute(config, tmp_path)
    model = initialised_model(config.model, config.initial, config.seed)
    optimiser = make_optimiser(model, config.stage.optimiser, "none")
    old = tmp_path / "old.safetensors"
    save_state(old, TrainingState(), model, optimiser, config.hash)
    content = old.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    entries = json.loads(header["__metadata__"]["header"])  # older files have an entry a key, and none of this name
    assert json.loads(entries.pop("execution")) == ALONE.described()
    header["__metadata__"] = entries
    text = json.dumps(header).encode()
    old.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    assert load_state(old, model, optimiser, config.hash).step == 0
    with pytest.raises(CheckpointError, match="must go on as it began"):
        load_state(old, model, optimiser, config.hash, this_machine("cpu", "bfloat16"))
    assert execute(config, tmp_path, Execution(precision="bfloat16")).content["cost"]["sessions"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--device", "tpu"], "unknown device: 'tpu'; use one of cpu, cuda, auto"),
        (["--precision", "float16"], "unknown precision: 'float16'; use one of float32, bfloat16"),
        (["--device", "cuda"], "needs a GPU that torch can use: there is none; use --device cpu or auto"),
        (["--backend", "dask"], "torchrun starts the processes itself: backend=dask"),
    ],
)
def test_places_that_do_not_exist_are_one_sentence_and_code_2(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    if "dask" in arguments:
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
        for name, value in zip(names, ("0", "0", "2", "127.0.0.1", "1"), strict=True):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "toy-fig4", *arguments]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert "Traceback" not in shown.err
    assert not list(tmp_path.rglob("run.json"))


def test_every_process_has_a_gpu_of_its_own_or_is_refused(monkeypatch):
    for name, value in {
        "RANK": "2",
        "LOCAL_RANK": "2",
        "WORLD_SIZE": "3",
        "MASTER_ADDR": "",
        "MASTER_PORT": "",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert this_machine("auto").device == torch.device("cuda", 2)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(InputError, match=r"process 3 on a machine with 2; use torchrun --nproc_per_node=2"):
        this_machine("cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: steps on cuda are not compared with the CPU's")
def test_a_step_on_a_gpu_is_the_step_on_a_cpu(tmp_path):
    machine = this_machine("cuda")
    for case in CASES:
        config, data = run_of(STAGES[case[0]]), of_type(data_of(case[1]), torch.float64)
        model = initialised_model(MODEL, InitialWeights(), 0).double().to(machine.device)
        batch = training_set(config, data).batch(torch.arange(config.stage.batch) + 3)
        stage_loss(config, model, batch, 4, machine).backward()
        whole, rough = step_of(case, ALONE), step_of(case, ALONE, torch.float32)
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                assert distance(parameter.grad.cpu(), whole[name]) <= tolerance(whole[name], rough[name]), (case, name)
    for precision in ("float32", "bfloat16"):
        record = execute(labels(), tmp_path / precision, Execution(device="auto", precision=precision))
        assert record.content["execution"] == {"device": "cuda", "precision": precision, "processes": 1}
        assert record.content["environment"]["gpu"]
