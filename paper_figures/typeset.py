"""A table with grouped columns as Markdown, LaTeX (booktabs) and HTML, from one description.

Text is plain Unicode with ± and −; code (a command) stands between backticks.  Each form escapes what it must, so that
a cell shows the same in all three.  Checked by ``tests/paper_figures/test_table06.py``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Row = tuple[str, ...]


@dataclass(frozen=True)
class Column:
    """A column: the group it stands under (empty for none), its heading, whether it holds text rather than numbers.

    Prose is text in sentences, which is broken into lines.
    """

    group: str
    heading: str
    text: bool = False
    prose: bool = False

    @property
    def whole(self) -> str:
        """Heading and group in one, where a header has a single row."""
        return f"{self.heading}, {self.group}" if self.group else self.heading


@dataclass(frozen=True)
class Table:
    """What is set: a title, columns, blocks of rows with a rule between them, and notes below."""

    title: str
    columns: tuple[Column, ...]
    blocks: tuple[tuple[Row, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def spans(self) -> list[tuple[str, int]]:
        """Groups of neighbouring columns and how many each holds."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return found


def markdown(tables: Sequence[Table]) -> str:
    """Tables as GitHub's Markdown, the first under a title of the first rank.

    >>> print(markdown([Table("Best", (Column("", "set", True), Column("ours", "gain")), ((("A|B", "0.1 ± 0.2"),),))]))
    # Best
    <BLANKLINE>
    | set | gain, ours |
    | --- | ---: |
    | A\\|B | 0.1 ± 0.2 |
    <BLANKLINE>
    """
    lines: list[str] = []
    for rank, table in enumerate(tables):
        lines += [""] * bool(lines) + [f"{'#' * min(rank + 1, 2)} {table.title}", ""]
        lines.append(_pipes([column.whole for column in table.columns]))
        lines.append(_pipes(["---" if column.text else "---:" for column in table.columns]))
        lines += [_pipes(row) for block in table.blocks for row in block]
        lines += [""] * bool(table.notes) + [f"- {note}" for note in table.notes]
    return "\n".join(lines) + "\n"


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def latex(tables: Sequence[Table], label: str) -> str:
    """Tables as LaTeX with booktabs rules, as wide as the text; ``label`` names the first.

    >>> print(latex([Table("Best", (Column("", "set", True), Column("", "gain %")), ((("A_B", "−0.1 ± 0.2"),),))], "t"))
    % needs \\usepackage{booktabs,graphicx}
    \\begin{table*}
    \\centering
    \\caption{Best.}
    \\label{tab:t}
    \\resizebox{\\linewidth}{!}{%
    \\begin{tabular}{lr}
    \\toprule
    set & gain \\% \\\\
    \\midrule
    A\\_B & $-$0.1 $\\pm$ 0.2 \\\\
    \\bottomrule
    \\end{tabular}}
    \\end{table*}
    <BLANKLINE>
    """
    packages = (
        "array,booktabs,graphicx" if any(c.prose for table in tables for c in table.columns) else "booktabs,graphicx"
    )
    lines = [rf"% needs \usepackage{{{packages}}}"]
    for number, table in enumerate(tables):
        lines += [r"\begin{table*}", r"\centering", rf"\caption{{{_inline(table.title, _tex)}.}}"]
        lines.append(rf"\label{{tab:{label}{'' if number == 0 else f'-{number + 1}'}}}")
        lines.append(r"\resizebox{\linewidth}{!}{%")
        lines += [
            rf"\begin{{tabular}}{{{''.join(_alignment(column) for column in table.columns)}}}",
            r"\toprule",
        ]
        if any(column.group for column in table.columns):
            lines += _tex_groups(table)
        lines += [_tex_row([column.heading for column in table.columns])]
        for block in table.blocks:
            lines += [r"\midrule", *(_tex_row(row) for row in block)]
        lines += [r"\bottomrule", r"\end{tabular}}"]
        if table.notes:
            lines += [
                r"\par\smallskip\raggedright\footnotesize",
                *(f"{_inline(note, _tex)}\\par" for note in table.notes),
            ]
        lines.append(r"\end{table*}")
    return "\n".join(lines) + "\n"


def _alignment(column: Column) -> str:
    if column.prose:
        return r">{\raggedright\arraybackslash}p{6cm}"
    return "l" if column.text else "r"


def _tex_groups(table: Table) -> list[str]:
    cells, rules, place = [], [], 1
    for group, count in table.spans:
        cells.append(rf"\multicolumn{{{count}}}{{c}}{{{_tex(group)}}}" if group else "&" * (count - 1))
        if group:
            rules.append(rf"\cmidrule(lr){{{place}-{place + count - 1}}}")
        place += count
    return [" & ".join(cells) + r" \\", " ".join(rules)]


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(_inline(cell, _tex) for cell in cells) + r" \\"


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$", "–": "--", "“": "``", "”": "''",
    "≤": r"$\le$", "·": r"$\cdot$", "…": r"\dots{}", "→": r"$\to$", "÷": r"$\div$", "‖": r"$\|$",
    "√": r"$\surd$", "∼": r"$\sim$", "ᵀ": r"$^{\top}$", "×": r"$\times$", "<": r"\textless{}", ">": r"\textgreater{}",
    "\N{NO-BREAK SPACE}": "~",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)


def _tex_code(text: str) -> str:
    # In typewriter text two hyphens would otherwise join to a dash in some fonts.
    return rf"\texttt{{{_tex(text).replace('--', '-{}-')}}}"


def _inline(text: str, escape: Callable[[str], str]) -> str:
    """Text with the code between its backticks set as such."""
    parts = re.split(r"`([^`]*)`", text)
    code = _tex_code if escape is _tex else _html_code
    return "".join(code(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def web_page(tables: Sequence[Table], picture: str | None = None) -> str:
    """Tables as one HTML page that needs nothing beside it (but the picture, by its file name)."""
    body = [f"<h1>{_html(tables[0].title)}</h1>"]
    if picture is not None:
        body.append(f'<p><img src="{_html(picture)}" alt="{_html(tables[0].title)}"></p>')
    for rank, table in enumerate(tables):
        heading = [f"<h2>{_html(table.title)}</h2>"] * (rank > 0)
        notes = [f"<li>{_inline(note, _html)}</li>" for note in table.notes]
        body += [*heading, *_html_table(table), *(["<ul>", *notes, "</ul>"] if notes else [])]
    head = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_html(tables[0].title)}</title>",
        f"<style>{_CSS}</style>",
        "</head>",
        "<body>",
    ]
    return "\n".join([*head, *body, "</body>", "</html>"]) + "\n"


def _html_table(table: Table) -> list[str]:
    lines = ['<div class="wide"><table>', "<thead>"]
    if any(column.group for column in table.columns):
        groups = [
            f'<th colspan="{count}" scope="colgroup"{" class=group" if group else ""}>{_html(group)}</th>'
            for group, count in table.spans
        ]
        lines.append(f"<tr>{''.join(groups)}</tr>")
    headings = [f'<th scope="col"{_kind(column)}>{_html(column.heading)}</th>' for column in table.columns]
    lines += [f"<tr>{''.join(headings)}</tr>", "</thead>"]
    for block in table.blocks:
        lines.append("<tbody>")
        for row in block:
            cells = [
                f"<td{_kind(column)}>{_inline(cell, _html)}</td>"
                for column, cell in zip(table.columns, row, strict=True)
            ]
            lines.append(f"<tr>{''.join(cells)}</tr>")
        lines.append("</tbody>")
    return [*lines, "</table></div>"]


def _kind(column: Column) -> str:
    return ' class="text prose"' if column.prose else ' class="text"' if column.text else ""


def _html(text: str) -> str:
    return html.escape(text)


def _html_code(text: str) -> str:
    return f"<code>{_html(text)}</code>"


_CSS = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff }
body { max-width: 90rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem }
h2 { font-size: 1.1rem; margin-top: 2rem }
img { max-width: 100%; width: 42rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
table { border-top: 1.5px solid #222; border-bottom: 1.5px solid #222 }
tbody { border-top: 1px solid #222 }
th, td { padding: .25rem .45rem; text-align: right; white-space: nowrap; vertical-align: top; font-weight: normal }
th.text, td.text { text-align: left }
td.text:last-child { white-space: normal; min-width: 12rem }
td.prose { white-space: normal; min-width: 11rem; max-width: 30rem }
th.group { text-align: center; border-bottom: 1px solid #8a8a8a }
code { font-size: .92em; overflow-wrap: anywhere }
li { max-width: 60rem }
"""
