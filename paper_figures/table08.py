"""Table 8: depth, and self-pretraining on the other data set; training and validation accuracy."""

from __future__ import annotations

from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import figure_of
from paper_figures.arms import words

KINDS = ("scratch", "spt-finetune", "swapped")


def layers(arm: str) -> int:
    """Number of layers.

    >>> layers("2-layer swapped")
    2
    """
    return int(arm.partition("-layer")[0])


def kind(arm: str) -> str:
    """What was trained.

    >>> kind("2-layer swapped")
    'swapped'
    """
    return arm.partition(" ")[2]


def arm_words(arm: str) -> str:
    """Depth and what was trained.

    >>> arm_words("1-layer swapped")
    '1 layer: SPT on the other set'
    """
    count, trained = layers(arm), kind(arm)
    said = "SPT on the other set" if trained == "swapped" else words(trained)
    return f"{count} layer{'s' * (count != 1)}: {said}"


TABLE_8 = AccuracyTable(
    number=8,
    title="depth, and self-pretraining on the other data set",
    tasks=("image", "pathfinder"),
    words=arm_words,
    base=lambda arm: None if kind(arm) == "scratch" else f"{layers(arm)}-layer scratch",
    order=lambda arm: (layers(arm), KINDS.index(kind(arm)) if kind(arm) in KINDS else len(KINDS)),
    splits={"train": "train", "val": "test"},
    notes=(
        "Train and val are the paper's words; our val is the test split. The other set: PathFinder for Image, Image "
        "for "
        "PathFinder. The paper's deepest networks have 3 layers on CIFAR10 and 4 on PathFinder.",
    ),
)
FIGURE = figure_of(TABLE_8)
