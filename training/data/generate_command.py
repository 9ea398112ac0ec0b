"""The command ``python -m training data generate``: a set in the layout of its release, written whole or not at all."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from training.data import listops_generator, pathfinder
from training.data.listops_generator import ListOpsLaw
from training.data.pathfinder_generator import PathFinderLaw
from training.data.places import DataError, data_root
from training.errors import StorageError
from training.files import sync_folder
from training.terminal import out


def generate(
    name: Annotated[Literal["listops", "pathfinder", "pathx"], tyro.conf.Positional],
    to: Path | None = None,
    seed: int = 0,
    train: int | None = None,
    validation: int | None = None,
    test: int | None = None,
    images: int | None = None,
    contour_length: int | None = None,
) -> int:
    """Make a set in the release's layout.  Example: python -m training data generate listops

    The folder can be read as SPT_DATA, by this project and by others.  Training does not need it: a task with source
    generated makes its set itself.

    Args:
        name: listops (100,000 rows: 3 minutes), pathfinder (5,000 images: 4 minutes) or pathx (a quarter hour).
        to: folder; by default generated in the data folder.
        seed: seed of the set.
        train: listops: training rows; 96,000 by default.
        validation: listops: validation rows; 2,000 by default.
        test: listops: test rows; 2,000 by default.
        images: pathfinder and pathx: images of the level; 5,000 by default (the release has 200,000).
        contour_length: pathfinder and pathx: segments of a target curve, 6, 9 or 14; 14 by default.
    """
    rows = {"train": train, "validation": validation, "test": test}
    drawn = {"images": images, "contour_length": contour_length}
    mine, others = (rows, drawn) if name == "listops" else (drawn, rows)
    for option in (option for option, value in others.items() if value is not None):
        raise DataError(
            f"an option belongs to its set: {_flag(option)} is none of {name}; "
            f"use {', '.join(map(_flag, mine))}, or leave it out"
        )
    given = {option: value for option, value in mine.items() if value is not None}
    parent = to if to is not None else data_root() / "generated"
    task: str = name
    if name == "listops":
        place = parent / "listops-1000"
        law = ListOpsLaw(**given, seed=seed)
        with _whole_folder(place) as folder, _progress(name, law.train + law.validation + law.test) as progress:
            listops_generator.write_release(law, folder, progress)
    else:
        size = 128 if name == "pathx" else 32
        level = PathFinderLaw(**({"images": 5000, "contour_length": 14} | given), size=size, seed=seed)
        task = name if level.contour_length == 14 else f"{name}-{level.contour_length}"
        place = parent / f"pathfinder{size}" / pathfinder.LEVELS[level.contour_length]
        with _whole_folder(place) as folder, _progress(name, level.images) as progress:
            pathfinder.write_level(level, folder, progress=progress)
    out().print(f"generated {name}, seed {seed}: {place}", soft_wrap=True)
    reading = f"SPT_DATA={shlex.quote(str(parent.resolve()))} python -m training data check {task}"
    out().print(f"to read it: {reading}", soft_wrap=True)
    if name != "pathx":
        out().print(f"training does not need it: the task {name}-generated makes its own set", soft_wrap=True)
    return 0


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


@contextmanager
def _whole_folder(place: Path) -> Iterator[Path]:
    """A folder that appears when it is complete, or not at all."""
    work = None
    try:
        if place.exists():
            raise DataError(f"a set is generated where nothing is: {place} exists; name another folder with --to")
        place.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
        yield work
        work.chmod(0o755)
        sync_folder(work)
        work.rename(place)
        sync_folder(place.parent)
    except OSError as error:
        raise StorageError(
            f"a set needs a folder that can be written: {place} failed ({error.strerror or error}); nothing "
            "half-written is left: free some space or name another folder with --to"
        ) from error
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _progress(name: str, total: int) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task(name, total=total)
        yield lambda done: bar.update(shown, completed=done)
