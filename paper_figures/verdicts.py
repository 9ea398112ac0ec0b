"""The predictions about training and their verdicts: a forest plot, and the whole table as Markdown.

Effects have different units (accuracies, cosines, epochs), so each is drawn as its distance from the bound that the
prediction names, in units of the least distance that its seeds would have found with power .8; right of 0 lies what was
predicted.  The numbers themselves stand beside it.  A verdict whose records have changed since reads "stale".  Checked
by ``tests/paper_figures/test_verdicts.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.figure import Drawing, PaperFigure
from paper_figures.judged import COMMAND, EDGE, Row, placed, read
from paper_figures.kept import KeptRecords
from paper_figures.sources import Source
from paper_figures.style import BLUE, FAINT, INK, ORANGE, PAGE, SMALL, VERMILLION
from training.experiments.record import KEPT
from training.predictions.verdicts import FILE

TITLE = "Predictions about training and what the runs say"
PLACE = "arXiv 2605.21070, sections 4 and 5, and the theory's own predictions"

#: Verdict, with colour and marker.
VERDICTS: Mapping[str, tuple[str, str]] = {
    "confirmed": (BLUE, "o"),
    "contradicted": (VERMILLION, "X"),
    "inconclusive": (ORANGE, "D"),
    "not run": (FAINT, ""),
    "stale": (FAINT, ""),
}


def draw(kept: KeptRecords) -> Drawing:
    """Read verdicts.json and draw."""
    path = kept.folder / FILE
    content = read(path)
    rows = [placed(verdict, kept.folder) for verdict in content["verdicts"]]
    scale = str(content.get("scale", "unknown"))
    picture = _picture(rows, scale)
    counts = {name: sum(row.verdict == name for row in rows) for name in VERDICTS}
    summary = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    stale = (f"stale verdicts rest on records that have changed: {COMMAND} judges again",) if counts["stale"] else ()
    numbers = {
        "schema_version": 1,
        "figure": FIGURE.name,
        "source": PLACE,
        "scale": scale,
        "verdicts_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "counts": counts,
        "rows": [
            {"id": r.content["id"], "verdict": r.verdict, "distance": r.distance, "low": r.low, "high": r.high}
            for r in rows
        ],
    }
    lines = (f"{len(rows)} predictions, {scale} scale: {summary}", *stale)
    return Drawing(picture, numbers, lines, True, {"md": markdown(rows, scale)})


def _picture(rows: Sequence[Row], scale: str) -> Figure:
    tables = list(dict.fromkeys(row.table for row in rows))
    height = 1.5 + 0.19 * (len(rows) + 1.4 * len(tables))
    picture = Figure(figsize=(PAGE, height))
    picture.suptitle(f"{TITLE}\n{scale} scale; 95 % intervals over seeds", fontsize=9)
    axes = picture.subplots()
    axes.axvspan(0, EDGE * 1.6, color=FAINT, alpha=0.08, linewidth=0)
    axes.axvline(0, color=FAINT, linewidth=0.8)
    for side in (-1, 1):
        axes.axvline(side, color=FAINT, linewidth=0.5, linestyle=":")
    line, ticks, names = 0.0, [], []
    for table in tables:
        line += 1.4
        axes.annotate(
            f"table: {table}", (0, line - 1), (-4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
            ha="right", va="center", fontweight="bold", fontsize=SMALL,
        )  # fmt: skip
        for row in (row for row in rows if row.table == table):
            _row(axes, row, line)
            ticks.append(line)
            names.append(row.content["id"])
            line += 1
    axes.set_yticks(ticks, labels=names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(line, -0.4)
    axes.set_xscale("symlog", linthresh=1.0, linscale=1.0)
    axes.set_xlim(-EDGE * 1.6, EDGE * 1.6)
    axes.set_xticks([-100, -10, -1, 0, 1, 10, 100], labels=["−100", "−10", "−1", "0", "1", "10", "100"])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("← excluded     distance from the bound, in detectable effects (power .8)     as predicted →")
    picture.legend(handles=_handles(), loc="outside lower center", ncols=4)
    return picture


def _row(axes: Axes, row: Row, line: float) -> None:
    colour, marker = VERDICTS[row.verdict]
    if row.distance is not None and row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [line, line], color=colour, linewidth=1.2)
        fill = "white" if row.verdict == "inconclusive" and not row.content["suggestive"] else colour
        shown = marker if abs(row.distance) < EDGE else (">" if row.distance > 0 else "<")
        axes.plot(row.distance, line, shown, color=colour, markerfacecolor=fill, markersize=5)
    dim = INK if row.verdict in ("confirmed", "contradicted", "inconclusive") else FAINT
    seeds = f"; n = {row.content['seeds']}" if row.content["seeds"] else ""
    words = f"{row.effect or row.verdict}; predicted {row.bound}{seeds}"
    axes.annotate(
        words, (1, line), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
        va="center", fontsize=SMALL, color=dim,
    )  # fmt: skip


def _handles() -> list[Line2D]:
    def handle(verdict: str, words: str, filled: bool = True) -> Line2D:
        colour, marker = VERDICTS[verdict]
        fill = colour if filled else "white"
        return Line2D([], [], color=colour, marker=marker, markerfacecolor=fill, markersize=5, label=words)

    return [
        handle("confirmed", "confirmed"),
        handle("contradicted", "contradicted (not reproduced here)"),
        handle("inconclusive", "inconclusive", filled=False),
        handle("inconclusive", "inconclusive, suggestive"),
    ]


def markdown(rows: Sequence[Row], scale: str) -> str:
    """The whole table, a section a table of predictions."""
    lines = [
        f"# {TITLE}",
        "",
        f"Toy task, {scale} scale. Effect: mean over seeds with its 95 % interval; p: exact sign flips, "
        "corrected by Holm within a table; detects: the distance from the bound found with power .8.",
    ]
    for table in dict.fromkeys(row.table for row in rows):
        lines += [
            "",
            f"## {table}",
            "",
            "| prediction | of | bound | effect [95 %] | p (Holm) | seeds | detects | verdict |",
        ]
        lines.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
        lines += [_markdown_row(row) for row in rows if row.table == table]
    missing = dict.fromkeys(row.content["command"] for row in rows if row.verdict == "not run")
    if missing:
        lines += ["", "Not run; these commands make the records:", "", *(f"- `{command}`" for command in missing)]
    if any(row.verdict == "stale" for row in rows):
        lines += ["", f"Stale verdicts rest on records that have changed: `{COMMAND}` judges again."]
    return "\n".join(lines) + "\n"


def _markdown_row(row: Row) -> str:
    c = row.content
    cells = [f"`{c['id']}`: {c['sentence']}", ", ".join(c["claims"]), row.bound]
    if not row.effect:
        cells += ["–"] * 4
    else:
        detects = "–" if c["minimum_detectable_effect"] is None else f"{c['minimum_detectable_effect']:.2g}"
        p_values = "–" if c["p_value"] is None else f"{c['p_value']:.2g} ({c['p_holm']:.2g})"
        cells += [row.effect, p_values, str(c["seeds"]), detects]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in [*cells, row.word]) + " |"


def _need(kept: KeptRecords) -> Source:
    records = "" if kept.folder == KEPT else f" --records {kept.folder}"
    return Source("verdicts on the predictions", kept.folder / FILE, COMMAND + records)


FIGURE = PaperFigure("verdicts", TITLE, PLACE, (_need,), draw)
