"""Where commands print: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys

from rich.console import Console

from training.distributed import is_first

#: A pipe has no width of its own; tables are made for 100 columns.
WIDTH = None if sys.stdout.isatty() else 100


class Terminal(Console):
    """A console that lets a closed pipe be heard."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def out() -> Console:
    """Results."""
    return Terminal(width=WIDTH, highlight=False)


def err(always: bool = False) -> Console:
    """What is said beside results; under torchrun by the first process alone, unless ``always``."""
    return Console(stderr=True, highlight=False, quiet=not (always or is_first()))
