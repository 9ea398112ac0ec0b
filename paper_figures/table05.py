"""Table 5: positional encodings, from labels alone and after self-pretraining."""

from __future__ import annotations

from paper_figures.accuracy import AccuracyTable
from paper_figures.accuracy_tables import figure_of
from paper_figures.arms import words

POSITIONS = {
    "sinusoidal": "sinusoidal (PE)",
    "alibi": "ALiBi",
    "fire": "FIRE",
    "rope": "RoPE",
    "sinusoidal+alibi": "PE + ALiBi",
    "sinusoidal+fire": "PE + FIRE",
    "rope+alibi": "RoPE + ALiBi",
}


def arm_words(arm: str) -> str:
    """Positions and what was trained.

    >>> arm_words("alibi scratch")
    'ALiBi: labels alone'
    """
    positions, _, rest = arm.partition(" ")
    return f"{POSITIONS.get(positions, positions)}: {words(rest)}"


def scratch_of(arm: str) -> str | None:
    """Labels alone with the same positions.

    >>> scratch_of("alibi spt-finetune"), scratch_of("alibi scratch")
    ('alibi scratch', None)
    """
    positions, _, rest = arm.partition(" ")
    return None if rest == "scratch" else f"{positions} scratch"


TABLE_5 = AccuracyTable(
    number=5,
    title="positional encodings, labels alone and after SPT",
    tasks=("image", "pathfinder"),
    words=arm_words,
    base=scratch_of,
    notes=("Gains are over labels alone with the same positions; the paper prints none, and single runs.",),
)
FIGURE = figure_of(TABLE_5)
