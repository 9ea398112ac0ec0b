"""ListOps (appendix A.1): nested list operations, value 0..9, up to 2048 tokens.

Rows are read by column *name* (the original ListOps has ``Target`` first), with LF or CRLF line ends.  Parentheses are
dropped, closing brackets kept as one symbol (losing them is a known fault of loaders, LRA #6, #14, #20), ``<eos>`` is
appended.  Every label must be the value of its expression, which shows rows that were cut off or lost their brackets.
The vocabulary is fixed: ``<mask> <pad> <unk> <eos>``, four operators, ``]`` and ten digits, 19 ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Integer
from numpy import ndarray

from training.config import configuration, setting
from training.data import listops_generator
from training.data.listops_generator import CLOSE, OPERATORS, ListOpsLaw, evaluate
from training.data.places import DataError, fetch_remedy, find_data, lra_places
from training.data.prepared import Prepared, Writer, load_prepared
from training.data.sequences import TaskData
from training.data.splits import SPLIT_SEED, limited, random_split, tenths
from training.data.tables import named_columns, whole_label
from training.data.vocabulary import Vocabulary

CLASSES = 10
VOCABULARY = Vocabulary.of((*sorted(OPERATORS), CLOSE, *map(str, range(10))))
SOURCES = ("release", "generated", "nangia-bowman")
_PLACES = ("listops/listops-1000", "listops", *lra_places("listops-1000"))
_FILES = {"train": "basic_train.tsv", "validation": "basic_val.tsv", "test": "basic_test.tsv"}

#: Ids and label.
_Row = tuple[Integer[ndarray, "..."], int]


@configuration
@dataclass(frozen=True)
class ListOpsTask:
    """Nested list operations; the release, a set made here by the same law, or the short original."""

    source: str = setting("release", "paper, A.1")
    """release: basic_{train,val,test}.tsv; generated: made here by ``law``; nangia-bowman: 10,000 short rows."""
    law: ListOpsLaw = field(default_factory=ListOpsLaw)
    """Law of source generated (not read otherwise)."""
    length: int = setting(2048, "paper, A.1")
    """Most tokens of a sequence, end symbol included."""
    too_long: str = setting("refuse", "ours: a cut expression has another value; no row of the release is too long")
    """What happens to longer rows: refuse, or drop."""
    split_seed: int = setting(SPLIT_SEED, "ours: the original test set comes without splits")
    """Seed of the 80/10/10 split of source nangia-bowman; the release has fixed splits."""
    train_limit: int = 0
    """Training rows kept; 0 for all."""
    test_limit: int = 0
    """Validation and test rows kept, each; 0 for all."""

    def __post_init__(self) -> None:
        """Refuse unknown choices."""
        if self.source not in SOURCES:
            raise DataError(f"unknown source: {self.source!r}; use one of {', '.join(SOURCES)}")
        if self.too_long not in ("refuse", "drop"):
            raise DataError(f"unknown too_long: {self.too_long!r}; use refuse or drop")

    @property
    def name(self) -> str:
        """Short name, used in run names."""
        return "listops"

    def model_shape(self) -> dict[str, int]:
        """What the network must fit."""
        return {"vocabulary": len(VOCABULARY), "classes": CLASSES}

    def find(self) -> Path | None:
        """Where the rows are; None for a set that is made here."""
        if self.source == "generated":
            return None
        return find_release() if self.source == "release" else find_original()

    def load(self) -> TaskData:
        """All splits; ids stay bytes on disk, mapped into memory."""
        return load_prepared(self)

    def read(self, prepared: Prepared) -> TaskData:
        """The splits of prepared arrays."""
        return prepared.task_data(CLASSES)

    def write(self, writer: Writer) -> None:
        """Read or make the rows, check them, write ids."""
        writer.notes["vocabulary"] = VOCABULARY.symbols
        if self.source == "generated":
            made: dict[str, list[_Row]] = {split: [] for split in _FILES}
            for split, tokens, value in listops_generator.rows(self.law):
                made[split].append((VOCABULARY.encode(tokens, "a generated row").astype(np.uint8), value))
            for split, rows in made.items():
                self._write_split(writer, split, rows, rows, seed=self.law.seed)
        elif self.source == "release":
            folder = find_release()
            for split, name in _FILES.items():
                path = folder / name
                self._write_split(writer, split, self._rows(path), self._rows(path, evaluated=True))
                writer.source(path)
        else:
            path = find_original()
            whole = list(self._rows(path))
            for split, index in random_split(tenths(len(whole)), self.split_seed).items():
                part = [whole[row] for row in index]
                self._write_split(writer, split, part, part, seed=self.split_seed)
            writer.source(path)

    def _rows(self, path: Path, evaluated: bool = False) -> Iterator[_Row]:
        """Ids and label of every row; that the label is the expression's value was seen before where ``evaluated``."""
        if not path.is_file():
            raise DataError(f"ListOps has three files: {path} is missing; {_remedy()}")
        number = 0
        for number, (source, target) in named_columns(path, ("Source", "Target")):
            label, symbols = whole_label(target, CLASSES, path, number), read_source(source)
            ids = VOCABULARY.encode(symbols, f"{path}, line {number}").astype(np.uint8)
            if len(ids) > self.length and self.too_long == "refuse":
                raise DataError(
                    f"a row has at most {self.length} tokens: {path}, line {number} has {len(ids)}; "
                    "raise length, or set too_long to drop"
                )
            if not evaluated:
                _check_value(symbols, label, f"{path}, line {number}")
            if len(ids) <= self.length:
                yield ids, label
        if not number:
            raise DataError(f"a ListOps file needs rows: {path} has only a header; get the file again")

    def _write_split(
        self,
        writer: Writer,
        split: str,
        rows: Iterable[_Row],
        again: Iterable[_Row],
        seed: int | None = None,
    ) -> None:
        """Two passes over the rows: sizes first, then (``again``) one row at a time to disk."""
        limit = self.train_limit if split == "train" else self.test_limit
        lengths, labels = [], []
        for ids, label in rows:
            lengths.append(len(ids))
            labels.append(label)
        kept = len(limited(np.arange(len(lengths)), limit))
        if not kept:
            raise DataError(f"a split needs rows: {split} has none of at most {self.length} tokens; raise length")
        longest = max(lengths[:kept])
        tokens = (ids for (ids, _), _ in zip(again, range(kept), strict=False))
        writer.rows(f"{split}-tokens", (kept, longest), VOCABULARY.dtype, tokens)
        writer.array(f"{split}-lengths", np.array(lengths[:kept], dtype=np.int32))
        writer.array(f"{split}-labels", np.array(labels[:kept], dtype=np.int16))
        counts = {str(label): count for label, count in sorted(Counter(labels[:kept]).items())}
        writer.split(split, kept, seed=seed, labels=counts)


_NANGIA = ("listops/nangia_bowman/test_d20s.tsv", "nangia_bowman/test_d20s.tsv", "listops/test_d20s.tsv")


def find_release() -> Path:
    """The folder that holds ``basic_train.tsv``."""
    places = [f"{place}/basic_train.tsv" for place in _PLACES]
    return find_data("ListOps, basic_{train,val,test}.tsv,", places, _remedy()).parent


def find_original() -> Path:
    """The test set of the original ListOps."""
    return find_data("the original ListOps test set", _NANGIA, "put test_d20s.tsv under listops/nangia_bowman")


def _remedy() -> str:
    return fetch_remedy("listops", _PLACES[0], known=False) + ", or use listops-generated, which is made here"


def _check_value(symbols: Sequence[str], label: int, where: str) -> None:
    value = evaluate(symbols)
    if value is None:
        raise DataError(
            f"a row needs an expression: {where} is no expression, it may be cut off or have lost its brackets; "
            "get the file again"
        )
    if value != label:
        raise DataError(
            f"a label is the value of its expression: {where} says {label}, the expression has {value}; "
            "get the file again"
        )


def read_source(source: str) -> list[str]:
    """The tokens of a ``Source`` column: parentheses dropped, brackets kept.

    >>> read_source("( ( ( [MAX 2 ) 9 ) ] )")
    ['[MAX', '2', '9', ']']
    """
    return [symbol for symbol in source.split() if symbol not in "()"]


def short_listops(train: int = 8000, longest: int = 256, seed: int = 0, held_out: int = 1000) -> ListOpsTask:
    """A generated set of short rows, for laptops: the same law between 16 and ``longest`` tokens."""
    law = ListOpsLaw(train, held_out, held_out, more_than=16, less_than=longest, seed=seed)
    return ListOpsTask(source="generated", law=law)
