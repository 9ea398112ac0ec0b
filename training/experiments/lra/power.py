"""What an experiment could show at all, said before it is run.

A paired gain of n seeds has the standard deviation s / sqrt(n) of its mean.  Before the run s is not known; sampling of
the test set alone gives two independent networks ``sqrt(2 p (1 - p) / m)`` at accuracy p on m sequences.  Networks that
share seed and test set err together, so this is a planning value (the greatest possible at p = 1/2), not a bound on
what initial weights add; the minimum detectable effect beside each verdict is computed from the runs themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from training.data.image import ImageTask
from training.data.listops import ListOpsTask
from training.data.pathfinder import PathFinderTask
from training.data.retrieval import RetrievalTask
from training.data.splits import tenths
from training.data.text import TextTask
from training.experiments.experiment import Scale
from training.predictions.statistics import detectable_shift
from training.recipes.recipe import Recipe

#: From a scale, the recipes that an experiment uses.
Recipes = Callable[[Scale], list[Recipe]]
#: A gain of accuracy that cannot be.
_GREATEST = 0.5
#: Test sequences of the releases.
_RELEASED = {ListOpsTask: 2000, TextTask: 25_000, RetrievalTask: 17_437, ImageTask: 10_000}


def test_sequences(found: Recipe) -> int:
    """Sequences on which accuracy is measured; known without the data."""
    task = found.task
    if isinstance(task, ListOpsTask) and task.source == "generated":
        whole = task.law.test
    elif isinstance(task, PathFinderTask):
        whole = tenths(task.images)["test"]
    else:
        whole = _RELEASED[type(task)]
    limit = task.test_limit
    return min(whole, limit) if limit else whole


def smallest_effect(sequences: int, seeds: int, accuracy: float = 0.5) -> float:
    """Paired gain that a two-sided t test finds with power .8, from the sampling of the test set alone.

    >>> round(smallest_effect(2000, 6), 3)
    0.023
    """
    deviation = math.sqrt(2 * accuracy * (1 - accuracy) / sequences)
    return detectable_shift(seeds) * deviation / math.sqrt(seeds)


def power_statement(recipes: Recipes, scale: Scale) -> list[str]:
    """One line a data set."""
    lines = []
    for found in recipes(scale):
        sequences, seeds = test_sequences(found), len(found.seeds)
        effect = smallest_effect(sequences, seeds) if seeds > 1 else math.inf
        if effect > _GREATEST:
            lines.append(f"{found.dataset}: {seeds} seeds on {sequences} test sequences can show no effect")
            continue
        few = "" if seeds >= 6 else "; fewer than 6 seeds decide nothing"
        lines.append(
            f"{found.dataset}: {seeds} seeds on {sequences} test sequences could show a gain of {effect:.3f} "
            f"(power .8, sampling alone){few}"
        )
    return lines
