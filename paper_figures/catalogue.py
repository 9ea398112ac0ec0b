"""The figures that can be drawn, by name: one module each."""

from __future__ import annotations

import re

from numerics.errors import InputError
from paper_figures import (
    errata,
    fig03,
    fig04,
    fig05,
    fig06,
    fig07,
    fig09,
    fig10,
    fig11,
    fig12,
    fig13,
    fig14,
    table01,
    table02,
    table03,
    table04,
    table05,
    table06,
    table07,
    table08,
    table09,
    table10,
    table11,
    verdicts,
)  # fmt: skip
from paper_figures.figure import PaperFigure

_MODULES = (
    fig03, fig04, fig05, fig06, fig07, fig09, fig10, fig11, fig12, fig13, fig14, table01, table02, table03, table04,
    table05, table06, table07, table08, table09, table10, table11, errata, verdicts,
)  # fmt: skip
_FIGURES = {module.FIGURE.name: module.FIGURE for module in _MODULES}


def figures() -> tuple[PaperFigure, ...]:
    """Every figure, in the paper's order.

    >>> [figure.name for figure in figures()][-2:]
    ['errata', 'verdicts']
    """
    return tuple(_FIGURES.values())


def find_figure(name: str) -> PaperFigure:
    """The figure with this name; ``fig4`` is ``fig04``, ``table3`` is ``table03``.

    Raises:
        InputError: if there is none; the message lists those that exist.

    >>> find_figure("fig14").place
    'arXiv 2605.21070, Figure 14'
    """
    whole = re.sub(r"^(fig|table)(\d)$", r"\g<1>0\2", name)
    if whole not in _FIGURES:
        raise InputError(
            f"a figure must be one of {', '.join(_FIGURES)} or all: got {name!r}; see python -m paper_figures list"
        )
    return _FIGURES[whole]
