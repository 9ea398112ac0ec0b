"""Table 2: labels alone with attention, or attention and MLP, frozen at random."""

from __future__ import annotations

from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import figure_of

TABLE_2 = AccuracyTable(
    number=2,
    title="labels alone with parts frozen at random",
    tasks=("image", "pathfinder", "listops", "retrieval", "text"),
    notes=("Encoder, norms and read-out are always trained. See `errata` on the paper's gain for Retrieval.",),
)
FIGURE = figure_of(TABLE_2)
