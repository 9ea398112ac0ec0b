"""The commands ``python -m training data …``: list, fetch, prepare, generate, check."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from training.data.archives import unpacked
from training.data.catalogue import Entry, entries, fetch_command, find_entry
from training.data.download import download
from training.data.generate_command import generate
from training.data.pathfinder import PathFinderTask
from training.data.places import DataError, MissingDataError, data_root
from training.data.prepared import RECORD, SPLITS, FileTask, open_prepared, prepare, prepared_folder
from training.data.raw_data import file_sha256

_DESCRIPTION = """Data sets: list, fetch, prepare, generate, check.  They live under SPT_DATA, else in the user's cache.

Examples:
  python -m training data list                     every data set, and what is there
  python -m training data fetch image              downloads (resumed, checksummed) and unpacks a release
  python -m training data generate listops         makes a set here, in the release's layout
  python -m training data check gunpoint           reads a set from end to end and says what is wrong
"""

_DATA = "python -m training data "

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
        command = fetch_command(entry.name)
        release, root = entry.release, data_root()
        assert release is not None
        place = root / release.place
        if place.exists() and not replace_old:
            raise DataError(
                f"a release goes where nothing is: {place} exists; check it with python -m training data check "
                f"{entry.name}, or replace it: {command} --replace-old"
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
    try:
        return int(
            tyro.extras.subcommand_cli_from_dict(
                COMMANDS, args=list(arguments), prog="python -m training data", description=_DESCRIPTION
            )
        )
    except KeyboardInterrupt:
        fetching = "fetch" in arguments[:1]
        print(
            "interrupted; " + ("say the same command again to go on" if fetching else "nothing half-written is left"),
            file=sys.stderr,
        )
        return 130


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
        return f"{fetch_command(entry.name).removeprefix(_DATA)} ({entry.release.size})"
    return entry.by_hand or "nothing to do"


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


def _out() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=120, highlight=False)
