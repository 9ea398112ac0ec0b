"""The paper's norms and distances of weights against each other, against default initial weights, and its averages.

Checked by ``tests/paper_figures/test_errata.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from paper_figures.reported import reported
from paper_figures.weights import ATTENTION, PAIRS, TABLES


def mean_norm(rows: int, columns: int, *, bias: bool = True) -> float:
    """Root mean square of the Frobenius norm of a linear map at PyTorch's default: uniform within ±1/√columns.

    >>> round(mean_norm(128, 128), 2), round(mean_norm(512, 128), 2)
    (6.56, 13.11)
    """
    return math.sqrt((rows * columns + bias * rows) / (3 * columns))


def feedforward_norm(width: int, hidden: int) -> float:
    """The same of both maps of a feed-forward block.

    >>> round(feedforward_norm(128, 128), 2), round(feedforward_norm(128, 512), 2)
    (9.27, 14.65)
    """
    return math.hypot(mean_norm(hidden, width), mean_norm(width, hidden))


def chance_of_equal_norms(width: int, digit: float = 0.01) -> float:
    """Probability that four independent maps have the same norm to ``digit``, from the normal law of a norm.

    The norm of n uniform numbers within ±a has the standard deviation a √(n/3) √(0.8/(4n)), and four normal numbers of
    deviation σ agree within δ with probability (δ/(σ√(2π)))³ / 2.
    """
    count = width * width
    deviation = math.sqrt(count / (3 * width)) * math.sqrt(0.8 / (4 * count))
    return float((digit / (deviation * math.sqrt(2 * math.pi))) ** 3 / 2)


def equal_norms() -> dict[str, tuple[int, int]]:
    """By task: in how many attention blocks Q, K, V and O have one norm at initialisation, and of how many."""
    found = {}
    for task, number in TABLES.items():
        said = reported(f"table{number}")
        blocks = [id.split()[0] for id in said if id.endswith(" query")]
        norms = [{said[f"{block} {name}"].value["norm R"] for name in ATTENTION} for block in blocks]
        found[task] = (sum(len(one) == 1 for one in norms), len(norms))
    return found


def triangles() -> tuple[int, list[str]]:
    """Triangle inequalities between the four stages, norms included: how many there are, and which fail."""
    count, failing = 0, []
    for number in TABLES.values():
        for id, statement in reported(f"table{number}").items():
            value = statement.value
            sides = {frozenset(pair.split(">")): value[pair] for pair in PAIRS}
            sides |= {frozenset(("0", stage)): value[f"norm {stage}"] for stage in ("R", "SPT", "SC", "FT")}
            for pair, side in sides.items():
                one, other = sorted(pair)
                for third in {"0", "R", "SPT", "SC", "FT"} - pair:
                    first, second = (sides.get(frozenset((end, third))) for end in (one, other))
                    if first is None or second is None:
                        continue
                    count += 1
                    if side > first + second + 0.015:  # three numbers, each rounded to .01
                        failing.append(f"Table {number}, {id}: {one}, {other}, {third}")
    return count, failing


def wrong_sums() -> tuple[int, list[str]]:
    """Rows "MLP All" against the root of the sum of squares of Up and Down: how many there are, and which fail."""
    count, failing = 0, []
    for number in TABLES.values():
        said = reported(f"table{number}")
        for id in [id for id in said if id.endswith(" mlp")]:
            for name, value in said[id].value.items():
                count += 1
                if abs(math.hypot(*(said[f"{id}-{way}"].value[name] for way in ("up", "down"))) - value) > 0.0125:
                    failing.append(f"Table {number}, {id}, {name}")
    return count, failing


def farther_from_labels() -> list[tuple[int, str, float, float, float]]:
    """Rows in which labels alone moved a component at least as far as SPT or as both stages: table, row, distances."""
    found = []
    for number in TABLES.values():
        for id, statement in reported(f"table{number}").items():
            one, spt, both = (statement.value[pair] for pair in ("R>SC", "R>SPT", "R>FT"))
            if one >= spt or one >= both:
                found.append((number, id, one, spt, both))
    return found


def averages() -> tuple[Sequence[float], Sequence[float]]:
    """Table 6: the mean of the four deviations, and the deviation of an average of independent runs, by column."""
    said = reported("table06")
    sets = [name for name in said if isinstance(said[name].value, dict) and name != "average"]
    columns = [[said[name].value[f"{column}_deviation"] for name in sets] for column in ("scratch", "spt")]
    return [sum(c) / len(c) for c in columns], [math.sqrt(sum(d * d for d in c)) / len(c) for c in columns]
