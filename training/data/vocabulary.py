"""Symbols and their ids: ``<mask> <pad> <unk> <eos>`` first, so that the mask symbol is id 0 wherever ids are used.

A vocabulary is built once, from training data, and stored beside the prepared arrays: a reload cannot renumber it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from training.data.places import DataError, shown

SPECIALS = ("<mask>", "<pad>", "<unk>", "<eos>")
MASK, PAD, UNKNOWN, END = range(4)


@dataclass(frozen=True)
class Vocabulary:
    """All symbols in the order of their ids.

    >>> vocabulary = Vocabulary.of("ab")
    >>> vocabulary.encode("ba", "here").tolist(), vocabulary.encode("b?", "here", unknown=True).tolist()
    ([5, 4, 3], [5, 2, 3])
    >>> vocabulary.encode_characters("b?").tolist()
    [5, 2, 3]
    """

    symbols: tuple[str, ...]

    @classmethod
    def of(cls, symbols: Iterable[str]) -> Vocabulary:
        """The specials, then the symbols as given."""
        return cls((*SPECIALS, *symbols))

    @classmethod
    def counted(cls, counts: Counter[str], least: int) -> Vocabulary:
        """The specials, then every symbol that occurs ``least`` times, the commonest first (ties by code point)."""
        kept = sorted((symbol for symbol, count in counts.items() if count >= least), key=lambda s: (-counts[s], s))
        return cls.of(kept)

    def __len__(self) -> int:
        """Number of ids, specials included."""
        return len(self.symbols)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id of each symbol."""
        return {symbol: index for index, symbol in enumerate(self.symbols)}

    @property
    def dtype(self) -> str:
        """The smallest integers that hold every id."""
        return "uint8" if len(self) <= 256 else "int16"

    def encode(self, symbols: Sequence[str], where: str, *, unknown: bool = False) -> Int[ndarray, " tokens"]:
        """Ids with ``<eos>`` at the end; a symbol never seen becomes ``<unk>`` where allowed, else is refused."""
        ids = self.ids
        if unknown:
            found = [ids.get(symbol, UNKNOWN) for symbol in symbols]
        else:
            try:
                found = [ids[symbol] for symbol in symbols]
            except KeyError as error:
                raise DataError(
                    f"every symbol must be in the vocabulary: {where} has {shown(error.args[0])}, known are "
                    f"{' '.join(self.symbols[len(SPECIALS) :])[:80]}; correct the file"
                ) from None
        return np.array([*found, END])

    def encode_characters(self, text: str) -> Int[ndarray, " tokens"]:
        """``encode(text, unknown=True)`` for single-character symbols, by a table of code points."""
        points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        table = self._by_code_point
        return np.append(table[np.minimum(points, len(table) - 1)], END)

    @cached_property
    def _by_code_point(self) -> Int[ndarray, " points"]:
        """Id of each code point; the last entry stands for all that are greater."""
        points = [ord(symbol) for symbol in self.symbols[len(SPECIALS) :]]
        table = np.full(max(points, default=0) + 2, UNKNOWN, dtype=np.int32)
        table[points] = np.arange(len(SPECIALS), len(self))
        return table

    def check_fits(self, size: int, remedy: str) -> None:
        """Refuse a vocabulary that is larger than the network's table."""
        if len(self) > size:
            raise DataError(f"the vocabulary must fit the network: {len(self)} symbols, room for {size}; {remedy}")
