"""The door: experiments run, resume after Ctrl-C, are listed and kept; bad input is one sentence and code 2."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.training.small import labels, pretraining
from training.__main__ import main
from training.experiments.catalogue import experiments
from training.experiments.experiment import SCALES, Experiment, LabeledRun
from training.experiments.record import condition_table, keep_experiment, read_experiment, write_experiment
from training.records import PARTIAL, list_records
from training.stages import Supervised, finetune
from training.sweep import all_runs, sweep


def labeled():
    spt = pretraining()
    runs = [LabeledRun("scratch", 1e-2, seed, labels(seed=seed)) for seed in (0, 1)]
    return [*runs, LabeledRun("spt-finetune", 1e-2, 0, finetune(spt, Supervised(epochs=2, batch=8)))]


TINY = Experiment("tiny", "two conditions", "nowhere", lambda scale: labeled(), dict.fromkeys(SCALES, "1 s"))


def test_parallel_and_serial_sweeps_write_the_same_bits(tmp_path):
    configs = [item.config for item in labeled()]
    assert [run.id for run in all_runs(configs)][-1] == configs[-1].id
    sweep(configs, tmp_path / "one")
    seen = []
    sweep(configs, tmp_path / "two", jobs=2, progress=lambda record: seen.append(record.id))
    assert len(seen) == len(set(seen)) == 4
    for one, two in zip(list_records(tmp_path / "one"), list_records(tmp_path / "two"), strict=True):
        for name in ("epochs.csv", "steps.csv", "model.safetensors"):
            assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes()


def test_an_experiment_is_read_from_its_record_alone_and_a_changed_record_is_refused(tmp_path):
    items = labeled()
    records = sweep([item.config for item in items], tmp_path / "runs")
    record = write_experiment(TINY, "smoke", items, records, tmp_path / "runs")
    kept = keep_experiment(record.folder, tmp_path / "kept")
    again = read_experiment(kept)
    assert again.runs()["condition"].to_list() == ["scratch", "scratch", "spt-finetune"]
    assert again.runs()["final_test_accuracy"].to_list() == [r.summary["final_test_accuracy"] for r in records]
    assert len(again.epochs()) == 4 + 4 + 3
    row = condition_table(again, ("final_test_accuracy",)).to_dicts()[0]
    assert row["seeds"] == 2
    assert row["final_test_accuracy least"] <= row["final_test_accuracy mean"] <= row["final_test_accuracy greatest"]
    (kept / "runs.csv").write_text("condition\n")
    assert main(["keep", "tiny-smoke", "--runs", str(tmp_path / "runs"), "--to", str(tmp_path / "kept")]) == 0
    (tmp_path / "runs" / "experiments" / "tiny-smoke" / "epochs.csv").write_text("epoch\n")
    assert main(["keep", "tiny-smoke", "--runs", str(tmp_path / "runs"), "--to", str(tmp_path / "kept")]) == 2
    assert len(read_experiment(kept).runs()) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "toy-fig99"], "unknown experiment: 'toy-fig99'; use one of toy-fig4"),
        (["run", "toy-fig4", "--jobs", "0"], "number of processes must be positive: jobs=0"),
        (["run", "toy-fig4", "--backend", "ray"], "unknown backend: 'ray'"),
        (["keep"], "keep needs a name"),
        (["keep", "toy-fig4-paper"], "what is kept must be there: 'toy-fig4-paper'"),
        (["keep", ".."], "what is kept must be there"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert "Traceback" not in shown.err
    assert not list(tmp_path.rglob("run.json"))


def test_every_experiment_is_listed_with_its_cost_at_every_scale(tmp_path, capsys):
    assert main(["list", "--runs", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for experiment in experiments():
        assert experiment.name in shown
        assert set(experiment.costs) == set(SCALES)
        sizes = [len(experiment.runs(scale)) for scale in SCALES]
        assert sizes[0] <= sizes[-1]
        assert sizes[0] > 0 or experiment.name in ("toy-fig10", "lra-audit"), (
            "all train, but for the examples of the data"
        )


@pytest.mark.slow
def test_ctrl_c_leaves_a_resumable_experiment_and_the_second_call_finishes_it(tmp_path):
    smaller = (
        "import sys; from training.__main__ import main; from training.experiments import toy_fig4 as toy; "
        "toy.PRESETS['smoke'] = toy.ToyFig4(seeds=2, rates=(1e-2,), label_epochs=4, spt_epochs=8, unlabeled=400); "
        "sys.exit(main())"
    )
    command: list[str] = [sys.executable, "-c", smaller, "run", "toy-fig4", "--scale", "smoke"]
    command += ["--runs", str(tmp_path), "--checkpoint-seconds", "0.1"]
    process = subprocess.Popen([*command, "--jobs", "2"], stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list((tmp_path / PARTIAL).glob("*/state.safetensors")):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    shown = process.communicate(timeout=60)[1]
    assert process.returncode == 130, shown
    assert "interrupted" in shown
    assert "Traceback" not in shown
    ran = subprocess.run([*command, "--jobs", "1"], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "record:" in ran.stdout
    assert len(list_records(tmp_path)) == 6
    assert os.listdir(tmp_path / PARTIAL) == []
