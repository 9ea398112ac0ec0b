"""A prediction and its judgement.

The rules are fixed here, before any run: fewer than six seeds decide nothing; an interval and an exact p-value, the
latter corrected by Holm over its table, must agree; a predicted absence needs a margin; the minimum detectable effect
is always shown.  A prediction that the data exclude is *contradicted*, which for a claim of the paper reads "not
reproduced here".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import polars

from numerics.errors import InputError
from training.errors import MissingRecord
from training.experiments.comparisons import BySeed
from training.experiments.record import ExperimentRecord, read_experiment
from training.predictions.statistics import (
    LEVEL,
    equivalence,
    holm,
    mean_interval,
    minimum_detectable_effect,
    sign_flip,
)

Direction = Literal["greater", "less", "equivalent"]
Verdict = Literal["confirmed", "contradicted", "inconclusive", "not run"]
#: Fewer seeds are at most inconclusive.
LEAST_SEEDS = 6


def located(source: str, scale: str) -> tuple[str, str, str]:
    """Experiment, scale and file of a source; ``@`` fixes the scale of predictions that speak of one alone.

    >>> located("toy-fig4/runs.csv", "paper"), located("table1@laptop/runs.csv", "paper")
    (('toy-fig4', 'paper', 'runs.csv'), ('table1', 'laptop', 'runs.csv'))
    """
    whole, _, file = source.partition("/")
    name, _, own = whole.partition("@")
    return name, own or scale, file


class Records:
    """Kept experiments, at one scale where a source does not name its own; read once each."""

    def __init__(self, folder: Path, scale: str) -> None:
        self.folder, self.scale = folder, scale
        self._known: dict[str, ExperimentRecord] = {}

    def experiment(self, name: str) -> ExperimentRecord:
        """The record of an experiment, named ``name`` or ``name@scale``."""
        if name not in self._known:
            plain, scale, _ = located(name, self.scale)
            folder = self.folder / f"{plain}-{scale}"
            if not (folder / "experiment.json").is_file():
                raise MissingRecord(
                    f"no record of {plain} at {scale} scale: "
                    f"python -m training run {plain} --scale {scale} && "
                    f"python -m training keep {plain}-{scale}"
                )
            self._known[name] = read_experiment(folder)
        return self._known[name]

    def table(self, source: str) -> polars.DataFrame:
        """A table, named ``experiment/file.csv`` or ``experiment@scale/file.csv``."""
        name, _, file = source.partition("/")
        return self.experiment(name).table(file)


Measure = Callable[[Records], BySeed]


@dataclass(frozen=True)
class Prediction:
    """What is predicted, on what measurement, in which direction or within which margin, and from which claim."""

    id: str
    """Short name."""
    table: str
    """The table over which Holm corrects."""
    claims: tuple[str, ...]
    """Claims of the theory, or ``paper: PLACE`` for statements of the paper."""
    sentence: str
    """The prediction in plain words."""
    measurement: str
    """What ``measure`` returns for each seed."""
    direction: Direction
    """Whether the mean over seeds lies above the margin, below it, or within plus and minus it."""
    margin: float
    """The bound, fixed before the run."""
    sources: tuple[str, ...]
    """Files read, as ``experiment/file.csv`` or ``experiment@scale/file.csv``."""
    measure: Measure
    """One number a seed."""
    controls: Mapping[str, Measure] = field(default_factory=dict)
    """What should differ, shown beside the effect as a mean over seeds."""

    def __post_init__(self) -> None:
        """A predicted absence of effect has a margin."""
        if self.direction == "equivalent" and not self.margin > 0:
            raise InputError(f"a predicted absence of effect needs a positive margin: {self.id} has {self.margin}")

    @property
    def bound(self) -> str:
        """Direction and margin as text."""
        sign = {"greater": ">", "less": "<", "equivalent": "within ±"}[self.direction]
        return f"mean over seeds {sign} {self.margin:g}".replace("± ", "±")


@dataclass(frozen=True)
class Judgement:
    """What the records say about a prediction."""

    prediction: Prediction
    verdict: Verdict
    suggestive: bool = False
    """The interval excludes the bound on the predicted side, but seeds or the corrected p-value do not suffice."""
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    seeds: int = 0
    minimum_detectable_effect: float | None = None
    controls: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[int, float] = field(default_factory=dict)
    reason: str = ""
    """Why it was not run."""


def judge(predictions: tuple[Prediction, ...], records: Records) -> list[Judgement]:
    """Judge every prediction whose records are there; Holm corrects over those of one table that could be judged."""
    found = [_measured(prediction, records) for prediction in predictions]
    for table in dict.fromkeys(prediction.table for prediction in predictions):
        places = [n for n, one in enumerate(found) if one.prediction.table == table and one.p_value is not None]
        corrected = holm([found[n].p_value or 0.0 for n in places])
        for n, p_holm in zip(places, corrected, strict=True):
            found[n] = _decided(found[n], p_holm)
    return found


def _measured(prediction: Prediction, records: Records) -> Judgement:
    try:
        by_seed = prediction.measure(records)
        found = {name: _control(measure, records) for name, measure in prediction.controls.items()}
    except MissingRecord as error:
        return Judgement(prediction, "not run", reason=str(error))
    values = list(by_seed.values())
    effect, low, high = mean_interval(values)
    return Judgement(
        prediction,
        "inconclusive",
        effect=effect,
        low=low,
        high=high,
        p_value=_p_value(prediction, values),
        seeds=len(values),
        minimum_detectable_effect=minimum_detectable_effect(values),
        controls={name: mean for name, mean in found.items() if mean is not None},
        values=by_seed,
    )


def _p_value(prediction: Prediction, values: list[float]) -> float:
    """Sign flips around the bound; for a predicted absence the test of equivalence where the mean lies within."""
    margin = prediction.margin
    if prediction.direction != "equivalent":
        return sign_flip([value - margin for value in values])
    mean = _mean(dict(enumerate(values)))
    if abs(mean) < margin:
        return equivalence(values, margin)[1]
    nearest = margin if mean > 0 else -margin
    return sign_flip([value - nearest for value in values])


def _decided(one: Judgement, p_holm: float) -> Judgement:
    holds, excluded = _position(one)
    enough = one.seeds >= LEAST_SEEDS and p_holm <= LEVEL
    verdict: Verdict = "inconclusive"
    if enough and holds:
        verdict = "confirmed"
    elif enough and excluded:
        verdict = "contradicted"
    return replace(one, p_holm=p_holm, verdict=verdict, suggestive=holds and not enough)


def _position(one: Judgement) -> tuple[bool, bool]:
    """Whether the interval lies wholly on the predicted side of the bound, and wholly on the other."""
    assert one.low is not None
    assert one.high is not None
    margin = one.prediction.margin
    if one.prediction.direction == "greater":
        return one.low > margin, one.high < margin
    if one.prediction.direction == "less":
        return one.high < margin, one.low > margin
    # Two one-sided tests at a level are an interval of twice the level within the margins.
    within = equivalence(list(one.values.values()), margin)[0] <= LEVEL
    return within, one.low > margin or one.high < -margin


def _control(measure: Measure, records: Records) -> float | None:
    try:
        return _mean(measure(records))
    except MissingRecord:  # a control may need more than the effect does, a rate of a larger scale say
        return None


def _mean(values: BySeed) -> float:
    return sum(values.values()) / len(values)
