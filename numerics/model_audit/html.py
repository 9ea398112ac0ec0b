"""The HTML page of a model report: one file that loads nothing.

Looks like the verifier's page, whose style sheet it includes.  Heat maps are PNG pictures written into the page; all
text is escaped by the template engine.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from jinja2 import Environment, FileSystemLoader
from PIL import Image

import numerics.verify
from numerics.model_audit.gradients import HeadGradient
from numerics.model_audit.plot import COLOURS
from numerics.model_audit.report import HeadAudit, ModelReport, interval, share_text
from numerics.model_audit.verdict import COLLAPSED_SPREAD, NEARLY_BLIND, SATURATED_ENTROPY, Verdict

_TEMPLATES = (Path(__file__).parent / "templates", Path(numerics.verify.__path__[0]) / "templates")

#: Style of a verdict's badge in the verifier's style sheet.
BADGES = {Verdict.VISIBLE: "s-passed", Verdict.LABEL_BLIND: "s-inconclusive"}

#: Pixels along the longer side of a heat map; longer sequences are averaged down.
MAP_PIXELS = 256


@dataclass(frozen=True)
class Cell:
    """A number with its interval over initialisations as text, and its share of a bar (0..1) where it has one."""

    text: str
    interval: str = ""
    bar: float | None = None


def render_report(report: ModelReport) -> str:
    """The whole page.

    Args:
        report: any report; columns without numbers (no reconstruction, no pattern) are left out.
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.get_template("model_audit.html.j2")
    groups: dict[tuple[str, int], list[HeadAudit]] = {}
    for head in report.heads:
        groups.setdefault((head.layer, head.head), []).append(head)
    rows = [_row(layer, number, heads) for (layer, number), heads in groups.items()]
    kept = [name for name in rows[0]["cells"] if any(row["cells"][name].text for row in rows)]
    thresholds = {"blind": NEARLY_BLIND, "entropy": SATURATED_ENTROPY, "spread": COLLAPSED_SPREAD}
    page = template.render(
        report=report, rows=rows, columns=kept, maps=_maps(report), badges=BADGES, share=share_text,
        thresholds=thresholds,
    )  # fmt: skip
    return page.strip() + "\n"


def _row(layer: str, number: int, heads: Sequence[HeadAudit]) -> dict[str, Any]:
    statistics, patterns = [h.statistics for h in heads], [h.pattern for h in heads]
    labels: list[HeadGradient | None] = [h.label for h in heads]
    rebuilt = [h.reconstruction for h in heads]

    def of(objects: Sequence[Any], name: str, share: bool = False) -> Cell:
        return _cell([None if o is None else getattr(o, name) for o in objects], share)

    cells = {
        "label: blind share": of(labels, "blind", share=True),
        "reconstruction: blind share": of(rebuilt, "blind", share=True),
        "‖∂S‖": of(labels, "norm"),
        "‖∂Q‖": of(labels, "query_norm"),
        "‖∂K‖": of(labels, "key_norm"),
        "entropy / log n": of(statistics, "relative_entropy"),
        "logit spread": of(statistics, "logit_spread"),
        "distance": of(statistics, "mean_distance"),
        "uniform": of(statistics, "uniform_distance"),
        "value spread": of(statistics, "value_spread"),
        "label slope": of(patterns, "label"),
        "reconstruction slope": of(patterns, "reconstruction"),
        "pattern visible": of(patterns, "visible", share=True),
    }
    verdicts: dict[Verdict, int] = {}
    for head in heads:
        verdicts[head.diagnosis.verdict] = verdicts.get(head.diagnosis.verdict, 0) + 1
    reason = heads[0].diagnosis.reason
    return {"layer": layer, "head": number, "verdicts": verdicts, "reason": reason, "cells": cells}


def _cell(values: Sequence[float | None], share: bool) -> Cell:
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not known.size:
        return Cell("")
    mean, low, high = interval(known, share)
    text = share_text(mean) if share else f"{mean:.3g}"
    between = ""
    if low is not None and high is not None:
        between = f"{100 * low:.0f} … {100 * high:.0f} %" if share else f"± {high - mean:.1g}" if high > mean else ""
    return Cell(text, between, min(max(mean, 0.0), 1.0) if share else None)


def _maps(report: ModelReport) -> list[dict[str, Any]]:
    drawn = []
    for found in report.maps:
        whole = found.label_blind + found.label_stripes
        reach = float(np.abs(whole).max())
        pictures = [("label gradient", heat_map(whole, reach), reach)]
        pictures.append(("its blind part, same colours", heat_map(found.label_blind, reach), reach))
        if found.reconstruction_blind is not None and found.reconstruction_stripes is not None:
            rebuilt = found.reconstruction_blind + found.reconstruction_stripes
            reach = float(np.abs(rebuilt).max())
            pictures.append(("reconstruction gradient", heat_map(rebuilt, reach), reach))
        drawn.append({"layer": found.layer, "head": found.head, "pictures": pictures})
    return drawn


def heat_map(values: np.ndarray, reach: float) -> str:
    """A heat map, symmetric around zero, as a data address."""
    block = -(-max(values.shape) // MAP_PIXELS)
    rows, columns = (size // block for size in values.shape)
    means = values[: rows * block, : columns * block].reshape(rows, block, columns, block).mean((1, 3))
    scaled = (means / (reach or 1.0) + 1) / 2
    pixels = (matplotlib.colormaps[COLOURS](scaled)[..., :3] * 255).round().astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
