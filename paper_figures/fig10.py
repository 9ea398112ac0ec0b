"""Figure 10: example trajectories of both labels, with the anchors that the paper gives (appendix C.1).

Points: what the network sees.  Line: the same trajectory without noise and outliers.  Checked by
``tests/paper_figures/test_fig10.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from paper_figures.beside import Comparison, finish, sheet
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords, experiment
from paper_figures.reported import reported
from paper_figures.style import BLUE, INK, VERMILLION

TITLE = "Example trajectories of the two labels"
PLACE = "arXiv 2605.21070, Figure 10"
_COLUMNS = ("x", "y", "clean_x", "clean_y")


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of toy-fig10 and draw."""
    record, paper = kept.read("toy-fig10"), reported("fig10")
    table = record.table("examples.csv", "label", "example", "position", *_COLUMNS)
    anchors = np.array(paper["anchors"].value)
    examples = {
        (int(label), int(example)): rows.sort("position").select(_COLUMNS).to_numpy()
        for (label, example), rows in table.group_by("label", "example", maintain_order=True)
    }
    labels = sorted({label for label, _ in examples})
    across = max(example for _, example in examples) + 1
    body = sheet(4.7, TITLE, record, None)
    grid = body.subplots(len(labels), across, sharex=True, sharey=True, squeeze=False)
    for (label, example), values in examples.items():
        points = _panel(grid[label, example], values, anchors[label])
        grid[label, example].set_title(f"label {label}, example {example + 1}")
    for axes in grid[-1]:
        axes.set_xlabel("$x_1$")
    for axes in grid[:, 0]:
        axes.set_ylabel("$x_2$")
    length = int(table["position"].max()) + 1  # type: ignore[arg-type]
    body.colorbar(points, ax=grid, shrink=0.8, pad=0.01, label=f"position in the sequence (of {length})")
    body.legend(handles=_handles(), loc="outside upper center", ncols=3)
    reach = {key: off_line(values[:, 2:], anchors[key[0]]) for key, values in examples.items()}
    low, high = min(reach.values()), max(reach.values())
    comparisons = [
        Comparison(paper["anchors"], "the same (crosses); noiseless curves run between them", {}),
        Comparison(
            paper["amplitude"],
            f"noiseless curves leave the anchors' line by {low:.3f} to {high:.3f} in {len(examples)} examples",
            {"least": low, "greatest": high},
        ),
    ]
    numbers: dict[str, Any] = {
        "anchors": anchors.tolist(),
        "examples": [
            {"label": label, "example": example, "off_line": reach[label, example]}
            | {name: values[:, place].tolist() for place, name in enumerate(_COLUMNS)}
            for (label, example), values in examples.items()
        ],
    }
    noise = noise_of(table)
    note = (
        f"Ours, for the paper's equations of the curve did not survive: noise of deviation {noise:.2f} a coordinate "
        "(measured from points and lines by their median) and how the curves run; axes in the paper's units."
    )
    return finish(body, FIGURE.name, PLACE, record, comparisons, {"noise": noise, **numbers}, [note])


def noise_of(table: polars.DataFrame) -> float:
    """Standard deviation of the noise, from the median absolute deviation: outliers hardly move it."""
    away = np.concatenate([(table[name] - table[f"clean_{name}"]).abs().to_numpy() for name in ("x", "y")])
    return float(np.median(away) / 0.6744897501960817)


def off_line(curve: Float[np.ndarray, "positions 2"], anchors: Float[np.ndarray, "2 2"]) -> float:
    """Largest distance of a curve from the line through both anchors."""
    along = anchors[1] - anchors[0]
    normal = np.array([-along[1], along[0]]) / np.linalg.norm(along)
    return float(np.abs((curve - anchors[0]) @ normal).max())


def _panel(axes: Axes, values: Float[np.ndarray, "positions 4"], anchors: Float[np.ndarray, "2 2"]) -> Any:
    axes.plot(values[:, 2], values[:, 3], color=INK, linewidth=0.8, alpha=0.8)
    points = axes.scatter(values[:, 0], values[:, 1], c=np.arange(len(values)), cmap="cividis", s=6, linewidths=0)
    for anchor, colour, marker in zip(anchors, (VERMILLION, BLUE), ("X", "P"), strict=True):
        axes.plot(*anchor, marker, color=colour, markersize=7, markeredgecolor="white", markeredgewidth=0.6)
    axes.set_aspect("equal")
    return points


def _handles() -> list[Line2D]:
    dot: dict[str, Any] = {"linestyle": "", "markersize": 5}
    return [
        Line2D([], [], color=INK, linewidth=0.8, label="without noise and outliers"),
        Line2D([], [], color=VERMILLION, marker="X", label="anchor $c_1$ (paper)", **dot),
        Line2D([], [], color=BLUE, marker="P", label="anchor $c_2$ (paper)", **dot),
    ]


FIGURE = PaperFigure("fig10", TITLE, PLACE, (experiment("toy-fig10"),), draw)
