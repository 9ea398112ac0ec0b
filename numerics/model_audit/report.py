"""What an audit found: one sentence, a table, a dictionary, a picture, a page."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.stats
from matplotlib.figure import Figure

from numerics.errors import InputError
from numerics.model_audit.gradients import HeadGradient
from numerics.model_audit.statistics import HeadStatistics
from numerics.model_audit.verdict import Diagnosis, Verdict, overall
from numerics.verify.files import write_whole

SCHEMA_VERSION = 1

#: Confidence of the intervals over initialisations.
CONFIDENCE = 0.95

#: Columns of the table that lie in 0..1.
SHARES = frozenset(
    [f"{loss}_{part}" for loss in ("label", "reconstruction") for part in ("blind", "stripes", "elsewhere")]
    + ["relative_entropy", "value_spread", "pattern_visible"]
)

#: What each verdict says about a model.
MEANING: Mapping[Verdict, str] = {
    Verdict.NO_GRADIENT_PATH: "the label loss has no gradient path to the parameters behind the scores",
    Verdict.ZERO_READ_OUT: "nothing downstream reads the attention, so labels give it no gradient",
    Verdict.RANK_COLLAPSED: "all tokens carry the same values, so no loss can tell attention patterns apart",
    Verdict.SATURATED: "the softmax is one-hot and passes almost no gradient",
    Verdict.LABEL_BLIND: "labels see {degree} of the score patterns in the blind set of mean pooling",
    Verdict.VISIBLE: "labels see score patterns in the blind set of mean pooling",
}


@dataclass(frozen=True)
class PatternSlope:
    """First-order response of the losses to a score pattern ``Delta`` added to one head's scores."""

    label: float | None
    """``<grad, Delta>`` of the label loss; ``None`` without a gradient path."""
    reconstruction: float | None
    """The same of the reconstruction loss."""
    visible: float | None
    """Share of the row-centred pattern's energy outside the blind set; ``None`` for a pattern that is constant."""


@dataclass(frozen=True)
class HeadAudit:
    """One head of one layer (attention call) of one initialisation."""

    seed: int | None
    layer: str
    head: int
    queries: int
    keys: int
    diagnosis: Diagnosis
    label: HeadGradient
    reconstruction: HeadGradient | None
    statistics: HeadStatistics
    pattern: PatternSlope | None

    def row(self) -> dict[str, Any]:
        """Flat, for tables; columns of the reconstruction and the pattern are ``None`` where not asked for."""
        row: dict[str, Any] = {"seed": self.seed, "layer": self.layer, "head": self.head}
        row |= {"queries": self.queries, "keys": self.keys, "verdict": self.diagnosis.verdict.value}
        for prefix, gradient in (("label", self.label), ("reconstruction", self.reconstruction)):
            for part in dataclasses.fields(HeadGradient):
                row[f"{prefix}_{part.name}"] = None if gradient is None else getattr(gradient, part.name)
        row |= dataclasses.asdict(self.statistics)
        for name in ("label", "reconstruction", "visible"):
            column = f"{name}_slope" if name != "visible" else "pattern_visible"
            row[column] = None if self.pattern is None else getattr(self.pattern, name)
        return row | {"reason": self.diagnosis.reason}


@dataclass(frozen=True)
class GradientMaps:
    """Score gradients of one head as pictures, L x S each: blind part and stripes of both losses."""

    layer: str
    head: int
    label_blind: np.ndarray
    label_stripes: np.ndarray
    reconstruction_blind: np.ndarray | None
    reconstruction_stripes: np.ndarray | None


@dataclass(frozen=True)
class ModelReport:
    """The audit of a model; printing it gives the verdict sentence."""

    model: str
    heads: Sequence[HeadAudit]
    maps: Sequence[GradientMaps]
    """The first initialisation's gradients, one head a layer: the one with the largest label gradient."""
    losses: Mapping[str, Sequence[float]]
    """Value of each loss at initialisation, one a seed."""
    notes: Sequence[str] = field(default=())

    def __str__(self) -> str:
        return self.sentence

    @property
    def verdict(self) -> Verdict:
        """``visible`` where any head is, else the most frequent among heads and initialisations."""
        return overall([head.diagnosis for head in self.heads])

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the initialisations; empty for a model that was given as it is."""
        return tuple(dict.fromkeys(head.seed for head in self.heads if head.seed is not None))

    @property
    def label_blind(self) -> float | None:
        """Share of the label gradient's energy in the blind set, all heads and initialisations together."""
        return _blind_share([head.label for head in self.heads])

    @property
    def reconstruction_blind(self) -> float | None:
        """The same share of the reconstruction gradient; ``None`` when it was not asked for or is zero."""
        return _blind_share([head.reconstruction for head in self.heads if head.reconstruction is not None])

    def blind_by_seed(self, loss: str) -> np.ndarray:
        """Blind share of one loss's gradient energy, one an initialisation; those with a zero gradient are left out.

        Args:
            loss: ``label`` or ``reconstruction``.
        """
        shares = []
        for seed in self.seeds or (None,):
            found = [getattr(head, loss) for head in self.heads if head.seed == seed]
            shares.append(_blind_share([gradient for gradient in found if gradient is not None]))
        return np.array([share for share in shares if share is not None], dtype=np.float64)

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many heads, over all initialisations, got each verdict, in the order of diagnosis."""
        counted = Counter(head.diagnosis.verdict for head in self.heads)
        return {verdict: counted[verdict] for verdict in Verdict if counted[verdict]}

    @property
    def exact(self) -> bool:
        """Whether every label-blind head is blind up to rounding, not only nearly."""
        blind = [h.diagnosis for h in self.heads if h.diagnosis.verdict is Verdict.LABEL_BLIND]
        return bool(blind) and all(diagnosis.exact for diagnosis in blind)

    @property
    def sentence(self) -> str:
        """The verdict with its numbers, in one sentence."""
        number = f"{self.counts[self.verdict]} of {len(self.heads)} heads"
        over = f" over {len(self.seeds)} initialisations" if len(self.seeds) > 1 else ""
        others = "".join(f"; {count} {verdict}" for verdict, count in self.counts.items() if verdict != self.verdict)
        shares = [f"{share_text(self.label_blind)} of the label gradient's energy is in the blind set"]
        if any(head.reconstruction is not None for head in self.heads):
            shares.append(f"against {share_text(self.reconstruction_blind)} of the reconstruction gradient's")
        meaning = MEANING[self.verdict].format(degree="exactly nothing" if self.exact else "next to nothing")
        return f"{self.verdict}: {meaning} ({number}{over}{others}); {', '.join(shares)}."

    def to_frame(self) -> pl.DataFrame:
        """One row a head and initialisation, with every number and the reason of its verdict."""
        text = {"layer": pl.String, "verdict": pl.String, "reason": pl.String}
        whole = {"seed": pl.Int64, "head": pl.Int64, "queries": pl.Int64, "keys": pl.Int64}
        rows = [head.row() for head in self.heads]
        return pl.DataFrame(rows, schema={name: (text | whole).get(name, pl.Float64) for name in rows[0]})

    def layer_shares(self, layer: str) -> dict[str, tuple[float, float] | None]:
        """Blind and stripe shares of each loss's gradient energy in one layer; ``None`` for a zero gradient."""
        heads = [head for head in self.heads if head.layer == layer]
        gradients = {"label": [h.label for h in heads]}
        if all(h.reconstruction is not None for h in heads):
            gradients["reconstruction"] = [h.reconstruction for h in heads if h.reconstruction is not None]
        shares = {name: _blind_share(found) for name, found in gradients.items()}
        return {name: None if share is None else (share, 1 - share) for name, share in shares.items()}

    def over_seeds(self) -> pl.DataFrame:
        """One row a head and quantity: mean over initialisations with a Student-t interval (95 %).

        ``low`` and ``high`` are ``None`` with fewer than two initialisations; shares are cut to 0..1.
        """
        frame = self.to_frame()
        numbers = [n for n in frame.columns if frame.schema[n].is_float()]
        rows = []
        for (layer, head), group in frame.group_by("layer", "head", maintain_order=True):
            for quantity in numbers:
                values = group[quantity].drop_nulls().to_numpy()
                if values.size:
                    mean, low, high = interval(values, share=quantity in SHARES)
                    rows.append({"layer": layer, "head": head, "quantity": quantity, "initialisations": values.size}
                                | {"mean": mean, "low": low, "high": high})  # fmt: skip
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the gradient maps, ready for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "model": self.model,
            "verdict": self.verdict.value,
            "sentence": self.sentence,
            "label_blind": self.label_blind,
            "reconstruction_blind": self.reconstruction_blind,
            "counts": {verdict.value: count for verdict, count in self.counts.items()},
            "losses": {name: list(values) for name, values in self.losses.items()},
            "seeds": list(self.seeds),
            "notes": list(self.notes),
            "heads": [head.row() for head in self.heads],
            "over_seeds": self.over_seeds().to_dicts() if len(self.seeds) > 1 else [],
        }

    def plot(self) -> Figure:
        """Energy split of every layer, and the gradients of the strongest head of each layer as heat maps."""
        from numerics.model_audit.plot import draw_report  # matplotlib styles are needed only here

        return draw_report(self)

    def save(self, path: str | Path) -> Path:
        """Write the report as one HTML file that needs no network; an unfinished file is never left behind.

        Raises:
            InputError: the name does not end in .html, or its folder does not exist.
        """
        from numerics.model_audit.html import render_report

        file = Path(path)
        if file.suffix != ".html":
            raise InputError(f"a model report is saved as HTML: {path}; use a name that ends in .html")
        if not file.parent.is_dir():
            raise InputError(f"a report's folder must exist: {file.parent}; create it first")
        write_whole(file, render_report(self))
        return file


def _blind_share(gradients: Sequence[HeadGradient]) -> float | None:
    total = math.fsum((g.norm or 0.0) ** 2 for g in gradients if g.resolved)
    return math.fsum(g.blind_norm**2 for g in gradients) / total if total > 0 else None


def share_text(share: float | None) -> str:
    """A share as a percentage, or with its order of magnitude where that would read 0 %.

    >>> [share_text(s) for s in (0.984, 0.0123, 3e-33, None)]
    ['98.4 %', '1.2 %', '3e-33', 'none (zero gradient)']
    """
    if share is None:
        return "none (zero gradient)"
    return f"{100 * share:.1f} %" if share >= 1e-3 or share == 0 else f"{share:.0e}"


def interval(values: np.ndarray, share: bool = False) -> tuple[float, float | None, float | None]:
    """Mean with its Student-t interval, cut to 0..1 for a share; assumes independent initialisations.

    >>> [round(v, 3) for v in interval(np.array([1.0, 2.0, 3.0]))]
    [2.0, -0.484, 4.484]
    >>> interval(np.array([0.0, 1.0]), share=True)
    (0.5, 0.0, 1.0)
    """
    mean = float(values.mean())
    if values.size < 2:
        return mean, None, None
    half = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, values.size - 1) * values.std(ddof=1) / math.sqrt(values.size)
    low, high = float(mean - half), float(mean + half)
    return (mean, max(low, 0.0), min(high, 1.0)) if share else (mean, low, high)
