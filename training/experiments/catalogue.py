"""All experiments, by name."""

from __future__ import annotations

from numerics.errors import InputError
from training.experiments.experiment import Experiment
from training.experiments.toy_fig4 import TOY_FIG4


def experiments() -> tuple[Experiment, ...]:
    """Every experiment, in the paper's order."""
    return (TOY_FIG4,)


def find_experiment(name: str) -> Experiment:
    """The experiment of that name.

    >>> find_experiment("toy-fig4").place
    'Figures 4 and 11'
    """
    known = {experiment.name: experiment for experiment in experiments()}
    if name not in known:
        raise InputError(f"unknown experiment: {name!r}; use one of {', '.join(known)}")
    return known[name]
