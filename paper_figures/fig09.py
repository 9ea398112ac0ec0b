"""Figure 9: how much labels alone change the norm of each component, from the paper's Tables 10 and 11, and ours.

The figure's caption is lost in our copy; the paper's text says what it shows.  The paper's bars are computed here from
its printed norms, ‖SC‖ − ‖R‖, and averaged over layers.  Checked by ``tests/paper_figures/test_lra_figures.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figures import weights
from paper_figures.beside import page, write_below
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords
from paper_figures.lra import NOT_RUN, TASKS, Ours, say_not_run, scale_note, sources_of
from paper_figures.reported import reported
from paper_figures.style import BLUE, INK, ORANGE, SMALL, plain
from paper_figures.weights import ATTENTION, Row, norm_change

TITLE = "Change of norms by labels alone, by component"
PLACE = "arXiv 2605.21070, Figure 9 (numbers: Tables 10 and 11)"
_SHOWN = {
    "encoder": "enc.", "query": "Q", "key": "K", "value": "V", "output": "O", "mlp-up": "MLP\nup",
    "mlp-down": "MLP\ndown", "mlp": "MLP\nboth", "norms": "norms",
}  # fmt: skip

Changes = dict[str, list[float]]


def draw(kept: KeptRecords) -> Drawing:
    """Read the records of table10 and table11, as far as there are any, and draw."""
    both = {task: weights.read(task, kept) for task in weights.TABLES}
    said = {task: _changes(rows, ours=False) for task, (_, rows) in both.items()}
    own = {task: _changes(rows, ours=True) for task, (_, rows) in both.items()}
    body = page(5.6, TITLE, "‖SC‖ − ‖R‖; bars: mean over layers, dots: layers")
    picture = body.figure
    assert isinstance(picture, Figure)
    panels = body.subplots(2, 2)
    for column, (task, (found, _)) in enumerate(both.items()):
        _panel(panels[0, column], said[task], ORANGE, f"{TASKS[task]}: paper (one run)")
        scale = f"ours, {found.scale} scale" if found.kept is not None else f"ours: {NOT_RUN}"
        _panel(panels[1, column], own[task], BLUE, f"{TASKS[task]}: {scale}")
        if not own[task]:
            say_not_run(panels[1, column], found.why_not(task), 44)
    lines = [_line(said, own, {task: found for task, (found, _) in both.items()})]
    notes = [f"Table {weights.TABLES[task]}. {scale_note(found)}".replace("`", "") for task, (found, _) in both.items()]
    warning = [found.kept.warning for found, _ in both.values() if found.kept is not None and found.kept.stale]
    write_below(picture, [*notes, *lines], warning)
    numbers = {
        "schema_version": 1,
        "figure": FIGURE.name,
        "source": PLACE,
        "caption": " ".join([*notes, *lines]),
        "records": [found.kept.provenance() for found, _ in both.values() if found.kept is not None],
        "paper": said,
        "ours": own,
        "ratio": {
            who: {task: mlp_over_attention(one) for task, one in found.items()}
            for who, found in (("paper", said), ("ours", own))
        },
    }
    return Drawing(picture, numbers, (*notes, *lines, *warning), True)


def _changes(rows: Sequence[Row], *, ours: bool) -> Changes:
    """Norm changes of each component, layer by layer."""
    found: Changes = {}
    for row in rows:
        theirs, own = norm_change(row)
        value = (None if own is None else own.mean) if ours else theirs
        if value is not None and row.component in _SHOWN and (row.layer or row.component == "encoder"):
            found.setdefault(row.component, []).append(value)
    return found


def mlp_over_attention(found: Mapping[str, Sequence[float]]) -> float | None:
    """Mean change of an MLP (both maps) over that of an attention projection; None where one is missing.

    >>> mlp_over_attention({"query": [1.0], "key": [1.0], "value": [1.0], "output": [1.0], "mlp": [3.0]})
    3.0
    """
    projections = [value for name in ATTENTION for value in found.get(name, ())]
    if not projections or not found.get("mlp"):
        return None
    return (sum(found["mlp"]) / len(found["mlp"])) / (sum(projections) / len(projections))


def _panel(axes: Axes, found: Changes, colour: str, title: str) -> None:
    axes.axhline(0, color=INK, linewidth=0.6)
    for place, name in enumerate(_SHOWN):
        values = found.get(name, [])
        if values:
            axes.bar(place, sum(values) / len(values), color=colour, alpha=0.55, width=0.7)
            axes.plot([place] * len(values), values, ".", color=INK, markersize=3)
    axes.set_title(title, fontsize=SMALL + 0.5)
    axes.set_xticks(range(len(_SHOWN)), labels=_SHOWN.values(), fontsize=SMALL - 0.8)
    axes.tick_params(axis="x", length=0, labelbottom=True)


def _line(said: Mapping[str, Changes], own: Mapping[str, Changes], found: Mapping[str, Ours]) -> str:
    statement = reported("fig09")["mlp-dominate"]
    ratios = ", ".join(f"{TASKS[task]} {_ratio(one)}" for task, one in said.items())
    ours = ", ".join(
        f"{TASKS[task]} {_ratio(one) if one else found[task].why_not(task).replace('`', '')}"
        for task, one in own.items()
    )
    return (
        f"{statement.means} – paper: {statement.says} ({statement.where}); MLP over a projection, mean change, from "
        "the "
        f"paper's own tables: {ratios}; ours: {ours}."
    )


def _ratio(found: Changes) -> str:
    value = mlp_over_attention(found)
    return "–" if value is None else plain(value, ".2f")


FIGURE = PaperFigure("fig09", TITLE, PLACE, sources_of((("table10", "table10"), ("table11", "table11"))), draw)
