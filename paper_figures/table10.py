"""Table 10: displacements and norms of every component on Image (CIFAR10)."""

from __future__ import annotations

from paper_figures.weights_tables import figure_of

FIGURE = figure_of("image")
