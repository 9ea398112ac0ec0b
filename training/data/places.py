"""Where data lie: the folder ``SPT_DATA`` (else a user cache), the layouts people have, what to say if none is there.

Raw data are looked for at every place where a release, a fork of it or our own commands put them (design note
training.md, data folder README section 8).  Prepared arrays lie in ``prepared/`` beside them; ``SPT_PREPARED`` names
another folder, for raw data that are shared or read-only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pooch

from numerics.errors import InputError

CACHE = "attention-blindness"


class DataError(InputError):
    """Data that are missing, damaged or of the wrong layout: rule, value, remedy."""


class MissingDataError(DataError):
    """Data that are not there; an experiment can print "not run: missing data" and this sentence."""


def data_root() -> Path:
    """The folder of raw data: ``SPT_DATA``, else the user's cache folder."""
    named = os.environ.get("SPT_DATA")
    if not named:
        return Path(pooch.os_cache(CACHE))
    root = Path(named).expanduser()
    if root.exists() and not root.is_dir():
        raise DataError(f"SPT_DATA must name a folder: {root} is a file; name a folder")
    return root


def prepared_root() -> Path:
    """The folder of prepared arrays: ``SPT_PREPARED``, else ``prepared`` in the data folder, else in the cache."""
    named = os.environ.get("SPT_PREPARED")
    if named:
        return Path(named).expanduser()
    root = data_root()
    nearest = next((folder for folder in (root / "prepared", root, *root.parents) if folder.exists()), root)
    return root / "prepared" if os.access(nearest, os.W_OK) else Path(pooch.os_cache(CACHE)) / "prepared"


def lra_places(*names: str) -> tuple[str, ...]:
    """Relative paths at which a folder of the Long-Range Arena is found, nested releases included.

    >>> lra_places("listops-1000")[-1]
    'lra_release/lra_release/listops-1000'
    """
    parents = ("", "lra_release/", "lra_release/lra_release/")
    return tuple(f"{parent}{name}" for parent in parents for name in names)


def find_data(what: str, places: Iterable[str], remedy: str) -> Path:
    """The first of the places below the data folder that exists."""
    root, tried = data_root(), list(places)
    for place in tried:
        if (root / place).exists():
            return root / place
    shown = ", ".join(tried[:3]) + (" …" if len(tried) > 3 else "")
    raise MissingDataError(f"{what} must be under the data folder: {root} holds none of {shown}; {remedy}")


def fetch_remedy(name: str, place: str, known: bool = True) -> str:
    """The command that fetches a release; one without ``known`` checksum, or over what is there, needs a flag."""
    command = f"run python -m training data fetch {name}"
    command += "" if known else " --allow-unknown-checksum"
    return command + (" --replace-old" if (data_root() / place).exists() else "")


def shown(text: str) -> str:
    """A value of a file as an error shows it: quoted, at most 20 characters.

    >>> shown("a" * 30)
    "'aaaaaaaaaaaaaaaaaaaa…'"
    """
    return repr(text if len(text) <= 20 else f"{text[:20]}…")
