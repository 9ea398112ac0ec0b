"""One look for every figure: sans-serif, colours that colour-blind readers tell apart, the paper's column widths.

Nothing changes at import: the style holds inside ``with figure_style():`` and is undone afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib

#: Okabe and Ito's palette (2008), distinguishable under the common colour-vision deficiencies.
BLUE, VERMILLION, GREEN, ORANGE, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7"
INK, FAINT = "#222222", "#8a8a8a"

#: Widths in inches of a single column and of the full page.
COLUMN, PAGE = 3.4, 7.0

#: Small text, in points; 7 is the least that print bears.
SMALL = 7.0

_STYLE: Mapping[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.5,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "lines.linewidth": 1.4,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-4, 4),
    "axes.unicode_minus": True,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 300,
    # The same input gives the same bytes, and text is drawn as outlines or embedded, whatever fonts a reader has.
    "svg.hashsalt": "paper_figures",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Matplotlib's defaults with this style on top, whatever a user's own settings are; undone on leaving.

    >>> before = matplotlib.rcParams["font.size"]
    >>> with figure_style():
    ...     matplotlib.rcParams["font.size"]
    8.0
    >>> matplotlib.rcParams["font.size"] == before
    True
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # all but the backend
        matplotlib.rcParams.update(_STYLE)
        yield


def plain(value: float, form: str = ".3g") -> str:
    """A number in a sentence, with a minus sign rather than a hyphen.

    >>> plain(-0.60197), plain(12.0, ".1f")
    ('−0.602', '12.0')
    """
    return f"{value:{form}}".replace("-", "−")


def number(value: float) -> str:
    """A number as mathematics, three significant digits.

    >>> number(0.0), number(-0.60197), number(-1.4e-18)
    ('$0$', '$-0.602$', '$-1.4\\\\times10^{-18}$')
    """
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    return f"${mantissa}\\times10^{{{int(exponent)}}}$" if exponent else f"${mantissa}$"
