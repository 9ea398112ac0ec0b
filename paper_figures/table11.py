"""Table 11: displacements and norms of every component on PathFinder."""

from __future__ import annotations

from paper_figures.weights_tables import figure_of

FIGURE = figure_of("pathfinder")
