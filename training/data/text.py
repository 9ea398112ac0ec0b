"""Text: sentiment of IMDb reviews, character by character (appendix A.1).

Read from the folder ``aclImdb`` or straight from its tar archive, which is never unpacked for that; only
``{train,test}/{pos,neg}`` count, so that ``train/unsup`` cannot leak in.  Reviews are sorted by split, label, number:
the order of the archive does not matter.  A review is cut to ``length`` - 1 characters and ends with ``<eos>``; the
vocabulary is the characters that occur at least 15 times in the training reviews so cut.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from training.config import configuration, setting
from training.data.archives import tar_files
from training.data.places import DataError, fetch_remedy, find_data
from training.data.prepared import Prepared, Writer, label_counts, load_prepared
from training.data.sequences import TaskData
from training.data.splits import SPLIT_SEED, limited, random_split
from training.data.vocabulary import Vocabulary

CLASSES = 2
VALIDATIONS = ("test", "split")
_PLACES = ("imdb/aclImdb", "aclImdb", "imdb/aclImdb_v1.tar.gz", "aclImdb_v1.tar.gz", "imdb/aclImdb_subset.tar.gz")
_MEMBER = re.compile(r"(?<![^/])(train|test)/(pos|neg)/(\d+)_(\d+)\.txt$")
_LARGEST_REVIEW = 1 << 20

#: Split (train or test), label, number of the review, text.
_Review = tuple[str, int, int, str]


@configuration
@dataclass(frozen=True)
class TextTask:
    """IMDb reviews as characters; negative 0, positive 1."""

    length: int = setting(2048, "paper, A.1 (the code has 4096)")
    """Most tokens of a review, end symbol included; longer ones are cut."""
    least_count: int = setting(15, "code")
    """A character is in the vocabulary when it occurs this often in training reviews."""
    vocabulary: int = setting(135, "code: 131 characters and 4 specials at length 4096")
    """Room of the network's table; a subset of the reviews has fewer symbols."""
    validation: str = setting("test", "all public code bases: the test set doubles as validation")
    """test, or split: a tenth of train is held out."""
    split_seed: int = setting(SPLIT_SEED, "code")
    """Seed of the order of training reviews and of the held-out tenth."""
    train_limit: int = 0
    """Training reviews kept, in random order; 0 for all."""
    test_limit: int = 0
    """Test reviews kept, in random order; 0 for all."""

    def __post_init__(self) -> None:
        """Refuse unknown choices."""
        if self.validation not in VALIDATIONS:
            raise DataError(f"unknown validation: {self.validation!r}; use one of {', '.join(VALIDATIONS)}")
        if self.length < 2 or self.least_count < 1:
            raise DataError(
                f"text needs length 2 and least_count 1: {self.length}, {self.least_count}; use 2048 and 15"
            )

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        return "text"

    def model_shape(self) -> dict[str, int]:
        """What the network must fit."""
        return {"vocabulary": self.vocabulary, "classes": CLASSES}

    def find(self) -> Path:
        """The folder or archive of the reviews."""
        return find_data("the IMDb reviews", _PLACES, _remedy())

    def load(self) -> TaskData:
        """All splits; ids stay bytes on disk, mapped into memory."""
        return load_prepared(self)

    def read(self, prepared: Prepared) -> TaskData:
        """The splits of prepared arrays."""
        return prepared.task_data(CLASSES)

    def write(self, writer: Writer) -> None:
        """Read all reviews, count characters, split, write ids."""
        path = self.find()
        found = sorted(read_folder(path) if path.is_dir() else read_archive(path))
        pools: dict[str, list[_Review]] = {
            split: [row for row in found if row[0] == split] for split in ("train", "test")
        }
        for split, pool in pools.items():
            if {label for _, label, _, _ in pool} != {0, 1}:
                raise DataError(f"aclImdb has {split}/pos and {split}/neg: {path} lacks reviews of one; {_remedy()}")
        held_out = len(pools["train"]) // 10 if self.validation == "split" else 0
        parts = random_split({"train": len(pools["train"]) - held_out, "validation": held_out}, self.split_seed)
        parts["test"] = random_split({"test": len(pools["test"])}, self.split_seed)["test"]
        parts = {split: index for split, index in parts.items() if len(index)}
        parts["train"] = limited(parts["train"], self.train_limit)
        for split in parts.keys() & {"validation", "test"}:
            parts[split] = limited(parts[split], self.test_limit)
        counts: Counter[str] = Counter()
        for row in parts["train"]:
            counts.update(pools["train"][row][3][: self.length - 1])
        vocabulary = Vocabulary.counted(counts, self.least_count)
        vocabulary.check_fits(self.vocabulary, "raise vocabulary or least_count")
        writer.notes["vocabulary"] = vocabulary.symbols
        for split, index in parts.items():
            rows = [pools["test" if split == "test" else "train"][row] for row in index]
            lengths = np.array([min(len(text) + 1, self.length) for *_, text in rows], dtype=np.int32)
            tokens = (vocabulary.encode_characters(text[: self.length - 1]) for *_, text in rows)
            writer.rows(f"{split}-tokens", (len(rows), int(lengths.max())), vocabulary.dtype, tokens)
            labels = np.array([label for _, label, _, _ in rows], dtype=np.int16)
            writer.array(f"{split}-lengths", lengths)
            writer.array(f"{split}-labels", labels)
            writer.split(split, len(rows), index, seed=self.split_seed, labels=label_counts(labels))
        writer.source(path)


def read_folder(folder: Path) -> Iterator[_Review]:
    """The labeled reviews of an unpacked ``aclImdb``."""
    for split in ("train", "test"):
        for kind in ("pos", "neg"):
            for file in sorted((folder / split / kind).glob("*.txt")):
                name = f"{split}/{kind}/{file.name}"
                if match := _labeled(name, file.stat().st_size, folder):
                    yield _review(match, file.read_bytes(), folder)


def read_archive(path: Path) -> Iterator[_Review]:
    """The labeled reviews of the tar archive, read as a stream; names are checked as where it is unpacked."""
    seen: set[str] = set()
    try:
        for member, file in tar_files(path):
            if match := _labeled(member.name, member.size, path):
                if match[0] in seen:
                    raise DataError(f"a review occurs once: {path} has {match[0]} twice; {_remedy()}")
                seen.add(match[0])
                yield _review(match, file.read(), path)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise DataError(f"an archive must be whole: {path} is not ({error}); {_remedy()}") from None


def _labeled(name: str, size: int, path: Path) -> re.Match[str] | None:
    """The parts of the name of a labeled review; None for other files."""
    match = _MEMBER.search(name)
    if match and size > _LARGEST_REVIEW:
        raise DataError(f"a review has at most {_LARGEST_REVIEW} bytes: {match[0]} of {path} has {size}; {_remedy()}")
    return match


def _review(match: re.Match[str], content: bytes, path: Path) -> _Review:
    name, (split, kind, number, rating) = match[0], match.groups()
    if (kind == "pos") != (int(rating) >= 7) or not 1 <= int(rating) <= 10:
        raise DataError(f"pos is rated 7 to 10, neg 1 to 4: {name} of {path} is rated {rating}; {_remedy()}")
    try:
        return split, int(kind == "pos"), int(number), content.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"a review must be UTF-8: {name} of {path} is not; {_remedy()}") from None


def _remedy() -> str:
    return fetch_remedy("text", _PLACES[0])
