"""Table 7: accuracy over the length of self-pretraining (the numbers of Figure 3)."""

from __future__ import annotations

from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import figure_of


def epochs(arm: str) -> int:
    """Epochs of self-pretraining.

    >>> epochs("spt-10")
    10
    """
    return int(arm.removeprefix("spt-"))


def arm_words(arm: str) -> str:
    """An arm as it is shown.

    >>> arm_words("spt-1")
    '1 epoch of SPT'
    """
    count = epochs(arm)
    return f"{count} epoch{'s' * (count != 1)} of SPT"


TABLE_7 = AccuracyTable(
    number=7,
    title="length of self-pretraining",
    tasks=("listops", "image", "pathfinder"),
    words=arm_words,
    base=lambda arm: None if arm == "spt-0" else "spt-0",
    order=epochs,
    notes=(
        "Epochs are those of each scale's own data: an epoch at laptop scale has fewer updates than one at the "
        "paper's. "
        "The paper lowers the learning rate at 1 epoch without saying to what.",
    ),
)
FIGURE = figure_of(TABLE_7)
