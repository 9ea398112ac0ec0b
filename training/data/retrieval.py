"""Retrieval: does one paper of the ACL Anthology cite the other? (appendix A.1; AAN, Radev et al. 2013)

Files ``new_aan_pairs.{train,eval,test}.tsv`` have five columns and no header: label (``1`` or ``1.0``), two ids, two
texts.  Quoting is off.  In the release the texts are Python bytes literals (``b'...'``); the code base feeds the
literal itself, ``literal="decode"`` reads it (as a constant: nothing is run).  Files of any size are read as streams,
twice: lengths and characters first, then one row at a time to disk.
"""

from __future__ import annotations

import ast
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from training.config import configuration, setting
from training.data.places import DataError, fetch_remedy, find_data, lra_places
from training.data.prepared import Prepared, Writer, label_counts, load_prepared
from training.data.sequences import TaskData
from training.data.tables import plain_columns, whole_label
from training.data.vocabulary import Vocabulary

CLASSES = 2
LITERALS = ("keep", "decode")
_FILES = {
    split: f"new_aan_pairs.{part}.tsv" for split, part in (("train", "train"), ("validation", "eval"), ("test", "test"))
}
_PLACES = ("aan", "retrieval", *lra_places("tsv_data"))


@configuration
@dataclass(frozen=True)
class RetrievalTask:
    """Pairs of papers as characters; 1 where one cites the other."""

    length: int = setting(4000, "code and LRA (the paper's A.1 says up to 4096)")
    """Most tokens of each text, end symbol included; longer ones are cut."""
    least_count: int = setting(1, "code: no frequency cut")
    """A character is in the vocabulary when it occurs this often in training texts."""
    vocabulary: int = setting(99, "code: 95 printable characters and 4 specials")
    """Room of the network's table."""
    literal: str = setting("keep", "code: the bytes literal itself is fed, b' and backslashes included")
    """keep, or decode: the text that a bytes literal stands for."""
    train_limit: int = 0
    """Training pairs kept, from the start of the file; 0 for all."""
    test_limit: int = 0
    """Validation and test pairs kept, each; 0 for all."""

    def __post_init__(self) -> None:
        """Refuse unknown choices."""
        if self.literal not in LITERALS:
            raise DataError(f"unknown literal: {self.literal!r}; use one of {', '.join(LITERALS)}")
        if self.length < 2 or self.least_count < 1 or min(self.train_limit, self.test_limit) < 0:
            raise DataError("length must be at least 2, least_count 1, limits 0; use 4000, 1 and 0")

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        return "retrieval"

    def model_shape(self) -> dict[str, int]:
        """What the network must fit; its classifier is ``pair``."""
        return {"vocabulary": self.vocabulary, "classes": CLASSES}

    def find(self) -> Path:
        """The folder of the three files."""
        return find_release()

    def load(self) -> TaskData:
        """All splits, and the single texts for self-pretraining; ids stay bytes on disk, mapped into memory."""
        return load_prepared(self)

    def read(self, prepared: Prepared) -> TaskData:
        """The splits of prepared arrays."""
        return prepared.task_data(CLASSES)

    def write(self, writer: Writer) -> None:
        """Count, then write ids row by row."""
        folder = find_release()
        counts: Counter[str] = Counter()
        sizes: dict[str, tuple[Int[ndarray, "pairs 2"], Int[ndarray, " pairs"]]] = {}
        for split, name in _FILES.items():
            lengths, labels = array("i"), array("b")
            for _, label, texts in self._pairs(folder / name, split):
                labels.append(label)
                lengths.extend(len(text) + 1 for text in texts)
                if split == "train":
                    for text in texts:
                        counts.update(text)
            if not labels:
                raise DataError(f"every split needs pairs: {folder / name} has none; {_remedy()}")
            sizes[split] = np.array(lengths, dtype=np.int32).reshape(-1, 2), np.array(labels, dtype=np.int16)
        vocabulary = Vocabulary.counted(counts, self.least_count)
        vocabulary.check_fits(self.vocabulary, "raise vocabulary or least_count")
        writer.notes["vocabulary"] = vocabulary.symbols
        for split, (sizes_of, labels_of) in sizes.items():
            shape = (*sizes_of.shape, int(sizes_of.max()))
            rows = self._ids(folder / _FILES[split], split, vocabulary, shape[2])
            writer.rows(f"{split}-tokens", shape, vocabulary.dtype, rows)
            writer.array(f"{split}-lengths", sizes_of)
            writer.array(f"{split}-labels", labels_of)
            writer.split(split, len(labels_of), labels=label_counts(labels_of))
            writer.source(folder / _FILES[split])

    def _ids(self, path: Path, split: str, vocabulary: Vocabulary, longest: int) -> Iterator[Int[ndarray, "2 tokens"]]:
        for _, _, texts in self._pairs(path, split):
            pair = np.zeros((2, longest), dtype=vocabulary.dtype)
            for row, text in zip(pair, texts, strict=True):
                ids = vocabulary.encode_characters(text)
                row[: len(ids)] = ids
            yield pair

    def _pairs(self, path: Path, split: str) -> Iterator[tuple[int, int, tuple[str, str]]]:
        """Line number, label and the two texts, cut to length."""
        if not path.is_file():
            raise DataError(
                f"Retrieval has three files, new_aan_pairs.{{train,eval,test}}.tsv: {path} is missing; {_remedy()}"
            )
        limit = self.train_limit if split == "train" else self.test_limit
        for kept, (number, fields) in enumerate(plain_columns(path, 5)):
            if limit and kept == limit:
                return
            label = whole_label(fields[0], CLASSES, path, number)
            first, second = (self._text(text, path, number)[: self.length - 1] for text in fields[3:])
            yield number, label, (first, second)

    def _text(self, text: str, path: Path, number: int) -> str:
        if text[:2] not in ("b'", 'b"'):
            return text
        if len(text) < 3 or text[-1] != text[1]:
            raise DataError(
                f"a text that starts as a bytes literal ends with its quote: {path}, line {number} is cut off; "
                "get the file again"
            )
        if self.literal == "keep":
            return text
        try:
            content = ast.literal_eval(text)
            return str(content.decode("utf-8", errors="replace"))
        except (ValueError, SyntaxError, AttributeError, MemoryError):
            raise DataError(
                f"a text that starts as a bytes literal must be one: {path}, line {number} is not; "
                "set literal to keep, or get the file again"
            ) from None


def find_release() -> Path:
    """The folder that holds ``new_aan_pairs.train.tsv``."""
    places = [f"{place}/{_FILES['train']}" for place in _PLACES]
    return find_data("Retrieval (AAN), new_aan_pairs.{train,eval,test}.tsv,", places, _remedy()).parent


def _remedy() -> str:
    return fetch_remedy("retrieval", _PLACES[0], known=False)
