"""How far runs are: a line in the folder of each run in progress, and a bar that reads it.

The line is a file, so that one bar shows runs of this process, of others and of another machine's alike.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from training.records import PARTIAL, RunRecord
from training.terminal import err

#: Steps done and steps in all, in a run's partial folder.
FILE = "progress"
#: Seconds between two lines of a run, and between two looks of the bar.
EVERY = 1.0


def reporter(partial: Path, steps: int) -> Callable[[int], None]:
    """A function of the steps done that keeps the line of a run, at most once a second."""
    said = -EVERY

    def report(step: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said < EVERY:
            return
        said = now
        with contextlib.suppress(OSError):  # a full disk is told by the next checkpoint
            (partial / FILE).write_text(f"{step} {steps}")

    return report


def share_done(run: str, runs: Path) -> float:
    """The share of a run's steps that are done: 0 where it has not begun.

    >>> share_done("image16-labels-s0", Path("nowhere"))
    0.0
    """
    try:
        step, steps = (runs / PARTIAL / run / FILE).read_text().split()
        return min(int(step) / int(steps), 1.0)
    except (OSError, ValueError, ZeroDivisionError):  # not begun, just finished, or half a line
        return 0.0


@contextlib.contextmanager
def shown(work: Mapping[str, int], runs: Path) -> Iterator[Callable[[RunRecord], None]]:
    """A bar over runs of the given costs; the function that it gives is called with each new record."""
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    waiting, stop = dict(work), threading.Event()
    with Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task(f"0 of {len(work)} runs", total=sum(work.values()))

        def look() -> None:
            left = sum(cost * (1 - share_done(run, runs)) for run, cost in list(waiting.items()))
            bar.update(task, completed=max(sum(work.values()) - left, bar.tasks[task].completed))

        def watch() -> None:
            while not stop.wait(EVERY):
                look()

        def finished(record: RunRecord) -> None:
            waiting.pop(record.id, None)
            text = f"{len(work) - len(waiting)} of {len(work)} runs, last {record.id}"
            bar.update(task, description=text)
            look()
            if not err().is_terminal:  # a log file has no bar
                err().print(text, soft_wrap=True)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield finished
        finally:
            stop.set()
            watcher.join()
