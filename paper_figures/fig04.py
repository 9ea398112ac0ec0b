"""Figure 4: accuracy on the toy task over learning rates, from labels alone and after self-pretraining.

The paper shows means and max-min ranges over 10 seeds and reports a boost of about 10 % in train and test accuracy at
the optimal rates.  Here also the gain within seeds, with intervals.  Checked by ``tests/paper_figures/test_rates.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from paper_figures import over_rates
from paper_figures.beside import Comparison, finish, sheet
from paper_figures.figure import Drawing, PaperFigure
from paper_figures.kept import KeptRecords, experiment
from paper_figures.panels import listed
from paper_figures.reported import Reported, reported
from paper_figures.spread import Spread

TITLE = "Accuracy over learning rates, with and without self-pretraining (SPT)"
PLACE = "arXiv 2605.21070, Figure 4"


def draw(kept: KeptRecords) -> Drawing:
    """Read the record of toy-fig4 and draw."""
    record, paper = kept.read("toy-fig4"), reported("fig04")
    runs = over_rates.read_runs(record)
    seeds = runs["seed"].n_unique()
    comparisons = []
    for split in over_rates.SPLITS:
        found, best = over_rates.gain_at_best_rates(runs, f"peak_{split}_accuracy")
        ours = f"{found.text()} ({record.scale} scale; 95 % interval; {over_rates.rates_text(best)})"
        values = {"gain": found} | {f"best rate, {name}": rate for name, rate in best.items()}
        comparisons.append(Comparison(paper[f"peak-{split}-gain"], ours, values))
    comparisons.append(_consistently(paper, over_rates.gains(runs)["final_test_accuracy"]))
    body = sheet(7.6, TITLE, record, seeds)
    over_rates.draw_panels(body, runs, 1 - record.setting("task.label_flip"), paper["peak-test-gain"].value)
    numbers = {"seeds": seeds, **over_rates.saved(runs)}
    return finish(body, FIGURE.name, PLACE, record, comparisons, numbers, over_rates.notes(runs))


def _consistently(paper: Mapping[str, Reported], found: Mapping[float, Spread]) -> Comparison:
    """At how many rates the interval of the gain lies above, across and below 0."""
    above, below = (sorted(rate for rate, one in found.items() if one.sign == sign) for sign in (1, -1))
    said = [f"gain after the last epoch above 0 at {listed(above)}", f"below 0 at {listed(below)}"]
    ours = ", ".join(said) + f", undecided at {len(found) - len(above) - len(below)} of {len(found)} rates"
    return Comparison(
        paper["consistently"],
        ours,
        {"above": float(len(above)), "below": float(len(below)), "rates": float(len(found))},
    )


FIGURE = PaperFigure("fig04", TITLE, PLACE, (experiment("toy-fig4"),), draw)
