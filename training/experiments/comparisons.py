"""Paired comparisons over the runs table of an experiment: one number a seed.

Conditions share data, initial weights and order within a seed, so a difference within a seed is paired.
"""

from __future__ import annotations

import polars

from training.errors import MissingRecord

BySeed = dict[int, float]
#: Share of the gain of self-pretraining that "carries the gain" means at least.
CARRIED = 0.5


def by_seed(runs: polars.DataFrame, condition: str, rate: float | None, value: str) -> BySeed:
    """One value of every seed; ``rate=None`` takes the rate whose mean over seeds is best.

    A run that diverged has no value where its summary is not finite; such a seed is left out.
    """
    if rate is None:
        rate = best_rate(runs, condition, value)
    chosen = runs.filter((polars.col("condition") == condition) & (polars.col("learning_rate") == rate))
    values = chosen.select("seed", polars.col(value).cast(polars.Float64).fill_nan(None)).drop_nulls().sort("seed")
    if values.is_empty():
        raise MissingRecord(
            f"a record must hold what is measured: no {value} of {condition} at rate {rate:g}; run the experiment again"
        )
    return dict(values.iter_rows())


def best_rate(runs: polars.DataFrame, condition: str, value: str) -> float:
    """The learning rate with the greatest mean over seeds (least for losses), the smaller one in a tie."""
    means = (
        runs.filter(polars.col("condition") == condition)
        .group_by("learning_rate")
        .agg(polars.col(value).mean())
        .drop_nulls()
        .sort(value, "learning_rate", descending=[not value.endswith("loss"), False])
    )
    if means.is_empty():
        raise MissingRecord(f"a record must hold what is measured: no {value} of {condition}; run the experiment again")
    return float(means["learning_rate"][0])


def difference(one: BySeed, other: BySeed) -> BySeed:
    """``one - other`` within each seed that both have.

    >>> difference({0: 0.5, 1: 1.0}, {1: 0.25, 2: 0.0})
    {1: 0.75}
    """
    return {seed: one[seed] - other[seed] for seed in one if seed in other}


def gain(
    runs: polars.DataFrame, value: str, rate: float | None, condition: str = "spt-finetune", base: str = "scratch"
) -> BySeed:
    """What a condition adds to another, at one rate or each at its best rate."""
    return difference(by_seed(runs, condition, rate, value), by_seed(runs, base, rate, value))


def excess_share(runs: polars.DataFrame, condition: str, rate: float, value: str = "final_test_accuracy") -> BySeed:
    """Gain of a condition minus half the gain of self-pretraining: positive where it carries the gain."""
    part, whole = gain(runs, value, rate, condition), gain(runs, value, rate)
    return {seed: part[seed] - CARRIED * whole[seed] for seed in part if seed in whole}


def most_gaining_rate(runs: polars.DataFrame, value: str = "final_test_accuracy") -> float:
    """The rate at which self-pretraining adds most on average."""
    rates = runs.filter(polars.col("condition") == "scratch")["learning_rate"].unique().sort().to_list()
    means = {rate: sum(found.values()) / len(found) for rate in rates if (found := gain(runs, value, rate))}
    return max(means, key=lambda rate: means[rate])
