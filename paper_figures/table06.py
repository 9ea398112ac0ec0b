"""Table 6: accuracy on four UCR data sets, from labels alone and after self-pretraining, beside the paper's numbers.

The paper reports "final peak held-out validation accuracy"; here the peak over epochs and the value after the last
epoch both stand, each named, and beside them labels alone for as many updates as self-pretraining and finetuning
together.  What was not run reads "not run" with its command: the table is set without records too.  Checked by
``tests/paper_figures/test_table06.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import Kept, KeptRecords
from paper_figures.panels import CONDITIONS as WORDS
from paper_figures.reported import FOLDER, Reported, reported
from paper_figures.sources import Source
from paper_figures.spread import Spread, spread
from paper_figures.style import FAINT, ORANGE, PAGE, SMALL, plain
from paper_figures.typeset import Column, Table, latex, markdown, web_page
from training.data.catalogue import fetch_command
from training.data.places import DataError
from training.data.ucr import PAPER_SETS, find_part
from training.errors import MissingRecord
from training.experiments.table06 import CHOICES, CONDITIONS, NAME
from training.predictions.prediction import Judgement, Measure, Records, judge
from training.predictions.table06 import (
    FINAL,
    PEAK,
    TABLE_6,
    average_gain,
    average_value,
    set_gain,
    set_value,
)

TITLE = "Accuracy on UCR data sets, from labels alone and after self-pretraining (SPT)"
PLACE = "arXiv 2605.21070, Table 6"
AVERAGE, MATCHED = "average", "table6-over-matched"
MOMENTS = {"peak": PEAK, "final": FINAL}
NOT_RUN = "not run"

_PAPER, _OURS = "paper ± sd", "ours ± 95 %"
_COLUMNS = (
    Column("", "data set", text=True),
    Column("", "accuracy on TEST", text=True),
    Column("from scratch", _PAPER),
    Column("from scratch", _OURS),
    Column("as many updates", _OURS),
    Column("SPT", _PAPER),
    Column("SPT", _OURS),
    Column("gain of SPT", "paper"),
    Column("gain of SPT", _OURS),
    Column("over as many updates", _OURS),
    Column("", "n, scale", text=True),
    Column("", "verdict", text=True),
)


@dataclass(frozen=True)
class Found:
    """One data set (or the average) at one moment: accuracies by condition, gains within seeds; None: not run."""

    dataset: str
    moment: str
    accuracies: Mapping[str, Spread | None]
    gain: Spread | None
    over_matched: Spread | None


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of table6, if there is one, judge the predictions by it, and set the table."""
    scale, paper = kept.scale_of(NAME), reported("table06")
    record = kept.read(NAME) if kept.source(NAME).present else None
    records = Records(kept.folder, scale)
    judged = {one.prediction.id: one for one in judge(TABLE_6, records)}
    found = [_found(records, name, moment) for name in (*PAPER_SETS, AVERAGE) for moment in MOMENTS]
    rows = {name: tuple(_row(one, paper, judged, kept) for one in found if one.dataset == name) for name in _names()}
    blocks = (tuple(row for name in PAPER_SETS for row in rows[name]), rows[AVERAGE])
    warning = (record.warning,) if record is not None and record.stale else ()
    notes = (*_notes(paper, scale, judged), *warning)
    tables = [Table(f"{TITLE}: the paper's Table 6 and ours", _COLUMNS, blocks, notes)]
    choices = _choices(record)
    if choices is not None:
        tables.append(choices)
    lines = [_line(one, paper, judged[_id(one.dataset)], kept) for one in found if one.moment == "peak"]
    lines.append(_matched_line(judged[MATCHED], kept))
    numbers = {
        "schema_version": 1,
        "figure": FIGURE.name,
        "source": PLACE,
        "caption": " ".join(notes),
        "scale": scale,
        "record": record.provenance() if record is not None else None,
        "compared": [{"paper": asdict(one), "predictions": list(one.predictions)} for one in paper.values()],
        "rows": [_saved(one) for one in found],
        "verdicts": [_judged(one) for one in judged.values()],
        "choices": [list(row) for block in choices.blocks for row in block] if choices is not None else None,
    }
    extra = {
        "md": markdown(tables),
        "tex": latex(tables, "ucr"),
        "html": web_page(tables, f"{FIGURE.name}.png"),
    }
    source = f"drawn from {NAME} at {scale} scale" if record is not None else f"no record of {NAME}: nothing was run"
    return Drawing(_picture(found, paper, scale), numbers, (source, *lines, *warning), True, extra)


def _names() -> tuple[str, ...]:
    return (*PAPER_SETS, AVERAGE)


def _id(dataset: str) -> str:
    return f"table6-{dataset.lower()}"


def _found(records: Records, dataset: str, moment: str) -> Found:
    value = MOMENTS[moment]
    if dataset == AVERAGE:
        accuracies = {condition: _spread(average_value(condition, value), records) for condition in CONDITIONS}
        gains = [average_gain(value, base) for base in CONDITIONS[:2]]
    else:
        accuracies = {condition: _spread(set_value(dataset, condition, value), records) for condition in CONDITIONS}
        gains = [set_gain(dataset, value, base) for base in CONDITIONS[:2]]
    return Found(dataset, moment, accuracies, *(_spread(gain, records) for gain in gains))


def _spread(measure: Measure, records: Records) -> Spread | None:
    try:
        values = measure(records).values()
    except MissingRecord:
        return None
    return spread(values) if values else None


def _row(
    one: Found, paper: Mapping[str, Reported], judged: Mapping[str, Judgement], kept: KeptRecords
) -> tuple[str, ...]:
    said, scale, peak = paper[one.dataset].value, kept.scale_of(NAME), one.moment == "peak"
    ours = {condition: _cell(found) for condition, found in one.accuracies.items()}
    seeds = max((found.seeds for found in one.accuracies.values() if found is not None), default=0)
    judged_here = _verdict(judged[_id(one.dataset)]) if peak else "not judged"
    return (
        one.dataset,
        one.moment,
        _deviation(said["scratch"], said["scratch_deviation"]) if peak else "",
        ours["scratch"],
        ours["scratch-matched"],
        _deviation(said["spt"], said["spt_deviation"]) if peak else "",
        ours["spt-finetune"],
        _signed(said["gain"]) if peak else "",
        _cell(one.gain, signed=True),
        _cell(one.over_matched, signed=True),
        f"{seeds}, {scale}" if seeds else f"–, {scale}",
        judged_here if seeds else _why(one.dataset, kept),
    )


def _cell(found: Spread | None, *, signed: bool = False) -> str:
    """Mean and half the width of the interval; a single seed has none."""
    if found is None:
        return NOT_RUN
    mean = _signed(found.mean) if signed else plain(found.mean, ".3f")
    return mean if found.seeds < 2 else _deviation(mean, (found.high - found.low) / 2)


def _deviation(mean: float | str, spread: float) -> str:
    words = mean if isinstance(mean, str) else plain(mean, ".3f")
    return f"{words} ± {spread:.3f}".replace(" ", "\N{NO-BREAK SPACE}")


def _signed(value: float) -> str:
    return plain(value, "+.3f")


def _verdict(one: Judgement) -> str:
    words = {"contradicted": "not reproduced here (contradicted)"}.get(one.verdict, one.verdict)
    suggestive = ", suggestive" if one.suggestive else ""
    p = "" if one.p_holm is None else f", p = {one.p_holm:.2g}"
    effect = one.minimum_detectable_effect
    detects = "" if effect is None or not np.isfinite(effect) else f"; detects {effect:.2g}"
    return f"{words}{suggestive} (asked: gain > {one.prediction.margin:g}{p}{detects})"


def _why(dataset: str, kept: KeptRecords) -> str:
    """Why a row was not run, and what to type."""
    lacking = [name for name in PAPER_SETS if dataset in (name, AVERAGE) and not _there(name)]
    command = kept.command(NAME, kept.scale_of(NAME))
    if not lacking:
        return f"{NOT_RUN}: `{command}`"
    fetch = " && ".join(fetch_command(f"ucr:{name}") for name in lacking)
    return f"{NOT_RUN}: missing data, `{fetch} && {command}`"


def _there(dataset: str) -> bool:
    try:
        return all(find_part(dataset, part) for part in ("TRAIN", "TEST"))
    except DataError:
        return False


def _line(one: Found, paper: Mapping[str, Reported], judgement: Judgement, kept: KeptRecords) -> str:
    said = paper[one.dataset]
    if one.gain is None:
        return f"{one.dataset} – paper: {said.says} ({said.where}); ours: {_why(one.dataset, kept)}."
    ours = ", ".join(f"{name} {_cell(found)}" for name, found in one.accuracies.items())
    gain = f"gain {_cell(one.gain, signed=True)}, paper {_signed(said.value['gain'])}"
    return f"{one.dataset} – paper: {said.says} ({said.where}); ours (peak): {ours}; {gain}: {_verdict(judgement)}."


def _matched_line(one: Judgement, kept: KeptRecords) -> str:
    if one.effect is None or one.low is None or one.high is None:
        return f"{one.prediction.sentence} {_why(AVERAGE, kept)}."
    reach = _deviation(_signed(one.effect), (one.high - one.low) / 2)
    return f"{one.prediction.sentence} Peak, averaged: {reach}: {_verdict(one)}."


def _notes(paper: Mapping[str, Reported], scale: str, judged: Mapping[str, Judgement]) -> tuple[str, ...]:
    sizes = ", ".join(f"{test} ({name})" for name, (_, test, _) in PAPER_SETS.items())
    smoke = " This scale shows that it works and decides nothing." if scale == "smoke" else ""
    matched = judged[MATCHED]
    over = f" {matched.prediction.sentence} Verdict: {_verdict(matched)}." if matched.effect is not None else ""
    return (
        f"Ours: mean ± half the width of Student's 95 % interval of the mean over n seeds, {scale} scale.{smoke} "
        f"Paper: mean ± standard deviation over {paper['seeds'].value} seeds ({paper['seeds'].where}), whose 95 % "
        "interval is 1.24 times as wide.",
        "Peak: the best evaluated epoch, chosen on TEST itself. Final: after the last epoch, nothing chosen. The "
        f"paper says {paper['which-accuracy'].says} ({paper['which-accuracy'].where}); the archive has no validation "
        "set, and in public code TEST stands for it, so the peak on TEST is set beside the paper's numbers and judged.",
        "As many updates: labels alone for as many updates as SPT and finetuning together, which the paper does not "
        f"have.{over}",
        "Gains are paired within seeds. A verdict asks for half the paper's gain, by the interval and by exact sign "
        f"flips with Holm's correction over {len(TABLE_6)} predictions; fewer than 6 seeds are at most inconclusive. "
        "It detects a distance from what is asked of that size with power .8.",
        "Seeds vary initial weights, order and masks; TRAIN and TEST are the archive's, so the intervals say nothing "
        f"about other series. TEST holds {sizes} series.",
    )


def _choices(record: Kept | None) -> Table | None:
    """The choices that the record was made with, where it says so."""
    if record is None:
        return None
    columns = (
        Column("", "choice", text=True),
        Column("", "value", text=True),
        Column("", "source or reason", text=True),
    )
    table = record.table(CHOICES, "name", "value", "source")
    rows = tuple(tuple(str(cell) for cell in row) for row in table.select("name", "value", "source").iter_rows())
    return Table("What was chosen", columns, (rows,))


def _saved(one: Found) -> dict[str, Any]:
    def plain_values(found: Spread | None) -> dict[str, Any] | None:
        return None if found is None else found.record()

    return {
        "dataset": one.dataset,
        "accuracy": MOMENTS[one.moment],
        **{condition: plain_values(found) for condition, found in one.accuracies.items()},
        "gain": plain_values(one.gain),
        "gain over scratch-matched": plain_values(one.over_matched),
    }


def _judged(one: Judgement) -> dict[str, Any]:
    names = (
        "verdict",
        "suggestive",
        "effect",
        "low",
        "high",
        "p_value",
        "p_holm",
        "seeds",
        "minimum_detectable_effect",
    )
    values = {name: getattr(one, name) for name in names}
    finite = {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()}
    return {"id": one.prediction.id, "bound": one.prediction.bound, **finite}


_STYLE = {
    "scratch": WORDS["scratch"][:3],
    "scratch-matched": ("labels alone, as many updates", ORANGE, "D"),
    "spt-finetune": WORDS["spt-finetune"][:3],
}
_PAPERS = {"scratch": "scratch", "spt-finetune": "spt"}


def _picture(found: list[Found], paper: Mapping[str, Reported], scale: str) -> Figure:
    """Peak accuracies of each condition, the paper's hollow above ours."""
    picture = Figure(figsize=(PAGE, 3.9))
    picture.suptitle(f"{TITLE}\npeak accuracy on TEST, {scale} scale", fontsize=9)
    panels = picture.subplots(1, len(_names()), sharey=True)
    for axes, one in zip(panels, (one for one in found if one.moment == "peak"), strict=True):
        said, missing = paper[one.dataset].value, True
        for place, (condition, (_, colour, marker)) in enumerate(_STYLE.items()):
            if condition in _PAPERS:
                name = _PAPERS[condition]
                axes.errorbar(
                    place - 0.16, said[name], said[f"{name}_deviation"], fmt=marker, color=colour,
                    markerfacecolor="white", markersize=4.5, elinewidth=0.8, capsize=2,
                )  # fmt: skip
            ours = one.accuracies[condition]
            if ours is None:
                continue
            missing = False
            reach = (ours.high - ours.low) / 2 if ours.seeds > 1 else 0.0
            axes.errorbar(place + 0.16, ours.mean, reach, fmt=marker, color=colour, markersize=4.5, capsize=2)
        if missing:
            axes.text(0.5, 0.02, NOT_RUN, transform=axes.transAxes, ha="center", fontsize=SMALL, color=FAINT)
        axes.set_title(one.dataset, fontsize=SMALL + 0.5)
        axes.set_xticks([])
        axes.set_xlim(-0.5, 2.5)
        axes.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.5)
    panels[0].set_ylabel("accuracy")
    panels[0].set_ylim(_least(found, paper) - 0.03, 1.01)  # intervals of two or three seeds may leave the panel
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", markersize=4.5, label=words)
        for words, colour, marker in _STYLE.values()
    ]
    handles.append(
        Line2D(
            [], [], color=FAINT, marker="o", markerfacecolor="white", linestyle="", markersize=4.5, label="paper, ± sd"
        )
    )
    handles.append(Line2D([], [], color=FAINT, marker="o", linestyle="", markersize=4.5, label="ours, ± 95 % interval"))
    picture.legend(handles=handles, loc="outside lower center", ncols=3)
    return picture


def _least(found: list[Found], paper: Mapping[str, Reported]) -> float:
    """The lowest mean, or end of the paper's bars, that is drawn."""
    ours = [spread.mean for one in found if one.moment == "peak" for spread in one.accuracies.values() if spread]
    return min(*ours, *(paper[name].value["scratch"] - paper[name].value["scratch_deviation"] for name in _names()))


def _need(kept: KeptRecords) -> Source:
    """The record where there is one; without it the paper's numbers alone, and rows that read "not run"."""
    source = kept.source(NAME)
    if source.present:
        return source
    return Source(f"the paper's numbers alone (no {source.sentence}: not run)", FOLDER / "table06.json", source.command)


FIGURE = PaperFigure("table06", TITLE, PLACE, (_need,), draw)
