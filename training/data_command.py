"""The commands ``python -m training data …``: list, fetch, prepare, generate, check."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from training.data import listops_generator, pathfinder
from training.data.archives import unpacked
from training.data.catalogue import Entry, entries, find_entry
from training.data.download import download
from training.data.listops_generator import ListOpsLaw
from training.data.pathfinder import PathFinderTask
from training.data.pathfinder_generator import PathFinderLaw
from training.data.places import DataError, MissingDataError, data_root
from training.data.prepared import RECORD, SPLITS, FileTask, file_sha256, open_prepared, prepare, prepared_folder
from training.files import move_folder

_DESCRIPTION = """Data sets: list, fetch, prepare, generate, check.  They live under SPT_DATA, else in the user's cache.

Examples:
  python -m training data list                     every data set, and what is there
  python -m training data fetch image              downloads (resumed, checksummed) and unpacks a release
  python -m training data generate listops         makes a set here, in the release's layout
  python -m training data check gunpoint           reads a set from end to end and says what is wrong
"""

Names = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="TASK…")]


def list_data() -> int:
    """Every data set, whether it is there and prepared, and how to get it.  Example: python -m training data list"""
    table = Table("task", "what", "there", "prepared", "to get it", box=box.SIMPLE_HEAD, pad_edge=False)
    for entry in entries():
        table.add_row(entry.name, entry.what, _there(entry), _prepared(entry.task), _remedy(entry))
    _out().print(table)
    _out().print(f"data folder: {data_root()}", soft_wrap=True)
    return 0


def fetch(names: Names = (), allow_unknown_checksum: bool = False, replace_old: bool = False) -> int:
    """Download and unpack releases.  Example: python -m training data fetch image

    An interrupted download goes on where it stopped.  Archives with absolute or parent paths, links or devices are
    refused.  Exit code 0: all there; 2: no such set, no connection, another checksum.

    Args:
        names: tasks from "list".
        allow_unknown_checksum: trust the server for releases whose checksum is not known here.
        replace_old: replace what lies where the release goes.
    """
    for entry in _chosen(names):
        if entry.release is None:
            raise DataError(f"only releases are fetched: {entry.name} has none; {_remedy(entry)}")
        release, root = entry.release, data_root()
        place = root / release.place
        if place.exists() and not replace_old:
            raise DataError(
                f"a release goes where nothing is: {place} exists; check it with python -m training data check "
                f"{entry.name}, or say --replace-old"
            )
        columns = (TextColumn(entry.name), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            shown = bar.add_task(entry.name, total=None)
            archive = download(
                release.url,
                root / "downloads",
                release.checksum,
                allow_unknown=allow_unknown_checksum,
                progress=lambda done, total, bar=bar, shown=shown: bar.update(  # type: ignore[misc]
                    shown, completed=done, total=total or None
                ),
            )
        if release.checksum is None:
            _out().print(f"unknown checksum: {archive.name} has sha256:{file_sha256(archive)}", soft_wrap=True)
        with unpacked(archive, root, release.folder) as folder:
            found = folder if not release.folder else _folder_named(folder, release.folder, archive)
            if place.exists():
                shutil.rmtree(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(found, place)
        place.chmod(0o755)
        _out().print(f"fetched {entry.name}: {place}", soft_wrap=True)
    return 0


def prepare_data(names: Names = (), again: bool = False, skip_unreadable: bool = False) -> int:
    """Read, check and write memory-mapped arrays.  Example: python -m training data prepare gunpoint

    Args:
        names: tasks from "list".
        again: prepare anew where that was done before.
        skip_unreadable: PathFinder: leave out images that cannot be read, and say which.
    """
    for entry in _chosen(names):
        task = _with_skipping(entry.task, skip_unreadable)
        folder = prepared_folder(task)
        if again or not (folder / RECORD).is_file():
            prepare(task)
        _report(entry.name, open_prepared(task, folder).record)
        _out().print(f"prepared: {folder}", soft_wrap=True)
    return 0


def generate(
    name: Annotated[Literal["listops", "pathfinder", "pathx"], tyro.conf.Positional],
    to: Path | None = None,
    seed: int = 0,
    train: int = 96_000,
    validation: int = 2000,
    test: int = 2000,
    images: int = 5000,
    contour_length: int = 14,
) -> int:
    """Make a set in the release's layout.  Example: python -m training data generate listops

    The folder can be read as SPT_DATA, by this project and by others.  Training does not need it: a task with source
    generated makes its set itself.

    Args:
        name: listops (100,000 rows: 3 minutes), pathfinder (5,000 images: 4 minutes) or pathx (a quarter hour).
        to: folder; by default generated in the data folder.
        seed: seed of the set.
        train: listops: training rows.
        validation: listops: validation rows.
        test: listops: test rows.
        images: pathfinder and pathx: images of the level (the release has 200,000).
        contour_length: pathfinder and pathx: segments of a target curve, 6, 9 or 14.
    """
    parent = to if to is not None else data_root() / "generated"
    size = 128 if name == "pathx" else 32
    place = parent / ("listops-1000" if name == "listops" else f"pathfinder{size}")
    if name == "listops":
        rows = ListOpsLaw(train=train, validation=validation, test=test, seed=seed)
        with _whole_folder(place) as folder, _progress(name, train + validation + test) as progress:
            listops_generator.write_release(rows, folder, progress)
    else:
        law = PathFinderLaw(images=images, size=size, contour_length=contour_length, seed=seed)
        place = place / pathfinder.LEVELS[contour_length]
        with _whole_folder(place) as folder, _progress(name, images) as progress:
            pathfinder.write_level(law, folder, progress=progress)
    _out().print(f"generated {name}, seed {seed}: {place}", soft_wrap=True)
    return 0


def check(names: Names = (), skip_unreadable: bool = False) -> int:
    """Read sets from end to end and say what is missing or wrong.  Example: python -m training data check gunpoint

    Without names every set is checked.  Exit code 0: what is there is right; 2: a named set is missing, or a set is
    wrong.

    Args:
        names: tasks from "list"; none for all.
        skip_unreadable: PathFinder: leave out images that cannot be read, and say which.
    """
    wrong = 0
    for entry in _chosen(names) if names else entries():
        task = _with_skipping(entry.task, skip_unreadable)
        try:
            folder = prepared_folder(task)
            if (folder / RECORD).is_file():
                open_prepared(task, folder)
            if task.find() is None:
                _out().print(f"{entry.name}: made here, nothing to check", soft_wrap=True)
            else:
                record = prepare(task, keep=False)
                _report(entry.name, record)
                _say_if_partial(entry, record)
        except DataError as error:
            if names:
                raise
            missing = isinstance(error, MissingDataError)
            wrong += not missing
            text = f"{entry.name}: {'missing' if missing else 'wrong'}: {error}"
            _out().print(Text(text, "" if missing else "red"), soft_wrap=True)
    return 2 if wrong else 0


COMMANDS: dict[str, Callable[..., int]] = {
    "list": list_data,
    "fetch": fetch,
    "prepare": prepare_data,
    "generate": generate,
    "check": check,
}


def data(arguments: Sequence[str] = ("--help",)) -> int:
    """Data sets: list, fetch, prepare, generate, check.  Example: python -m training data list"""
    return int(
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS, args=list(arguments), prog="python -m training data", description=_DESCRIPTION
        )
    )


def _chosen(names: Sequence[str]) -> list[Entry]:
    if not names:
        raise DataError("name at least one data set: none was given; python -m training data list shows them")
    return [find_entry(name) for name in dict.fromkeys(names)]


def _with_skipping(task: FileTask, skip: bool) -> FileTask:
    return replace(task, skip_unreadable=True) if skip and isinstance(task, PathFinderTask) else task


def _there(entry: Entry) -> str:
    try:
        found = entry.task.find()
    except DataError:
        return "no"
    return "made here" if found is None else "yes"


def _prepared(task: FileTask) -> str:
    return "yes" if (prepared_folder(task) / RECORD).is_file() else "no"


def _remedy(entry: Entry) -> str:
    if entry.release is not None:
        return f"fetch {entry.name} ({entry.release.size})"
    return "nothing to do" if _there(entry) == "made here" else "put it into the data folder; check names the place"


def _report(name: str, record: dict[str, Any]) -> None:
    """One line a split."""
    for split in (split for split in SPLITS if split in record["splits"]):
        told = record["splits"][split]
        counts = ", ".join(f"{label}: {count}" for label, count in told.get("labels", {}).items())
        shape = record["files"][f"{split}-tokens.npy"]["shape"]
        _out().print(f"{name} {split}: {shape[0]} of {shape[1:]}, labels {{{counts}}}", soft_wrap=True)
    if skipped := record.get("skipped"):
        _out().print(f"{name}: {len(skipped)} unreadable images skipped: {', '.join(skipped[:5])}", soft_wrap=True)


def _say_if_partial(entry: Entry, record: dict[str, Any]) -> None:
    found = tuple(record["splits"][split]["samples"] for split in SPLITS if split in record["splits"])
    if entry.sizes and found != entry.sizes:
        sizes = " / ".join(f"{size:,}" for size in entry.sizes)
        _out().print(f"{entry.name}: right, but not the whole release, which has {sizes}", soft_wrap=True)


def _folder_named(folder: Path, name: str, archive: Path) -> Path:
    for found in sorted(folder.rglob(name), key=lambda path: len(path.parts)):
        if found.is_dir():
            return found
    raise DataError(
        f"the archive must hold the folder {name}: {archive} does not; its layout changed, unpack it by hand"
    )


@contextmanager
def _whole_folder(place: Path) -> Iterator[Path]:
    """A folder that appears when it is complete, or not at all."""
    if place.exists():
        raise DataError(f"a set is generated where nothing is: {place} exists; name another folder with --to")
    place.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    try:
        yield work
        work.chmod(0o755)
        move_folder(work, place)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _progress(name: str, total: int) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task(name, total=total)
        yield lambda done: bar.update(shown, completed=done)


def _out() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=120, highlight=False)
