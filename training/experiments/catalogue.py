"""All experiments, by name."""

from __future__ import annotations

from numerics.errors import InputError
from training.experiments.experiment import Experiment
from training.experiments.lra.accuracy import TABLES
from training.experiments.lra.audit import AUDIT_OF_LRA
from training.experiments.lra.fig7 import FIGURE_7
from training.experiments.lra.probes import PROBES_OF_LRA
from training.experiments.lra.weights import WEIGHT_TABLES
from training.experiments.lra.whole_image import WHOLE_IMAGE
from training.experiments.table06 import TABLE_6
from training.experiments.toy_conditions import TOY_CONDITIONS, TOY_CONDITIONS_FRESH
from training.experiments.toy_fig4 import TOY_FIG4
from training.experiments.toy_fig5 import TOY_FIG5
from training.experiments.toy_fig6 import TOY_FIG6
from training.experiments.toy_fig10 import TOY_FIG10
from training.experiments.toy_fig13 import TOY_FIG13
from training.experiments.toy_parts import TOY_PARTS
from training.experiments.toy_probes import TOY_PROBES


def experiments() -> tuple[Experiment, ...]:
    """Every experiment, in the paper's order; then what the theory and the reproduction need beyond it."""
    figures = (TOY_FIG4, TOY_FIG5, TOY_FIG6, TOY_FIG10, TOY_FIG13)
    tables = sorted((*TABLES, WHOLE_IMAGE, TABLE_6, *WEIGHT_TABLES), key=lambda table: int(table.place.split()[1]))
    return (
        *figures,
        *tables,
        FIGURE_7,
        PROBES_OF_LRA,
        AUDIT_OF_LRA,
        TOY_PARTS,
        TOY_PROBES,
        TOY_CONDITIONS,
        TOY_CONDITIONS_FRESH,
    )


def find_experiment(name: str) -> Experiment:
    """The experiment of that name.

    >>> find_experiment("toy-fig4").place
    'Figures 4 and 11'
    """
    known = {experiment.name: experiment for experiment in experiments()}
    if name not in known:
        raise InputError(f"unknown experiment: {name!r}; use one of {', '.join(known)}")
    return known[name]
