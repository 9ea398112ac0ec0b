"""Figure 7: scores and attention of a one-layer network after self-pretraining, on one example and without content.

Pictures of one example decide little, so three numbers stand below each: attention mass near the query beside that of
uniform attention, and how far the scores depend on the offset alone.  Checked by
``tests/paper_figures/test_lra_figures.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from paper_figures.beside import page, write_below
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords
from paper_figures.lra import NOT_RUN, TASKS, WHOLE, Ours, ours, say_not_run, scale_note, sources_of
from paper_figures.panels import matrix, rounded
from paper_figures.reported import reported
from paper_figures.style import FAINT, SMALL
from training.probes.network import NEAR
from training.probes.patterns import uniform_mass

TITLE = "Scores and attention after self-pretraining, one layer"
PLACE = "arXiv 2605.21070, Figure 7"
FILE = "maps.npz"
DATASETS = ("image", "pathfinder")
KINDS = {
    "scores": "scores QKᵀ on one example",
    "attention": "attention ÷ uniform",
    "positions-scores": "scores of positions alone",
}

Map = Float[np.ndarray, "tokens tokens"]
#: Most rows and columns of a map that are saved beside the picture.
_SAVED = 64


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of fig7, if there is one, and draw."""
    found, paper = ours(kept, "fig7"), reported("fig07")
    tasks = (*DATASETS, *([WHOLE] if _maps(found, WHOLE) else []))
    maps = {task: _maps(found, task) for task in tasks}
    measures = {task: _measures(one) for task, one in maps.items() if one}
    scale = f"{found.scale} scale, 1 seed, mean over heads" if found.kept is not None else NOT_RUN
    body = page(1.5 + 2.45 * len(tasks), TITLE, f"ours: {scale}")
    panels = body.subplots(len(tasks), len(KINDS), squeeze=False)
    for row, task in enumerate(tasks):
        for column, (kind, words) in enumerate(KINDS.items()):
            axes = panels[row, column]
            axes.set_title(f"{TASKS[task]}\n{words}", fontsize=SMALL + 0.5)
            if kind in maps[task]:
                _map(body, axes, maps[task][kind], kind, block_of(maps[task]["attention"]))
            else:
                say_not_run(axes, found.why_not(task), 28)
        if task in measures:
            one = measures[task]
            panels[row, 1].set_xlabel(
                f"key\nmass within ±{one['reach']:.0f}: {one['mass near']:.3f} (uniform {one['uniform mass']:.3f})"
            )
            for column, name in ((0, "offset share"), (2, "offset share, positions")):
                panels[row, column].set_xlabel(f"key\nvariance by offset alone: {one[name]:.2f}")
    ours_of = {"diagonal": _said(measures, found), "noisier": _coherence(measures)}
    lines = [f"{one.means} – paper: {one.says} ({one.where}); ours: {ours_of[id]}." for id, one in paper.items()]
    note = scale_note(found).replace("`", "")
    warning = [found.kept.warning] if found.kept is not None and found.kept.stale else []
    picture = body.figure
    assert isinstance(picture, Figure)
    write_below(picture, [note, *lines], warning)
    numbers = {
        "schema_version": 1,
        "figure": FIGURE.name,
        "source": PLACE,
        "caption": " ".join([note, *lines]),
        "record": found.kept.provenance() if found.kept is not None else None,
        "measures": measures,
        "maps": {
            f"{task}-{kind}": rounded(_thinned(values), 3) for task, one in maps.items() for kind, values in one.items()
        },
    }
    return Drawing(picture, numbers, (note, *lines, *warning), True)


def _maps(found: Ours, task: str) -> dict[str, Map]:
    """The maps of a task; none where it was not run."""
    if found.kept is None or not any(name.partition(" ")[0] == task for name in found.conditions):
        return {}
    names = {kind: f"{task}-{kind}" for kind in KINDS}
    arrays = found.kept.arrays(FILE, *names.values())
    return {kind: arrays[name].astype(np.float64) for kind, name in names.items()}


def _thinned(values: Map) -> Map:
    """Every so many tokens, so that the file of numbers stays small; the measures are of the whole map."""
    every = -(-len(values) // _SAVED)
    return values[::every, ::every]


def _measures(maps: Mapping[str, Map]) -> dict[str, float]:
    """Numbers of the maps, in which long sequences come as means over square blocks of tokens."""
    attention, entries = maps["attention"], len(maps["attention"])
    block = block_of(attention)
    at = np.arange(entries)
    near = np.abs(at[:, None] - at) <= NEAR
    return {
        "tokens": float(entries * block),
        "reach": float(NEAR * block),
        "mass near": float(np.where(near, attention, 0).sum() * block / entries),
        "uniform mass": uniform_mass(entries, NEAR),
        "offset share": offset_share(maps["scores"]),
        "offset share, positions": offset_share(maps["positions-scores"]),
    }


def block_of(attention: Map) -> int:
    """Tokens a side of the blocks that the entries are means of: rows of attention then sum to one over it.

    >>> block_of(np.full((4, 4), 1 / 16))
    4
    """
    return max(1, round(1 / float(attention.sum(axis=1).mean())))


def offset_share(scores: Map) -> float:
    """Share of the variance of scores that their mean over each offset j − i explains: 1 where only the offset counts.

    >>> offset_share(np.array([[0.0, 1.0], [2.0, 0.0]]))
    1.0
    """
    tokens = len(scores)
    at = np.arange(tokens)
    offsets = at[None, :] - at[:, None] + tokens - 1
    total = float(scores.var())
    if total == 0:
        return 0.0
    counts = np.bincount(offsets.ravel())
    means = np.bincount(offsets.ravel(), scores.ravel()) / counts
    return float(((means - scores.mean()) ** 2 * counts).sum() / counts.sum() / total)


def _map(area: SubFigure, axes: Axes, values: Map, kind: str, block: int) -> None:
    tokens = len(values) * block
    style: dict[str, Any] = {"extent": (-0.5, tokens - 0.5, tokens - 0.5, -0.5)}
    if kind == "attention":
        shown = values * tokens
        style |= {"cmap": "cividis", "vmin": 0.0, "vmax": float(np.quantile(shown, 0.995))}
    else:
        shown = values - np.median(values)
        reach = float(np.quantile(np.abs(shown), 0.995)) or 1.0
        style |= {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach}
    image = matrix(axes, shown, **style)
    bar = area.colorbar(image, ax=axes, shrink=0.75, extend="both")
    bar.outline.set_edgecolor(FAINT)
    bar.ax.tick_params(labelsize=SMALL - 1)
    axes.set_ylabel("query")


def _said(measures: Mapping[str, Mapping[str, float]], found: Ours) -> str:
    parts = []
    for task in dict.fromkeys((*DATASETS, *measures)):
        if task not in measures:
            parts.append(f"{TASKS[task]} {found.why_not(task)}".replace("`", ""))
            continue
        one = measures[task]
        parts.append(
            f"{TASKS[task]} mass within ±{one['reach']:.0f} tokens {one['mass near']:.3f} (uniform "
            f"{one['uniform mass']:.3f})"
        )
    return "; ".join(parts) + f" ({found.scale} scale, 1 seed, one example)" * bool(measures)


def _coherence(measures: Mapping[str, Mapping[str, float]]) -> str:
    """Which scores follow the offset more closely, beside what the paper's two examples look like."""
    shares = {task: measures[task]["offset share"] for task in DATASETS if task in measures}
    said = ", ".join(f"{TASKS[task]} {share:.2f}" for task, share in shares.items()) or NOT_RUN
    text = f"share of the scores' variance by offset alone {said}"
    if len(shares) < len(DATASETS):
        return text
    return f"{text}: {'as said' if shares['pathfinder'] > shares['image'] else 'the other way round'}, on one example"


FIGURE = PaperFigure("fig07", TITLE, PLACE, sources_of((("fig7", "fig07"),)), draw)
