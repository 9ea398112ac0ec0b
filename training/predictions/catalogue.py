"""All predictions, table by table."""

from __future__ import annotations

from training.predictions.conditions_table import CONDITIONS
from training.predictions.lra import LRA
from training.predictions.lra_theory import LRA_THEORY
from training.predictions.paper_table import PAPER
from training.predictions.prediction import Prediction
from training.predictions.table06 import TABLE_6
from training.predictions.theory_table import THEORY


def predictions() -> tuple[Prediction, ...]:
    """Every prediction: of the theory, of the paper, and of the paper under conditions that a search found.

    >>> len({prediction.id for prediction in predictions()}) == len(predictions())
    True
    """
    return (*THEORY, *PAPER, *TABLE_6, *LRA, *LRA_THEORY, *CONDITIONS)
