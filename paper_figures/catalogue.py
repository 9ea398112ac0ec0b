"""The figures that can be drawn, by name: one module each."""

from __future__ import annotations

from numerics.errors import InputError
from paper_figures import fig14
from paper_figures.figure import PaperFigure

_FIGURES = {module.FIGURE.name: module.FIGURE for module in (fig14,)}


def figures() -> tuple[PaperFigure, ...]:
    """Every figure, in the paper's order.

    >>> [figure.name for figure in figures()]
    ['fig14']
    """
    return tuple(_FIGURES.values())


def find_figure(name: str) -> PaperFigure:
    """The figure with this name.

    Raises:
        InputError: if there is none; the message lists those that exist.

    >>> find_figure("fig14").place
    'arXiv 2605.21070, Figure 14'
    """
    if name not in _FIGURES:
        raise InputError(
            f"a figure must be one of {', '.join(_FIGURES)} or all: got {name!r}; see python -m paper_figures list"
        )
    return _FIGURES[name]
