"""Table 1: the five tasks of the Long-Range Arena, from labels alone and after self-pretraining.

Ours adds labels alone for as many updates as both stages together, which the paper does not have.
"""

from __future__ import annotations

from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import figure_of

TABLE_1 = AccuracyTable(
    number=1,
    title="accuracy from labels alone and after self-pretraining",
    tasks=("listops", "image", "pathfinder", "retrieval", "text"),
    own=("scratch-matched",),
    theirs={"amos": "the numbers of Amos et al.; not ours to run"},
    notes=(
        "As many updates: labels alone for as long as SPT and finetuning together (the paper compares 300 epochs with "
        "100). PathX is left out by the paper for its cost, and here.",
    ),
)
FIGURE = figure_of(TABLE_1)
