"""What predictions measure: one number a seed, read from kept tables."""

from __future__ import annotations

import math

import polars

from training.errors import MissingRecord
from training.experiments.comparisons import BySeed, by_seed, difference
from training.predictions.prediction import Measure, Records

#: Test accuracy that counts as having converged (the labels' own noise leaves more within reach).
CONVERGED = 0.8


def probe(condition: str, column: str, rate: float | None = None, step: int | None = None) -> Measure:
    """A column of the probes of a condition: at a step, or at the last one; ``rate=None`` where it has one rate."""

    def measure(records: Records) -> BySeed:
        rows = records.table("toy-probes/probes.csv").filter(polars.col("condition") == condition)
        if rate is not None:
            rows = rows.filter(polars.col("learning_rate") == rate)
        wanted = rows["step"].max() if step is None else step
        rows = rows.filter(polars.col("step") == wanted) if wanted is not None else rows
        return unique_by_seed(rows, column, f"{column} of {condition} at step {wanted!r}")

    return measure


def minus(one: Measure, other: Measure) -> Measure:
    """Difference within seeds."""
    return lambda records: difference(one(records), other(records))


def log_ratio(one: Measure, other: Measure) -> Measure:
    """Decimal logarithm of the ratio within seeds."""

    def measure(records: Records) -> BySeed:
        top, bottom = one(records), other(records)
        return {seed: math.log10(top[seed] / bottom[seed]) for seed in top if seed in bottom}

    return measure


def greatest(*measures: Measure) -> Measure:
    """The measure with the greatest mean over seeds (of controls: the hardest to beat)."""
    return lambda records: max((one(records) for one in measures), key=lambda found: sum(found.values()) / len(found))


def run_value(experiment: str, condition: str, value: str, rate: float | None) -> Measure:
    """A summary value of a condition at a rate, or at its best rate."""
    return lambda records: by_seed(records.table(f"{experiment}/runs.csv"), condition, rate, value)


def run_gain(
    experiment: str, value: str, rate: float | None, condition: str = "spt-finetune", base: str = "scratch"
) -> Measure:
    """What a condition adds to another."""
    return minus(run_value(experiment, condition, value, rate), run_value(experiment, base, value, rate))


def share_of_gain(condition: str, rate: float, carried: float, value: str = "final_test_accuracy") -> Measure:
    """Gain of a condition minus a share of the whole gain of self-pretraining (toy-parts)."""

    def measure(records: Records) -> BySeed:
        part = run_gain("toy-parts", value, rate, condition)(records)
        whole = run_gain("toy-parts", value, rate)(records)
        return {seed: part[seed] - carried * whole[seed] for seed in part if seed in whole}

    return measure


def epochs_to_converge(condition: str, rate: float) -> Measure:
    """First epoch with a test accuracy of CONVERGED; one more than the last epoch where it never comes."""

    def measure(records: Records) -> BySeed:
        curves = records.table("toy-fig4/epochs.csv").filter(
            (polars.col("condition") == condition) & (polars.col("learning_rate") == rate)
        )
        reached = polars.col("epoch").filter(polars.col("test_accuracy") >= CONVERGED).min()
        rows = curves.group_by("seed").agg(polars.coalesce(reached, polars.col("epoch").max() + 1).alias("epochs"))
        return unique_by_seed(rows, "epochs", f"curves of {condition} at rate {rate:g}")

    return measure


def weights(pair: str, component: str, column: str, rate: float | None = None) -> Measure:
    """A column of the displacement table of toy-probes."""

    def measure(records: Records) -> BySeed:
        rows = records.table("toy-probes/weights.csv").filter(
            (polars.col("pair") == pair) & (polars.col("component") == component)
        )
        if rate is not None:
            rows = rows.filter(polars.col("learning_rate") == rate)
        return unique_by_seed(rows, column, f"{column} of {component} in {pair}")

    return measure


def weight_deviation(state: str, matrix: str) -> Measure:
    """Standard deviation of the entries of a matrix (toy-fig6)."""

    def measure(records: Records) -> BySeed:
        rows = records.table("toy-fig6/moments.csv").filter(
            (polars.col("state") == state) & (polars.col("matrix") == matrix)
        )
        return unique_by_seed(rows, "deviation", f"moments of {matrix} at {state}")

    return measure


def claim_of_variant(variant: str, claim: str) -> Measure:
    """A claim's number under one free choice, on fresh seeds (toy-conditions-fresh)."""

    def measure(records: Records) -> BySeed:
        rows = records.table("toy-conditions-fresh/claims.csv").filter(
            (polars.col("variant") == variant) & (polars.col("claim") == claim)
        )
        return unique_by_seed(rows, "value", f"{claim} under {variant}")

    return measure


def unique_by_seed(rows: polars.DataFrame, column: str, what: str) -> BySeed:
    """The column of rows that are one a seed; ``what`` names it in the error."""
    found = rows.select("seed", polars.col(column).cast(polars.Float64).fill_nan(None)).drop_nulls().sort("seed")
    if found.is_empty() or found["seed"].n_unique() != len(found):
        raise MissingRecord(f"a record must hold what is measured, once a seed: {what}; run the experiment again")
    return dict(found.iter_rows())
