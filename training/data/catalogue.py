"""Every data set by the name that commands use: the task it makes, where its release is, how to make it here."""

from __future__ import annotations

from dataclasses import dataclass

from training.data.image import ImageTask
from training.data.listops import ListOpsTask, short_listops
from training.data.pathfinder import LEVELS, PATHX, PathFinderTask
from training.data.places import DataError
from training.data.prepared import FileTask
from training.data.retrieval import RetrievalTask
from training.data.text import TextTask
from training.data.ucr import PAPER_SETS, UcrTask


@dataclass(frozen=True)
class Release:
    """Where a release is downloaded and what of it goes where."""

    url: str
    """Archive, by http or https."""
    checksum: str | None
    """``md5:...`` or ``sha256:...``; None where none is known to us."""
    folder: str
    """Folder inside the archive, found at any depth; empty for the whole archive."""
    place: str
    """Where it goes, below the data folder."""
    size: str
    """Size of the download."""


@dataclass(frozen=True)
class Entry:
    """One data set."""

    name: str
    """Name in commands."""
    task: FileTask
    """The task, with its default choices."""
    what: str
    """One line."""
    release: Release | None = None
    """None where there is nothing to download."""
    by_hand: str = ""
    """What to put where, for data without a release of their own; empty where they are fetched or made here."""
    sizes: tuple[int, ...] = ()
    """Samples of each split of the whole release (train, validation where there is one, test); empty where unknown."""


_LRA = "https://storage.googleapis.com/long-range-arena/lra_release.gz"
_LRA_SIZE = "7.7 GB (the whole Long-Range Arena)"
_CIFAR = Release(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "md5:c32a1d4ab5d03f1284b67883e8d87530",
    "cifar-10-batches-bin",
    "cifar10/cifar-10-batches-bin",
    "162 MB",
)
_IMDB = Release(
    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "md5:7c2ac02c03563afcf9b574c7e56c153a",
    "aclImdb",
    "imdb/aclImdb",
    "84 MB",
)


_JPEG = "put cifar10_gray_jpeg.npz under cifar10/"


def _level(contour_length: int) -> str:
    return f"put {LEVELS[contour_length]} of pathfinder's release under pathfinder32/"


def _lra(folder: str, place: str) -> Release:
    return Release(_LRA, None, folder, place, _LRA_SIZE)


def _ucr(dataset: str) -> Entry:
    release = Release(
        f"https://www.timeseriesclassification.com/aeon-toolkit/{dataset}.zip",
        None,
        "",
        f"ucr/Univariate_ts/{dataset}",
        "under 1 MB",
    )
    sizes = PAPER_SETS.get(dataset, ())[:2]
    return Entry(f"ucr:{dataset}", UcrTask(dataset), "a time series of the UCR archive", release, sizes=sizes)


def entries() -> list[Entry]:
    """Every data set of the paper, and the variants that need less."""
    return [
        Entry(
            "listops",
            ListOpsTask(),
            "nested list operations, up to 2048 tokens, release",
            _lra("listops-1000", "listops/listops-1000"),
            sizes=(96_000, 2000, 2000),
        ),
        Entry("listops-generated", ListOpsTask(source="generated"), "the same law, made here (3 minutes)"),
        Entry("listops-short", short_listops(), "the same law, 17 to 255 tokens, made here (10 seconds)"),
        Entry(
            "listops-original",
            ListOpsTask(source="nangia-bowman"),
            "10,000 short rows of Nangia and Bowman 2018",
            by_hand="put test_d20s.tsv under listops/nangia_bowman/",
        ),
        Entry("text", TextTask(), "IMDb reviews by character, up to 2048 tokens", _IMDB, sizes=(25_000, 25_000)),
        Entry(
            "retrieval",
            RetrievalTask(),
            "pairs of papers by character, up to 2 x 4000 tokens",
            _lra("tsv_data", "aan"),
            sizes=(147_086, 18_090, 17_437),
        ),
        Entry("image", ImageTask(), "CIFAR-10 in grey, 1024 pixels, official", _CIFAR, sizes=(45_000, 5000, 10_000)),
        Entry("image-jpeg", ImageTask(source="jpeg"), "CIFAR-10 in grey from JPEG files, 1024 pixels", by_hand=_JPEG),
        Entry("image16", ImageTask(source="jpeg", size=16), "the same shrunk to 16 by 16, 256 pixels", by_hand=_JPEG),
        Entry(
            "pathfinder",
            PathFinderTask(),
            "dashed curves, 1024 pixels, release",
            _lra("pathfinder32", "pathfinder32"),
            sizes=(160_000, 20_000, 20_000),
        ),
        Entry(
            "pathfinder-generated",
            PathFinderTask(source="generated", images=5000),
            "the same law, 5,000 images made here (4 minutes)",
        ),
        Entry("pathfinder-9", PathFinderTask(contour_length=9), "the middle level, release", by_hand=_level(9)),
        Entry("pathfinder-6", PathFinderTask(contour_length=6), "the easy level, release", by_hand=_level(6)),
        Entry(
            "pathx",
            PATHX,
            "dashed curves, 16384 pixels, release",
            _lra("pathfinder128", "pathfinder128"),
            sizes=(160_000, 20_000, 20_000),
        ),
        *map(_ucr, PAPER_SETS),
    ]


def find_entry(name: str) -> Entry:
    """The data set of a name; UCR sets also as ``gunpoint``, and any other as ``ucr:Name``."""
    known = entries()
    for entry in known:
        if name == entry.name or entry.name.lower() == f"ucr:{name.lower()}":
            return entry
    if name.startswith("ucr:") and name[4:]:
        return _ucr(name[4:])
    names = ", ".join(entry.name for entry in known)
    raise DataError(f"unknown data set: {name!r}; use one of {names}, or ucr:Name for another set of the UCR archive")


def fetch_command(name: str) -> str:
    """The command that downloads a data set; refused, with what to do instead, where there is no release of its own.

    >>> fetch_command("image"), fetch_command("listops")[-32:]
    ('python -m training data fetch image', 'listops --allow-unknown-checksum')
    """
    entry = find_entry(name)
    if entry.release is None:
        remedy = entry.by_hand or "nothing to do, it is made here"
        raise DataError(f"only releases are fetched: {entry.name} has none of its own; {remedy}")
    flag = " --allow-unknown-checksum" if entry.release.checksum is None else ""
    return f"python -m training data fetch {entry.name}{flag}"
