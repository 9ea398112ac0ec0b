"""ListOps as the Long-Range Arena defines it: nested MIN, MAX, MED and SM over digits, made here without download.

A node above the greatest depth is an operator with probability 1/4, of 2..10 arguments, otherwise a digit; a sequence
is kept when its length (brackets counted, parentheses not) lies strictly between the bounds.  All rows of all splits
are distinct.  ``MED`` is the median truncated to an integer, ``SM`` the sum modulo 10.  ``evaluate`` reads tokens
with a stack and shares nothing with the recursion that makes them; the tests hold both against third-party rows.
"""

from __future__ import annotations

import csv
import hashlib
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from training.config import configuration, setting
from training.data.places import DataError

OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")
CLOSE = "]"
_LRA = "LRA: lra_benchmarks/data/listops.py"


@configuration
@dataclass(frozen=True)
class ListOpsLaw:
    """The law of a generated set."""

    train: int = setting(96_000, _LRA)
    """Training rows."""
    validation: int = setting(2000, _LRA)
    """Validation rows."""
    test: int = setting(2000, _LRA)
    """Test rows."""
    more_than: int = setting(500, _LRA)
    """Sequences are longer than this, without parentheses and end symbol."""
    less_than: int = setting(2000, _LRA)
    """Sequences are shorter than this."""
    greatest_depth: int = setting(10, _LRA)
    """Nodes at this depth (the root has 1) are digits."""
    most_arguments: int = setting(10, _LRA)
    """Arguments of an operator: uniform on 2 .. this."""
    operator_share: float = setting(0.25, _LRA)
    """Probability that a node is an operator."""
    seed: int = 0
    """Seed of the rows."""

    def __post_init__(self) -> None:
        """Refuse laws that have no rows."""
        if min(self.train, self.validation, self.test) < 1:
            raise DataError(f"every split needs rows: {self.train}, {self.validation}, {self.test}; use at least 1")
        if not 0 <= self.more_than < self.less_than - 1:
            raise DataError(
                f"lengths must lie between bounds: more than {self.more_than}, less than {self.less_than} leaves none; "
                "use 500 and 2000"
            )
        if self.greatest_depth < 2 or self.most_arguments < 2 or not 0 < self.operator_share < 1:
            raise DataError("operators need depth 2, two arguments and a share in (0, 1); use 10, 10 and .25")
        longest = 1
        for _ in range(self.greatest_depth - 1):
            longest = 2 + self.most_arguments * longest
        if longest <= self.more_than:
            raise DataError(
                f"the law must have rows: the longest has {longest} tokens, more than {self.more_than} are asked for; "
                "lower more_than or raise the depth"
            )


def rows(law: ListOpsLaw) -> Iterator[tuple[str, list[str], int]]:
    """Split, tokens (brackets kept, no parentheses) and value of every row: train, then validation, then test."""
    source, seen = random.Random(law.seed), set[bytes]()
    for split, count in (("train", law.train), ("validation", law.validation), ("test", law.test)):
        made = refused = 0
        while made < count:
            tokens, value = _draw(law, source)
            refused += 1
            if not law.more_than < len(tokens) < law.less_than:
                if refused > 1_000_000:
                    raise DataError(f"the law must have rows: none in {refused} draws; widen the bounds on length")
                continue
            digest = hashlib.blake2b(" ".join(tokens).encode(), digest_size=12).digest()
            if digest not in seen:
                seen.add(digest)
                made, refused = made + 1, 0
                yield split, tokens, value


def _draw(law: ListOpsLaw, source: random.Random) -> tuple[list[str], int]:
    """Tokens and value of one tree; given up, and returned too long, as soon as it must become too long."""
    tokens: list[str] = []
    open_nodes: list[
        tuple[int, int, list[int]]
    ] = []  # place of the operator, its arguments in all, their values so far
    while len(tokens) + len(open_nodes) < law.less_than:
        if len(open_nodes) + 1 < law.greatest_depth and source.random() <= law.operator_share:
            open_nodes.append((len(tokens), source.randint(2, law.most_arguments), []))
            tokens.append("")
            continue
        value = source.randrange(10)
        tokens.append(str(value))
        while open_nodes:
            place, count, values = open_nodes[-1]
            values.append(value)
            if len(values) < count:
                break
            open_nodes.pop()
            tokens[place] = source.choice(OPERATORS)
            tokens.append(CLOSE)
            value = apply(tokens[place], values)
        else:
            return tokens, value
    return tokens + [CLOSE] * len(open_nodes), 0


def apply(operator: str, arguments: Sequence[int]) -> int:
    """The value of one operator.

    >>> apply("[MED", [1, 2, 4, 9]), apply("[SM", [9, 9])
    (3, 8)
    """
    if operator == "[MIN":
        return min(arguments)
    if operator == "[MAX":
        return max(arguments)
    if operator == "[MED":
        return int(statistics.median(arguments))
    return sum(arguments) % 10


def evaluate(tokens: Sequence[str]) -> int | None:
    """The value of a sequence, None where it is no expression.

    >>> evaluate("[MAX 2 [SM 9 4 ] ]".split()), evaluate("[MAX 2".split())
    (3, None)
    """
    open_nodes: list[tuple[str, list[int]]] = [("", [])]
    for token in tokens:
        if token in OPERATORS:
            open_nodes.append((token, []))
        elif token.isdecimal():
            open_nodes[-1][1].append(int(token))
        elif token == CLOSE and len(open_nodes) > 1 and open_nodes[-1][1]:
            operator, arguments = open_nodes.pop()
            open_nodes[-1][1].append(apply(operator, arguments))
        else:
            return None
    (_, values), *unfinished = open_nodes
    return values[0] if len(values) == 1 and not unfinished else None


def with_parentheses(tokens: Sequence[str]) -> str:
    """The binary tree of the release's ``Source`` column.

    >>> with_parentheses("[MAX 2 9 ]".split())
    '( ( ( [MAX 2 ) 9 ) ] )'
    """
    stack: list[list[str]] = [[]]
    for token in tokens:
        if token in OPERATORS:
            stack.append([token])
            continue
        if token == CLOSE:
            text, *rest = [*stack.pop(), token]
            for part in rest:
                text = f"( {text} {part} )"
            token = text
        stack[-1].append(token)
    return stack[0][0]


def write_release(law: ListOpsLaw, folder: Path, progress: Callable[[int], None] = lambda done: None) -> None:
    """Write ``basic_{train,val,test}.tsv`` as the release has them (header, CRLF); ``progress`` gets the rows done."""
    with ExitStack() as stack:
        writers = {}
        for split, name in (("train", "basic_train.tsv"), ("validation", "basic_val.tsv"), ("test", "basic_test.tsv")):
            file = stack.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
            writers[split] = csv.writer(file, delimiter="\t")
            writers[split].writerow(["Source", "Target"])
        for done, (split, tokens, value) in enumerate(rows(law), start=1):
            writers[split].writerow([with_parentheses(tokens), value])
            progress(done)
