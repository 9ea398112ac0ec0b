"""What the paper reports beside its figures: data files in ``reported/``, each entry with its place.

An entry has a number where the paper's text has one.  Where it only says something in words, ``value`` is null and the
words are quoted; nothing is read off the paper's pictures.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numerics.errors import InputError

FOLDER = Path(__file__).parent / "reported"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Reported:
    """One statement of the paper.

    Attributes:
        id: short name within the figure.
        means: what is stated, in one phrase.
        value: the number (or numbers) printed in the paper's text; None where it has only words.
        says: the number or the words as they are shown beside ours.
        where: place in the paper.
        quote: the paper's own sentence.
        predictions: those of ``training.predictions`` that judge it.
    """

    id: str
    means: str
    value: Any
    says: str
    where: str
    quote: str
    predictions: tuple[str, ...] = ()


def reported(figure: str, folder: Path = FOLDER) -> dict[str, Reported]:
    """The paper's statements about a figure, by id.

    >>> reported("fig04")["peak-test-gain"].value
    0.1
    """
    path = folder / f"{figure}.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"schema_version {content['schema_version']}")
        return {
            entry["id"]: Reported(**{**entry, "predictions": tuple(entry["predictions"])})
            for entry in content["statements"]
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the paper's numbers are a JSON file of schema {SCHEMA_VERSION}: {path} ({error}); restore it from git"
        ) from None
