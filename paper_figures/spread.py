"""Values over seeds as they are shown: mean, the max-min range that the paper draws, and Student's 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass

import polars

from paper_figures.style import plain
from training.predictions.prediction import LEAST_SEEDS
from training.predictions.statistics import mean_interval
from training.records import finite


@dataclass(frozen=True)
class Spread:
    """Mean over seeds, least and greatest seed, ends of the 95 % interval of the mean (infinite for one seed)."""

    mean: float
    least: float
    greatest: float
    low: float
    high: float
    seeds: int

    def text(self, digits: int = 3) -> str:
        """Mean, half the width of the interval, and the number of seeds.

        >>> spread([0.8, 0.9]).text(2)
        '0.85 ± 0.64, 2 seeds'
        >>> spread([0.8, 0.8001]).text(2)
        '0.80 ± 0.0006, 2 seeds'
        """
        mean = plain(self.mean, f".{digits}f")
        if self.seeds < 2:
            return f"{mean}, 1 seed"
        half = (self.high - self.low) / 2
        width = f"{half:.{digits}f}" if half == 0 or half >= 0.5 * 10**-digits else f"{half:.1g}"
        return f"{mean} ± {width}, {self.seeds} seeds"

    def record(self) -> dict[str, float | int | None]:
        """Ready for JSON: the interval of a single seed has no ends."""
        return dict(finite(asdict(self)))

    @property
    def reach(self) -> tuple[float, float]:
        """How far a bar goes below and above the mean: the 95 % interval, or the seeds where they are too few.

        >>> [round(end, 2) for end in spread([0.8, 0.9]).reach]
        [0.05, 0.05]
        """
        low, high = (self.low, self.high) if self.seeds >= LEAST_SEEDS else (self.least, self.greatest)
        return self.mean - low, high - self.mean

    @property
    def sign(self) -> int:
        """1 or -1 where the interval excludes 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def spread(values: Collection[float]) -> Spread:
    """The spread of one finite value a seed."""
    found = [float(value) for value in values]
    mean, low, high = mean_interval(found)
    return Spread(mean, min(found), max(found), low, high, len(found))


def by_seed(table: polars.DataFrame, value: str) -> dict[int, float]:
    """Finite values of a column by seed; a run that diverged may have none.

    >>> by_seed(polars.DataFrame({"seed": [0, 1], "loss": [0.5, None]}), "loss")
    {0: 0.5}
    """
    pairs = table.select("seed", polars.col(value).cast(polars.Float64)).drop_nulls().iter_rows()
    return {int(seed): float(number) for seed, number in pairs if math.isfinite(number)}


def spreads(table: polars.DataFrame, value: str, by: str = "learning_rate") -> dict[float, Spread]:
    """The spread of a column for each value of another, in order; left out where no seed has a value."""
    groups = {
        float(key): by_seed(table.filter(polars.col(by) == key), value) for key in table[by].unique().sort().to_list()
    }
    return {key: spread(found.values()) for key, found in groups.items() if found}


def paired(one: dict[int, float], other: dict[int, float]) -> Spread | None:
    """Differences within seeds that both have; None where there are none."""
    values = [one[seed] - other[seed] for seed in sorted(one) if seed in other]
    return spread(values) if values else None


def bars_said(drawn: Iterable[Spread | None]) -> str:
    """What the bars of a picture are, and of how many seeds; empty where nothing is drawn.

    >>> bars_said([spread([0.8, 0.9]), None])
    'bars: least and greatest of 2 seeds'
    """
    seeds = sorted({one.seeds for one in drawn if one is not None})
    few, enough = ([str(n) for n in seeds if n > 1 and (n >= LEAST_SEEDS) == many] for many in (False, True))
    said = [f"95 % interval over {', '.join(enough)} seeds"] if enough else []
    said += [f"least and greatest of {', '.join(few)} seeds"] if few else []
    return f"bars: {'; '.join(said)}" if said else "single seeds" * bool(seeds)
