"""The figures that can be drawn, by name: one module each."""

from __future__ import annotations

import re

from numerics.errors import InputError
from paper_figures import fig04, fig05, fig06, fig10, fig11, fig12, fig13, fig14, table06, verdicts
from paper_figures.figure import PaperFigure

_MODULES = (fig04, fig05, fig06, fig10, fig11, fig12, fig13, fig14, table06, verdicts)
_FIGURES = {module.FIGURE.name: module.FIGURE for module in _MODULES}


def figures() -> tuple[PaperFigure, ...]:
    """Every figure, in the paper's order.

    >>> [figure.name for figure in figures()][-2:]
    ['table06', 'verdicts']
    """
    return tuple(_FIGURES.values())


def find_figure(name: str) -> PaperFigure:
    """The figure with this name; ``fig4`` is ``fig04``.

    Raises:
        InputError: if there is none; the message lists those that exist.

    >>> find_figure("fig14").place
    'arXiv 2605.21070, Figure 14'
    """
    whole = re.sub(r"^fig(\d)$", r"fig0\1", name)
    if whole not in _FIGURES:
        raise InputError(
            f"a figure must be one of {', '.join(_FIGURES)} or all: got {name!r}; see python -m paper_figures list"
        )
    return _FIGURES[whole]
