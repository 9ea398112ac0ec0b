"""Is a generated set like a third-party one? Stated two-sample tests on statistics of whole samples.

Labels: chi-square test of homogeneity.  Everything else is one number a sample (length, share of operators, ink,
...), compared by the Kolmogorov-Smirnov statistic.  Samples are independent, tokens within one are not, so no test
counts tokens. With ``m`` tests the two sets are called alike when no p-value is below ``0.01 / m`` (Bonferroni); the
tests show that this rejects a law that is slightly off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray
from scipy import ndimage, stats

from training.data.listops_generator import CLOSE, OPERATORS

#: Chance that two sets of one law are called unlike.
LEVEL = 0.01

Statistics = Mapping[str, Float[ndarray, "..."]]


@dataclass(frozen=True)
class Comparison:
    """One statistic of two sets."""

    statistic: str
    means: tuple[float, float]
    """Mean over the samples of each set."""
    distance: float
    """Kolmogorov-Smirnov distance, or Cramér's V for labels."""
    p_value: float


def compare(first: Statistics, second: Statistics) -> list[Comparison]:
    """Every statistic of two sets; ``label`` by counts, the others by their distribution functions."""
    return [_compare(name, np.asarray(first[name]), np.asarray(second[name])) for name in first]


def alike(comparisons: Sequence[Comparison]) -> bool:
    """Whether no statistic tells the sets apart at the level, corrected for their number."""
    return all(item.p_value >= LEVEL / len(comparisons) for item in comparisons)


def _compare(name: str, one: ndarray, two: ndarray) -> Comparison:
    means = float(one.mean()), float(two.mean())
    if name != "label":
        found = stats.ks_2samp(one, two)
        return Comparison(name, means, float(found.statistic), float(found.pvalue))
    labels = np.union1d(one, two)
    table = np.array([[np.sum(side == label) for label in labels] for side in (one, two)])
    found = stats.chi2_contingency(table, correction=False)
    return Comparison(name, means, float(np.sqrt(found.statistic / table.sum())), float(found.pvalue))


def listops_statistics(rows: Sequence[tuple[Sequence[str], int]]) -> Statistics:
    """Label, length, depth, share of each kind of token and mean digit of every row."""
    found: dict[str, list[float]] = {}
    for tokens, label in rows:
        depth = np.cumsum([(token in OPERATORS) - (token == CLOSE) for token in tokens])
        digits = [int(token) for token in tokens if token.isdecimal()]
        values = {"label": label, "length": len(tokens), "depth": depth.max(), "mean digit": np.mean(digits)}
        values |= {f"share of {name}": sum(token == name for token in tokens) / len(tokens) for name in OPERATORS}
        for name, value in values.items():
            found.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in found.items()}


def pathfinder_statistics(images: UInt8[ndarray, "images size size"], labels: ndarray, radius: int = 1) -> Statistics:
    """Label, ink, length of all curves, brightness, ink at the border, and distance between the dots of every image.

    Length of curves: pixels above a quarter of full brightness, the dots included.  The dots are the two brightest
    ``2 radius + 1`` squares by their darkest pixel.
    """
    values = images.astype(float) / 255
    dots = np.array([_dot_distance(image, radius) for image in values])
    border = np.concatenate([values[:, 0], values[:, -1], values[:, :, 0], values[:, :, -1]], 1)
    return {
        "label": np.asarray(labels, dtype=float),
        "ink": values.mean((1, 2)),
        "path length": (values > 0.25).sum((1, 2)).astype(float),
        "bright pixels": (values > 0.7).sum((1, 2)).astype(float),
        "border ink": border.mean(1),
        "dot distance": dots,
    }


def _dot_distance(image: ndarray, radius: int) -> float:
    solid = ndimage.minimum_filter(image, 2 * radius + 1, mode="constant")
    first = np.unravel_index(solid.argmax(), solid.shape)
    rows, columns = np.ogrid[: len(image), : len(image)]
    away = (rows - first[0]) ** 2 + (columns - first[1]) ** 2
    second = np.unravel_index(np.where(away > (2 * radius) ** 2, solid, 0).argmax(), solid.shape)
    return float(np.hypot(first[0] - second[0], first[1] - second[1]))
