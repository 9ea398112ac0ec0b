"""The bar moves while runs are in progress, not only when one ends."""

import os
import pty
import re
import subprocess
import sys
import time

import pytest

from tests.training.small import labels
from training import progress
from training.execute import Execution, execute
from training.records import PARTIAL


def test_a_run_says_how_far_it_is_and_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    config, seen = labels(), []
    execute(
        config, tmp_path, Execution(progress=lambda run, step, steps: seen.append(progress.share_done(run, tmp_path)))
    )
    assert seen == [step / len(seen) for step in range(len(seen))], "the line is written after the hook of its step"
    assert len(seen) > 2
    assert os.listdir(tmp_path / PARTIAL) == []


@pytest.mark.parametrize("text", ["", "3", "a b", "3 0"])
def test_half_a_line_counts_as_nothing_done(text, tmp_path):
    folder = tmp_path / PARTIAL / "run"
    folder.mkdir(parents=True)
    (folder / progress.FILE).write_text(text)
    assert progress.share_done("run", tmp_path) == 0.0


@pytest.mark.slow
def test_on_a_terminal_the_bar_moves_before_the_first_run_ends(tmp_path):
    longer = (
        "import sys; from training.__main__ import main; from training.experiments import toy_fig4 as toy; "
        "toy.PRESETS['smoke'] = toy.ToyFig4(seeds=1, rates=(1e-2,), label_epochs=20000, spt_epochs=8, unlabeled=400); "
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", longer, "run", "toy-fig4", "--runs", str(tmp_path), "--jobs", "1"]
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(command, stdout=slave, stderr=slave, stdin=slave, env=environment)
    os.close(slave)
    shown, deadline = "", time.monotonic() + 120
    try:
        while time.monotonic() < deadline and not re.search(r" [1-9]\d*%", shown):
            shown += os.read(master, 65536).decode(errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(master)
    moved = re.search(r" [1-9]\d*%", shown)
    assert moved, shown[-2000:]
    assert "of 3 runs, last" not in shown[: moved.start()]
