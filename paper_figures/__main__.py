"""The door: what can be drawn, and drawing it.

``python -m paper_figures --help`` shows every command with an example.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from numerics.errors import InputError
from paper_figures.catalogue import figures, find_figure
from paper_figures.claim_items import items
from paper_figures.claims import markdown
from paper_figures.figure import Drawing, PaperFigure, rendered, write_together
from paper_figures.kept import KeptRecords
from training.experiments.experiment import Scale
from training.experiments.record import KEPT

_DESCRIPTION = """Figures of the paper, drawn from what is on disk. Nothing is trained here.

Examples:
  python -m paper_figures list                  what can be drawn, from what, and what is missing
  python -m paper_figures make fig14            draws Figure 14 into figures/
  python -m paper_figures make all --out drawn  draws everything that the files on disk allow
  python -m paper_figures claims                the README's table of the paper's claims, from records
  python -m paper_figures make errata           what is inconsistent in the paper, and what is contested
  python -m paper_figures make fig04 --records runs/experiments   draws what you ran, before you keep it
"""

Names = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME… | all")]

#: A pipe has no width of its own; tables are made for 100 columns.
_WIDTH = None if sys.stdout.isatty() else 100


def list_figures(records: Path = KEPT, scale: Scale | None = None) -> int:
    """What can be drawn, from what, and the commands that get it.  Example: python -m paper_figures list

    Args:
        records: folder of kept records.
        scale: scale of the records; by default the largest that is there.
    """
    kept = _kept(records, scale)
    table = Table("figure", "shows", "drawn from", "there", "made with", box=box.SIMPLE_HEAD, pad_edge=False)
    for figure in figures():
        name, shows = Text(figure.name, "bold"), Text(f"{figure.title} ({figure.place})")
        for source in figure.sources(kept):
            there = Text("yes", "green") if source.present else Text("no", "yellow")
            table.add_row(name, shows, Text(source.sentence), there, Text(source.command))
            name = shows = Text()
    _out().print(table)
    _out().print("Draw one with python -m paper_figures make NAME, or all of them with make all.")
    return 0


def make(names: Names = (), out: Path = Path("figures"), records: Path = KEPT, scale: Scale | None = None) -> int:
    """Draw figures: PNG, SVG and PDF, and the numbers drawn as JSON.  Example: python -m paper_figures make fig14

    Exit code 0: drawn (with "all", what is missing is named and left out); 1: drawn, but a figure does not show what
    it is to show; 2: bad input, a damaged record, or a file that a named figure needs is missing; 3: internal error.

    Args:
        names: names from "list", or all.
        out: folder for the files; made where it does not exist.
        records: folder of kept records; runs/experiments holds those that are not kept.
        scale: scale of the records; by default the largest that is there.
    """
    kept = _kept(records, scale)
    chosen = _chosen(names, kept)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder: {out} is a file; name another folder")
    wrong, unreadable = [], 0
    for figure in chosen:
        if figure.missing(kept):
            _out().print(Text(f"{figure.name}: not drawn; {_remedies(figure, kept)}", "yellow"), soft_wrap=True)
            continue
        try:
            drawing = _drawn(figure, kept)
        except InputError as error:  # the others can still be drawn
            _err().print(Text(f"error: {figure.name}: {error}", "red"), soft_wrap=True)
            unreadable += 1
            continue
        _write(figure, drawing, out)
        if not drawing.holds:
            wrong.append(figure.name)
    if wrong:
        _err().print(Text(f"drawn, but not as it should be: {', '.join(wrong)}; the lines above say where", "red"))
    return 2 if unreadable else 1 if wrong else 0


def claims(records: Path = KEPT, scale: Scale | None = None) -> int:
    """Print the README's table of the paper's claims, made from records.  Example: python -m paper_figures claims

    Args:
        records: folder of kept records.
        scale: scale of the records; by default the largest that is there.
    """
    sys.stdout.write(markdown(items(), _kept(records, scale)))
    return 0


def _kept(records: Path, scale: Scale | None) -> KeptRecords:
    if records.exists() and not records.is_dir():
        raise InputError(f"--records must be a folder: {records} is a file; name another folder")
    if not records.exists() and records != KEPT:
        raise InputError(f"--records must be a folder: {records} does not exist; runs/experiments holds what you ran")
    return KeptRecords(records, scale)


def _chosen(names: Sequence[str], kept: KeptRecords) -> list[PaperFigure]:
    """The figures named; one that was named alone must have its files, with "all" a missing file is no error."""
    if not names:
        raise InputError("make needs a name: none was given; say make all, or a name from python -m paper_figures list")
    named = [find_figure(name) for name in dict.fromkeys(names) if name != "all"]
    if "all" in names:
        return list(figures())
    for figure in named:
        if figure.missing(kept):
            raise InputError(f"{figure.name} needs every file that it is drawn from: {_remedies(figure, kept)}")
    return list(dict.fromkeys(named))


def _remedies(figure: PaperFigure, kept: KeptRecords) -> str:
    return "; ".join(f"missing: {s.sentence} ({s.path}), made with {s.command}" for s in figure.missing(kept))


def _drawn(figure: PaperFigure, kept: KeptRecords) -> Drawing:
    with _err().status(f"drawing {figure.name}"):
        return figure.drawing(kept)


def _write(figure: PaperFigure, drawing: Drawing, out: Path) -> None:
    with _err().status(f"drawing {figure.name}"):
        contents = rendered(figure.name, drawing)
    try:
        paths = write_together(out, contents)
    except OSError as error:
        raise InputError(
            f"a figure needs a folder that can be written: {out} ({error.strerror or error}); no file was left "
            "half-written; make room or name another folder with --out"
        ) from None
    console = _out()
    console.print(Text(f"{figure.name}: {figure.title}", "bold"))
    for line in drawing.summary:
        console.print(Text(f"  {line}"), soft_wrap=True)
    console.print(Text(f"  wrote {', '.join(str(path) for path in paths)}"), soft_wrap=True)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _out() -> Console:
    return _Console(width=_WIDTH, highlight=False)


def _err() -> Console:
    return Console(stderr=True, highlight=False)


COMMANDS: dict[str, Callable[..., int]] = {"list": list_figures, "make": make, "claims": claims}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        return int(
            tyro.extras.subcommand_cli_from_dict(
                COMMANDS, args=given, prog="python -m paper_figures", description=_DESCRIPTION
            )
        )
    except InputError as error:
        _err().print(Text(f"error: {error}", "red"), soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        _err().print("interrupted; no file was left half-written")
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough; nothing is left to flush into
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        message = f"internal error: {type(error).__name__}: {error}; --debug shows where"
        _err().print(Text(message, "red"), soft_wrap=True)
        return 3


if __name__ == "__main__":
    sys.exit(main())
