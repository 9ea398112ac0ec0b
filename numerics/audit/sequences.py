"""Sequences as rows of L numbers, in chunks: one row a feature, or one row a distinct symbol of a sequence.

Symbols are embedded one-hot without an N x L x V array: a symbol that a sequence does not hold has no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from numerics.inputs import SymbolData, TokenData

#: Numbers in the rows of one chunk: 32 MiB of float64.
CHUNK_NUMBERS = 2**22

#: Groups of sequences over which curves get their intervals.
GROUPS = 16


@dataclass(frozen=True)
class Layout:
    """Which rows belong together: numbers of the sequences, where the rows of each begin, the feature of every row."""

    members: Int64[np.ndarray, " N"]
    starts: Int64[np.ndarray, " N"]
    features: Int64[np.ndarray, " rows"]

    def total(self, of_rows: Float64[np.ndarray, " rows"]) -> Float64[np.ndarray, " N"]:
        """Sum of a number a row over the rows of every sequence."""
        return np.asarray(np.add.reduceat(of_rows, self.starts))


@dataclass(frozen=True)
class Chunk:
    """The rows of some sequences."""

    rows: Float64[np.ndarray, "rows L"]
    layout: Layout


class Sequences:
    """Float tokens or symbols, whichever the file holds.

    >>> held = Sequences(SymbolData("two", np.array([[0, 1, 0], [2, 2, 2]]), None))
    >>> held.chunk(np.array([0, 1])).rows.tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """

    def __init__(self, data: TokenData | SymbolData) -> None:
        self.data = data
        self.symbolic = isinstance(data, SymbolData)
        shape = data.symbols.shape if isinstance(data, SymbolData) else data.tokens.shape
        self.count, self.length = int(shape[0]), int(shape[1])
        self.width = data.vocabulary if isinstance(data, SymbolData) else int(shape[2])

    @property
    def groups(self) -> int:
        return min(GROUPS, self.count)

    def chunk(self, members: Int64[np.ndarray, " N"]) -> Chunk:
        """The rows of some sequences."""
        if isinstance(self.data, SymbolData):
            return self._one_hot(self.data.symbols[members], members)
        tokens = self.data.tokens[members]
        rows = np.ascontiguousarray(tokens.swapaxes(1, 2)).reshape(-1, self.length)
        starts = np.arange(len(members)) * self.width
        return Chunk(rows, Layout(members, starts, np.tile(np.arange(self.width), len(members))))

    def _one_hot(self, symbols: np.ndarray, members: np.ndarray) -> Chunk:
        keys = symbols + self.width * np.arange(len(symbols))[:, None]
        distinct, place = np.unique(keys, return_inverse=True)
        rows = np.zeros((len(distinct), self.length))
        rows[place.reshape(symbols.shape), np.arange(self.length)] = 1.0
        owner = distinct // self.width
        starts = np.searchsorted(owner, np.arange(len(symbols)))
        return Chunk(rows, Layout(members, starts, distinct % self.width))

    def chunks(self) -> Iterator[tuple[int, Chunk]]:
        """Every sequence once, with the number of its group; groups are interleaved, so that order does not matter."""
        at_most = min(self.width, self.length) if self.symbolic else self.width
        step = max(1, CHUNK_NUMBERS // (at_most * self.length))
        for group in range(self.groups):
            members = np.arange(group, self.count, self.groups)
            for first in range(0, len(members), step):
                yield group, self.chunk(members[first : first + step])

    def dense(self, members: Int64[np.ndarray, " N"]) -> Float64[np.ndarray, "N L d"]:
        """Tokens of a few sequences as one array; symbols one-hot over those that occur in them."""
        if isinstance(self.data, TokenData):
            return self.data.tokens[members]
        distinct, place = np.unique(self.data.symbols[members], return_inverse=True)
        return np.asarray(np.eye(len(distinct))[place.reshape(len(members), self.length)])

    def record(self) -> dict[str, object]:
        """Name and sizes, for the report."""
        labels = self.data.labels
        return {
            "name": self.data.name,
            "sequences": self.count,
            "length": self.length,
            "width": self.width,
            "embedding": "one-hot" if self.symbolic else "as given",
            "classes": None if labels is None else int(labels.max()) + 1,
        }
