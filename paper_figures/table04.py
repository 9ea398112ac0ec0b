"""Table 4: one layer; query and key alone, or all but them, start from self-pretrained weights.

Ours adds attention that is written without any training (mimetic; predicted by Q3), labels alone for as many updates,
and the same arms from independent initial weights: the paper's code base starts with W_Q = W_K = W_V = W_O.
At laptop scale, where Image has 256 tokens, three arms also have the paper's 1024.
"""

from __future__ import annotations

from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import figure_of
from training.experiments.lra.whole_image import DATASET, NAME

#: The paper's arms, which ours repeats from independent initial weights.
ARMS = ("scratch", "spt-finetune", "qk", "all-but-qk")

TABLE_4 = AccuracyTable(
    number=4,
    title="one layer, of which Q and K, or all else, start from SPT",
    tasks=("image", "pathfinder", DATASET),
    own=("scratch-matched", "mimetic", "predicted", "predicted-masked", *(f"{arm} independent" for arm in ARMS)),
    also=("table4-ours", NAME),
    judged={"image predicted": ("table4-laptop-predicted",), f"{DATASET} qk": ("table4-whole-qk-gain",)},
    notes=(
        "Initial weights are tied (W_Q = W_K = W_V = W_O, as in the paper's runs) unless a line says independent. "
        "Predicted: W_Q and W_K written so that their scores are the pattern K R J K of claim Q3, from the data alone.",
    ),
)
FIGURE = figure_of(TABLE_4)
