"""Verdicts on predictions as ``python -m training verdicts --write`` leaves them, checked, and placed on one scale.

A verdict whose records have changed since is *stale* and counts as not run.  Effects have different units, so each is
placed by its distance from the bound that the prediction names, in units of the least distance that its seeds would
have found with power .8; positive is as predicted.  Checked by ``tests/paper_figures/test_verdicts.py``.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numerics.errors import InputError
from paper_figures.style import plain
from training.predictions.verdicts import FILE, SCHEMA_VERSION

COMMAND = "python -m training verdicts --write"
VERDICTS = ("confirmed", "contradicted", "inconclusive", "not run")
#: Largest distance drawn, in detectable effects; farther ones lie on this edge, as arrows.
EDGE = 100.0
_FIELDS = (
    "id", "claims", "sentence", "measurement", "direction_or_margin", "verdict", "suggestive", "effect", "low", "high",
    "p_value", "p_holm", "seeds", "minimum_detectable_effect", "controls", "command", "records",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A verdict and its place in the forest plot; distances are in minimum detectable effects."""

    content: Mapping[str, Any]
    verdict: str
    distance: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def table(self) -> str:
        """The table over which p-values are corrected."""
        return str(self.content.get("table", "predictions"))

    @property
    def word(self) -> str:
        """The verdict; a suggestive one says so."""
        suggests = self.verdict == "inconclusive" and self.content["suggestive"]
        return f"{self.verdict} (suggestive)" if suggests else self.verdict

    @property
    def bound(self) -> str:
        """What was predicted, as text."""
        return str(self.content["direction_or_margin"]).removeprefix("mean over seeds ").replace("-", "−")

    @property
    def effect(self) -> str:
        """Effect and interval as text; empty where there are none."""
        c = self.content
        if self.verdict in ("not run", "stale") or c["effect"] is None:
            return ""
        ends = "one seed" if c["low"] is None else f"{plain(c['low'])}, {plain(c['high'])}"
        return f"{plain(c['effect'])} [{ends}]"


def read(path: Path) -> dict[str, Any]:
    """The verdicts file, its schema checked.

    Raises:
        InputError: if it is damaged or of another schema.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"its schema_version is {content['schema_version']}")
        for verdict in content["verdicts"]:
            lacking = [name for name in _FIELDS if name not in verdict]
            if lacking:
                raise ValueError(f"a verdict has no {', '.join(lacking)}")
            if verdict["verdict"] not in VERDICTS:
                raise ValueError(f"{verdict['id']} has the verdict {verdict['verdict']!r}")
            bound_of(verdict["direction_or_margin"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"verdicts are a JSON file of schema {SCHEMA_VERSION}: {path} ({error}); write it anew with {COMMAND}"
        ) from None
    return dict(content)


def bound_of(text: str) -> tuple[str, float]:
    """Direction and bound of a prediction.

    >>> bound_of("mean over seeds > 0.05"), bound_of("mean over seeds within ±0.1")
    (('>', 0.05), ('±', 0.1))
    """
    found = re.search(r"(>|<|±)\s*(-?[\d.]+(?:e-?\d+)?)\s*$", text)
    if found is None:
        raise ValueError(f"a bound reads '> 0.1', '< 0.1' or '±0.1': {text!r}")
    return found[1], float(found[2])


def placed(verdict: Mapping[str, Any], folder: Path) -> Row:
    """A verdict with its place in the plot; stale where a record that it rests on has changed."""
    for record in verdict["records"]:
        file = folder / record["path"]
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != record["sha256"]:
            return Row(verdict, "stale")
    unit, effect, low, high = (verdict[name] for name in ("minimum_detectable_effect", "effect", "low", "high"))
    if verdict["verdict"] == "not run" or effect is None:
        return Row(verdict, verdict["verdict"])
    ends = [-math.inf if low is None else low, math.inf if high is None else high]
    centre, least, greatest = signed(verdict["direction_or_margin"], effect, *ends)
    if unit is None:  # a single seed: nothing can be detected
        return Row(verdict, verdict["verdict"])
    return Row(verdict, verdict["verdict"], *(_in_units(value, unit) for value in (centre, least, greatest)))


def signed(bound: str, effect: float, low: float, high: float) -> tuple[float, float, float]:
    """Distance from the bound, positive as predicted, and the ends of its interval.

    >>> signed("mean over seeds < 0.5", 0.25, 0.125, 0.625)
    (0.25, -0.125, 0.375)
    >>> signed("mean over seeds within ±0.5", 0.125, -0.25, 0.25)
    (0.375, 0.25, 0.5)
    """
    sign, margin = bound_of(bound)
    if sign == ">":
        return effect - margin, low - margin, high - margin
    if sign == "<":
        return margin - effect, margin - high, margin - low
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return margin - abs(effect), margin - max(abs(low), abs(high)), margin - nearest


def _in_units(value: float, unit: float) -> float:
    """In detectable effects, at most on the edge of the plot; seeds that agree exactly detect anything."""
    if unit == 0:
        return math.copysign(EDGE, value) if value else 0.0
    return max(-EDGE, min(EDGE, value / unit))


def verdict_words(folder: Path, scale: str, predictions: tuple[str, ...]) -> str:
    """What the verdicts in a folder say about some predictions at a scale, as words; empty where there are none."""
    path = folder / FILE
    if not predictions or not path.is_file():
        return ""
    content = read(path)
    if content.get("scale") != scale:
        return ""
    rows = [placed(verdict, folder) for verdict in content["verdicts"] if verdict["id"] in predictions]
    said = [f"{row.content['id']} {row.word}" for row in rows if row.verdict not in ("not run", "stale")]
    return f"verdict: {', '.join(said)}" if said else ""
