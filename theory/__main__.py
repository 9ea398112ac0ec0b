"""The door: statements with their derivations, read in a terminal.

``python -m theory --help`` shows every command with an example.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from theory import claims, find_claim, lemmas
from theory.claim import Claim, MaskKind, Part, PoolingKind
from theory.derivation import Derivation, Lemma
from theory.identities import check, identities
from theory.printing import latex, text

#: Widest output, in columns; formulas are read more easily in lines that are not too long.
_WIDEST = 100

_DESCRIPTION = """What is true: statements of the paper and beyond, with their derivations for every L and d.

Examples:
  python -m theory list                claims and lemmas, one sentence each
  python -m theory show P1             statement, hypotheses and derivation of Proposition 1
  python -m theory show P1 --latex     the same as lines of LaTeX
  python -m theory identities          true identities that the calculus must reduce to 0
"""


@dataclass(frozen=True)
class List:
    """Claims and lemmas, one sentence each.  Example: python -m theory list"""


@dataclass(frozen=True)
class Show:
    """One claim or lemma with every line of its derivation.  Example: python -m theory show P1 --latex"""

    id: Annotated[str, tyro.conf.Positional]
    """Identifier of a claim or lemma, as in the list."""
    latex: bool = False
    """Print statement and derivation as lines of LaTeX."""


@dataclass(frozen=True)
class Identities:
    """True identities, each of which must reduce to 0.  Example: python -m theory identities"""


Command = (
    Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Show, tyro.conf.subcommand("show")]
    | Annotated[Identities, tyro.conf.subcommand("identities")]
)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, 1 where an identity does not hold, or 2 for bad input."""
    command = tyro.cli(
        Command,
        prog="python -m theory",
        description=_DESCRIPTION,
        args=None if arguments is None else list(arguments),
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    console = _Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, _WIDEST) if console.is_terminal else _WIDEST
    if isinstance(command, Show):
        return _show(console, command)
    if isinstance(command, Identities):
        return _identities(console)
    return _list(console)


def _list(console: Console) -> int:
    table = _table("claim", "says")
    for claim in claims():
        table.add_row(Text(claim.id, "bold"), Text(claim.sentence))
    console.print(table)
    table = _table("lemma", "says")
    for lemma in lemmas():
        table.add_row(Text(lemma.id, "bold"), Text(f"{lemma.title}: {_equation(lemma)}."))
    console.print(table)
    return 0


def _show(console: Console, command: Show) -> int:
    try:
        found: Claim | Lemma = _find(command.id)
    except KeyError as error:
        print(f"{error.args[0]}; see python -m theory list", file=sys.stderr)
        return 2
    if isinstance(found, Claim):
        _show_claim(console, found, command.latex)
    else:
        _show_lemma(console, found, command.latex)
    return 0


def _find(identifier: str) -> Claim | Lemma:
    for lemma in lemmas():
        if lemma.id == identifier:
            return lemma
    try:
        return find_claim(identifier)
    except KeyError as error:
        raise KeyError(f"{error.args[0]}; known lemmas: {', '.join(made.id for made in lemmas())}") from None


def _show_claim(console: Console, claim: Claim, as_latex: bool) -> None:
    _head(console, claim.id, claim.title)
    console.print(Text(claim.sentence))
    console.print(Text(f"Source: {claim.source}", "dim"))
    _section(console, "Hypotheses", [f"{h.name}: {h.sentence}" for h in claim.hypotheses] or ["none"])
    _section(console, "Assumed", claim.assumptions)
    _section(console, "Not needed", claim.not_needed)
    _section(console, "Not shown", claim.not_shown)
    if claim.depends_on:
        _section(console, "Rests on", [", ".join(claim.depends_on)])
    for part in claim.parts:
        console.print()
        console.print(Text(f"{part.label} ({_setting(part)})", "bold"))
        if as_latex:
            print(part.latex)
        else:
            console.print(Padding(Text(part.text), (0, 0, 0, 2)))
        for hypothesis in part.hypotheses:
            if as_latex:
                print(hypothesis.latex)
            else:
                names = ", ".join(i.name for i in hypothesis.free)
                console.print(Padding(Text(f"where {text(hypothesis.expression)} = 0 for all {names}"), (0, 0, 0, 2)))
        _show_derivation(console, part.derivation(), as_latex)


def _show_lemma(console: Console, lemma: Lemma, as_latex: bool) -> None:
    _head(console, lemma.id, lemma.title)
    if as_latex:
        print(f"{latex(lemma.left)} = {latex(lemma.right)}")
    else:
        console.print(Padding(Text(_equation(lemma)), (0, 0, 0, 2)))
    if lemma.depends_on:
        _section(console, "Rests on", [", ".join(lemma.depends_on)])
    _show_derivation(console, lemma.derivation, as_latex)


def _show_derivation(console: Console, derivation: Derivation, as_latex: bool) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right", style="dim")
    table.add_column(ratio=3)
    table.add_column(ratio=2, style="dim")
    for number, step in enumerate(derivation.steps, start=1):
        reason = f"{step.rule}: {step.note}" if step.note and step.note != step.rule else step.rule
        if as_latex:
            print(f"{latex(step.expression)} % {number}. {reason}")
        else:
            table.add_row(str(number), Text(text(step.expression)), Text(reason))
    if not as_latex:
        console.print(Padding(table, (0, 0, 0, 2)))


def _identities(console: Console) -> int:
    table = _table("identity", "equation", "residue")
    wrong = 0
    for identity in identities():
        residue = check(identity)
        wrong += not residue.is_zero
        says = Text(f"{identity.sentence}\n").append(f"{text(identity.left)} = {text(identity.right)}", "dim")
        table.add_row(Text(identity.name, "bold"), says, Text(text(residue.expression())))
    console.print(table)
    count = len(identities())
    console.print(Text(f"{count - wrong} of {count} identities reduce to 0"))
    return 1 if wrong else 0


def _setting(part: Part) -> str:
    mask, pooling = part.setting.mask, part.setting.pooling
    shown = [
        "any mask" if mask is MaskKind.ANY else f"{mask} mask",
        "any pooling" if pooling is PoolingKind.ANY else f"{_POOLING[pooling]} pooling",
    ]
    return ", ".join(shown)


_POOLING = {PoolingKind.MEAN: "mean", PoolingKind.CLS: "CLS"}


def _equation(lemma: Lemma) -> str:
    return f"{text(lemma.left)} = {text(lemma.right)}"


def _head(console: Console, identifier: str, title: str) -> None:
    console.print(Text(f"{identifier}  {title}", "bold"))


def _section(console: Console, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=12, style="bold")
    table.add_column()
    for number, line in enumerate(lines):
        table.add_row("" if number else title, Text(line))
    console.print(table)


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def _run() -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    try:
        return main()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough; nothing is left to flush into
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(_run())
