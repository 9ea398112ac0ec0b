"""Table 3: multilayer networks of which a part starts from self-pretrained weights.

The paper's second block, on the MLP, is lost in our copy; its two arms that the text names are run all the same.
"""

from __future__ import annotations

from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import figure_of

TABLE_3 = AccuracyTable(
    number=3,
    title="several layers, of which a part starts from SPT",
    tasks=("image", "pathfinder"),
    own=("attention+mlp", "mlp+norms+encoder"),
    notes=(
        "The paper's second block (initialisation of the MLP) is lost in our copy of the paper: its numbers read “–” "
        "and are not guessed. The caption prints no gains.",
    ),
)
FIGURE = figure_of(TABLE_3)
