"""Tables 10 and 11 as they are set: displacements, norms, and how much less labels move a component than SPT does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper_figures.accuracy_tables import mean
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords
from paper_figures.lra import NOT_RUN, TASKS, Ours, judged, need, scale_note
from paper_figures.reported import reported
from paper_figures.style import BLUE, FAINT, INK, ORANGE, PAGE, plain
from paper_figures.typeset import Column, Table, latex, markdown, web_page
from paper_figures.weights import COMPONENTS, JOINED, PAIRS, STAGES, TABLES, Row, read

_ARROW = {pair: pair.replace(">", "→") for pair in PAIRS}
RATIO = "R→SC ÷ R→SPT"


def figure_of(task: str) -> PaperFigure:
    """The drawing of a task's table."""
    number = TABLES[task]
    return PaperFigure(
        f"table{number}",
        f"How far weights move on {TASKS[task]}, and how large they become",
        f"arXiv 2605.21070, Table {number}",
        (lambda kept: need(kept, f"table{number}", f"table{number}"),),
        lambda kept: draw(task, kept),
    )


def draw(task: str, kept: KeptRecords) -> Drawing:
    """Read the record, if there is one, and set the table."""
    number = TABLES[task]
    found, rows = read(task, kept)
    warning = (found.kept.warning,) if found.kept is not None and found.kept.stale else ()
    why = "" if found.kept is not None else found.why_not(task)
    notes = (*_notes(found, why), *warning)
    tables = [_displacements(task, found, rows, notes), _norms(found, rows)]
    name, place = f"table{number}", f"arXiv 2605.21070, Table {number}"
    numbers = {
        "schema_version": 1,
        "figure": name,
        "source": place,
        "caption": " ".join(notes),
        "scale": found.scale if found.kept is not None else None,
        "record": found.kept.provenance() if found.kept is not None else None,
        "compared": [{"paper": asdict(one)} for one in reported(name).values()],
        "rows": [_saved(row) for row in rows],
    }
    extra = {"md": markdown(tables), "tex": latex(tables, name), "html": web_page(tables, f"{name}.png")}
    lines = [f"drawn from {name} at {found.scale} scale" if found.kept else f"no record of {name}: {why}"]
    lines += [_line(row, found) for row in rows if row.component in ("query", "key", "mlp")]
    lines += [f"{one.prediction.id}: {one.verdict} at {found.scale} scale" for one in judged(found, number)]
    return Drawing(_picture(task, found, rows), numbers, (*lines, *warning), True, extra)


def _notes(found: Ours, why: str) -> tuple[str, ...]:
    return (
        scale_note(found),
        *([f"Ours: {why}."] if why else []),
        "R: initialisation, SPT: after self-pretraining, SC: after labels alone, FT: after both. Frobenius distances "
        "and "
        "norms with biases, in the paper from one run each; ours mean ± half of Student's 95 % interval over seeds. "
        "They "
        f"grow with width and updates, so between scales only ratios such as {RATIO} compare.",
        "–: not printed, or no such layer or row in our networks and records. The paper's two norms of a layer are "
        "joined here (root of the sum of squares), as our records have them; our "
        "records do not part MLP up from MLP down.",
        "SPT and finetuning have three times the epochs of labels alone (200 + 100 against 100): the distances are not "
        "at equal compute.",
    )


def _name(row: Row) -> tuple[str, str]:
    return row.layer, COMPONENTS.get(row.component, row.component)


def _displacements(task: str, found: Ours, rows: Sequence[Row], notes: tuple[str, ...]) -> Table:
    pairs = [Column(_ARROW[pair], who) for pair in PAIRS for who in ("paper", "ours")]
    columns = (
        Column("", "layer", text=True), Column("", "component", text=True), *pairs,
        Column(RATIO, "paper"), Column(RATIO, "ours"),
    )  # fmt: skip
    body = []
    for row in rows:
        cells = [text for pair in PAIRS for text in (_paper(row, pair), _ours(row, pair, found))]
        ratio = row.paper_ratio
        own = _absent(row, found) if row.ratio is None else mean(row.ratio)
        body.append((*_name(row), *cells, "–" if ratio is None else plain(ratio, ".2f"), own))
    scale = f"ours at {found.scale} scale" if found.kept is not None else f"ours: {NOT_RUN}"
    return Table(
        f"Table {TABLES[task]} and ours: displacements on {TASKS[task]} ({scale})", columns, _blocks(rows, body), notes
    )


def _norms(found: Ours, rows: Sequence[Row]) -> Table:
    stages = [Column(f"‖{stage}‖", who) for stage in STAGES for who in ("paper", "ours")]
    columns = (Column("", "layer", text=True), Column("", "component", text=True), *stages)
    body = [
        (*_name(row), *(text for s in STAGES for text in (_paper(row, f"norm {s}"), _ours(row, f"norm {s}", found))))
        for row in rows
    ]
    return Table("Norms", columns, _blocks(rows, body))


def _blocks(rows: Sequence[Row], body: Sequence[tuple[str, ...]]) -> tuple[tuple[tuple[str, ...], ...], ...]:
    layers = list(dict.fromkeys(row.layer if row.component != "encoder" else "in" for row in rows))
    return tuple(
        tuple(
            line
            for row, line in zip(rows, body, strict=True)
            if (row.layer if row.component != "encoder" else "in") == layer
        )
        for layer in layers
    )


def _paper(row: Row, name: str) -> str:
    return "–" if row.paper is None else plain(row.paper[name], ".2f")


def _ours(row: Row, name: str, found: Ours) -> str:
    return mean(row.ours[name]) if name in row.ours else _absent(row, found)


def _absent(row: Row, found: Ours) -> str:
    """Not run, or a row that our networks or records do not have."""
    return NOT_RUN if found.kept is None and row.component not in JOINED else "–"


def _line(row: Row, found: Ours) -> str:
    layer, name = _name(row)
    said = "–" if row.paper_ratio is None else plain(row.paper_ratio, ".2f")
    own = _absent(row, found) if row.ratio is None else f"{mean(row.ratio)}, {row.ratio.seeds} seeds"
    return f"layer {layer} {name}: {RATIO} paper {said}, ours {own}"


def _saved(row: Row) -> dict[str, object]:
    return {
        "layer": row.layer,
        "component": row.component,
        "paper": row.paper,
        "ours": {name: one.record() for name, one in row.ours.items()},
        "paper ratio": row.paper_ratio,
        "ratio": None if row.ratio is None else row.ratio.record(),
    }


def _picture(task: str, found: Ours, rows: Sequence[Row]) -> Figure:
    """How much less labels move each component than self-pretraining does; left of 1 they move it less."""
    drawn = Figure(figsize=(PAGE, 1.3 + 0.17 * len(rows)))
    scale = f"ours at {found.scale} scale, the paper's at its own" if found.kept else f"ours: {NOT_RUN}"
    drawn.suptitle(f"Displacement by labels alone over that by SPT, {TASKS[task]}\n{scale}", fontsize=8.5)
    axes = drawn.subplots()
    axes.axvline(1, color=INK, linewidth=0.8)
    for place, row in enumerate(rows):
        if row.paper_ratio is not None:
            axes.plot(row.paper_ratio, place - 0.15, "D", color=ORANGE, markerfacecolor="white", markersize=4)
        if row.ratio is not None:
            reach = (row.ratio.high - row.ratio.low) / 2 if row.ratio.seeds > 1 else None
            axes.errorbar(row.ratio.mean, place + 0.15, xerr=reach, fmt="o", color=BLUE, markersize=3.5, capsize=1.5)
    names = [f"layer {row.layer}: {_name(row)[1]}" if row.layer else _name(row)[1] for row in rows]
    axes.set_yticks(range(len(rows)), labels=names)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_xticks(ticks := [0.1, 0.2, 0.5, 1, 2, 5], labels=[f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(f"{RATIO} (left of 1: labels move it less)")
    axes.grid(color=FAINT, alpha=0.2, linewidth=0.5)
    handles = [
        Line2D(
            [],
            [],
            color=ORANGE,
            marker="D",
            markerfacecolor="white",
            linestyle="",
            markersize=4,
            label="paper, one run",
        ),
        Line2D([], [], color=BLUE, marker="o", linestyle="", markersize=3.5, label="ours, ± 95 % interval"),
    ]
    drawn.legend(handles=handles, loc="outside lower center", ncols=2)
    return drawn
