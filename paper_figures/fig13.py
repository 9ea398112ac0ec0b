"""Figure 13: Figure 4 at another epoch budget.

The paper's text says that it shows "a different epoch budget" and no more, so ours (twice the epochs on labels) may not
be the paper's.  Checked by ``tests/paper_figures/test_rates.py``.
"""

from __future__ import annotations

from paper_figures import over_rates
from paper_figures.beside import Comparison, finish, sheet
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords, experiment
from paper_figures.reported import reported
from paper_figures.spread import Spread

TITLE = "Accuracy over learning rates with another number of epochs on labels"
PLACE = "arXiv 2605.21070, Figure 13"


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of toy-fig13 and draw."""
    record, paper = kept.read("toy-fig13"), reported("fig13")
    runs = over_rates.read_runs(record)
    seeds, epochs = runs["seed"].n_unique(), int(record.setting("stage.epochs"))
    train, test = (over_rates.gain_at_best_rates(runs, f"peak_{split}_accuracy") for split in over_rates.SPLITS)
    ours = (
        f"{epochs} epochs on labels; gain at the best rates: train {train[0].text()}, test {test[0].text()} "
        f"({record.scale} scale; 95 % intervals; {over_rates.rates_text(test[1])} for test)"
    )
    values: dict[str, Spread | float] = {"epochs": float(epochs), "train gain": train[0], "test gain": test[0]}
    body = sheet(7.4, f"{TITLE} ({epochs} epochs)", record, seeds)
    over_rates.draw_panels(body, runs, 1 - record.setting("task.label_flip"), None)
    comparisons = [Comparison(paper["budget"], ours, values)]
    numbers = {"seeds": seeds, "label_epochs": epochs, **over_rates.saved(runs)}
    return finish(body, FIGURE.name, PLACE, record, comparisons, numbers, over_rates.notes(runs))


FIGURE = PaperFigure("fig13", TITLE, PLACE, (experiment("toy-fig13"),), draw)
