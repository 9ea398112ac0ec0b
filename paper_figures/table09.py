"""Table 9: one layer; which parts of self-pretraining carry its gain (Table 4 in full)."""

from __future__ import annotations

from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import figure_of

TABLE_9 = AccuracyTable(
    number=9,
    title="one layer, which parts of SPT carry its gain",
    tasks=("image", "pathfinder"),
    notes=("The paper prints neither deviations nor gains here, and calls the encoder “Lin” in one heading.",),
)
FIGURE = figure_of(TABLE_9)
