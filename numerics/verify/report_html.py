"""The HTML page of a verification: one file that works offline and holds everything ``results.json`` holds.

Statements, hypotheses and derivation steps become MathML (with their LaTeX kept as annotation and hover text; a
formula that cannot be converted is shown as LaTeX, never dropped), numbers become tables, slopes and sweeps
become inline SVG, counterexamples small matrices.  The page loads nothing: a content security policy in its head
forbids it.  All text is escaped by the template engine or by the XML writer; nothing is pasted as markup.
"""

from __future__ import annotations

import html
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from latex2mathml.converter import convert_to_element
from markupsafe import Markup

from numerics.verify.records import REQUIRED_GRADES, Grade, Status
from numerics.verify.report_graph import anchor, render_graph
from numerics.verify.report_plots import slope_plot, sweep_plot
from numerics.verify.report_terminal import (
    SYMBOLS,
    Results,
    grade_cells,
    not_run_line,
    overall_verdict,
    problems,
    seconds_text,
    words,
)

_TEMPLATES = Path(__file__).parent / "templates"
_MATHML = "http://www.w3.org/1998/Math/MathML"
# Attributes that only lay out; the converter also copies link targets and styles from the LaTeX, which are dropped.
_LAYOUT = (
    "accent align columnalign columnlines columnspacing depth display displaystyle fence form frame height "
    "largeop linebreak linethickness lspace mathvariant maxsize minsize movablelimits notation rowlines "
    "rowspacing rspace scriptlevel separator stretchy symmetric voffset width"
)
_MATH_ATTRIBUTES = frozenset(_LAYOUT.split())
MATRIX_LIMIT = 8  # rows and columns of a counterexample that are shown; the rest is in results.json
PLOT_LIMIT = 12  # plots of one evidence that are drawn, those that did not pass first
ROW_LIMIT = 100  # rows of one table


@dataclass(frozen=True)
class NumberTable:
    """One table of an evidence's numbers; ``header`` is empty for a table of names and values."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


@dataclass(frozen=True)
class Matrix:
    """Entries of a small matrix as text; ``note`` says what was cut off."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    note: str


def math_html(latex: str, block: bool = True) -> Markup:
    """LaTeX as MathML, or as ``<code>`` when the converter does not know all of it.

    Args:
        latex: mathematics without dollar signs.
        block: display style on a line of its own.

    >>> "<mfrac>" in math_html(r"\\frac{1}{L}")
    True
    >>> print(math_html(r"\\left( a"))
    <code class="latex" title="shown as LaTeX: it could not be typeset">\\left( a</code>
    """
    try:
        element = _checked(convert_to_element(latex, display="block" if block else "inline"))
    except Exception:  # the converter raises whatever its tables raise (IndexError, KeyError, its own)
        title = "shown as LaTeX: it could not be typeset"
        return Markup('<code class="latex" title="{}">{}</code>').format(title, latex)
    semantics = ET.Element("semantics")
    row = ET.SubElement(semantics, "mrow")
    row.extend(list(element))
    element[:] = [semantics]
    ET.SubElement(semantics, "annotation", encoding="application/x-tex").text = latex
    wrapper = ET.Element("div" if block else "span", {"class": "eq" if block else "eqi", "title": latex})
    if block:
        wrapper.set("tabindex", "0")  # a wide formula scrolls, also by keyboard
    wrapper.append(element)
    return Markup(ET.tostring(wrapper, encoding="unicode"))  # the XML writer escaped it


def _checked(math_element: ET.Element) -> ET.Element:
    """The converter's tree with entities resolved and only layout attributes; ValueError for what it left raw."""
    raw = ("&", "{", "}")
    for element in math_element.iter():
        element.text = html.unescape(element.text) if element.text else element.text
        if element.tag in ("mi", "mn") and element.text and ("\\" in element.text or element.text in raw):
            raise ValueError(f"not converted: {element.text}")
        if element.tag == "mo" and element.text and len(element.text) > 1 and element.text.isalpha():
            element.tag = "mi"  # an operator's name such as tr: a letter's spacing reads better than a sign's
        for name in list(element.attrib):
            if name not in _MATH_ATTRIBUTES:
                del element.attrib[name]
    math_element.set("xmlns", _MATHML)
    return math_element


def value_text(value: object) -> str:
    """A JSON value on one line, floats to six digits, long lists cut with their length.

    >>> [value_text(v) for v in (0.1 + 0.2, 3, True, None, "1/4", [1, 2])]
    ['0.3', '3', 'yes', '–', '1/4', '1, 2']
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{words(str(k))}: {value_text(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        shown = ", ".join(
            value_text(v) if not isinstance(v, (list, tuple)) else f"[{value_text(v)}]" for v in value[:12]
        )
        return f"{shown}, … ({len(value)} values)" if len(value) > 12 else shown
    return str(value)


def number_tables(numbers: Mapping[str, Any], caption: str = "") -> list[NumberTable]:
    """Free-form numbers as tables: plain values first, then one table for each nested dictionary or list of rows.

    >>> [t.caption for t in number_tables({"trials": 3, "worst": {"sup": 1e-12}, "checks": [{"L": 2}, {"L": 3}]})]
    ['', 'worst', 'checks']
    """
    tables: list[NumberTable] = []
    plain: list[tuple[str, ...]] = []
    for key, value in numbers.items():
        name = words(str(key))
        path = f"{caption} › {name}" if caption else name
        if isinstance(value, Mapping) and value:
            inner = list(value.values())
            if len(inner) > 1 and all(isinstance(v, Mapping) for v in inner):
                tables.append(_rows_table(path, [{"": k, **v} for k, v in value.items()]))
            else:
                tables += number_tables(value, path)
        elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
            tables.append(_rows_table(path, value))
        else:
            plain.append((name, value_text(value)))
    if plain:
        tables.insert(0, NumberTable(caption, (), tuple(plain[:ROW_LIMIT]), max(0, len(plain) - ROW_LIMIT)))
    return tables


def _rows_table(caption: str, rows: Sequence[Mapping[str, Any]]) -> NumberTable:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    body = tuple(tuple(value_text(row[key]) if key in row else "" for key in keys) for row in rows[:ROW_LIMIT])
    return NumberTable(caption, tuple(words(str(key)) for key in keys), body, max(0, len(rows) - ROW_LIMIT))


def matrices(name: str, value: object) -> list[Matrix]:
    """Nested lists as matrices: two levels are one matrix, three or more one for each outer entry.

    >>> [m.name for m in matrices("tokens", [[["1"], ["0"]], [["0"], ["0"]]])]
    ['tokens 1', 'tokens 2']
    """
    if not isinstance(value, list) or not value or not all(isinstance(row, list) for row in value):
        return []
    if any(isinstance(entry, list) for row in value for entry in row):
        names = [name if len(value) == 1 else f"{name} {number}" for number in range(1, len(value) + 1)]
        return [m for label, inner in zip(names[:4], value, strict=False) for m in matrices(label, inner)]
    width = max(len(row) for row in value)
    cut = len(value) > MATRIX_LIMIT or width > MATRIX_LIMIT
    rows = []
    for row in value[:MATRIX_LIMIT]:
        shown = [value_text(entry).replace("-", "−") for entry in row[:MATRIX_LIMIT]]
        rows.append((*shown, "…") if len(row) > MATRIX_LIMIT else tuple(shown))
    return [Matrix(name, tuple(rows), f"top left corner of {len(value)} × {width}" if cut else "")]


def _counterexample(found: Mapping[str, Any]) -> dict[str, Any]:
    """A counterexample split into claimed and true value, plain facts, and matrices."""
    drawn = {key: matrices(words(str(key)), value) for key, value in found.items()}
    plain = {key: value_text(value) for key, value in found.items() if not drawn[key]}
    slopes = {key: plain.pop(key) for key in ("true", "claimed") if key in plain}
    return {
        "slopes": slopes,
        "facts": [(words(str(key)), value) for key, value in plain.items()],
        "matrices": [m for shown in drawn.values() for m in shown],
    }


def _variants(claim: Mapping[str, Any]) -> list[dict[str, Any]]:
    """False variants with their routes; equal counterexamples of several routes are shown once."""
    groups: dict[str, dict[str, Any]] = {}
    for row in claim.get("refuted") or ():
        empty: dict[str, Any] = {"routes": [], "found": {}, "sentence": "", "latex": ""}
        group = groups.setdefault(str(row["variant"]), empty)
        group["sentence"] = group["sentence"] or row.get("sentence") or ""
        group["latex"] = group["latex"] or row.get("latex") or ""
        group["routes"].append(row)
        if row.get("counterexample"):
            key = json.dumps(row["counterexample"], sort_keys=True, default=str)
            shown = group["found"].setdefault(key, {"routes": [], **_counterexample(row["counterexample"])})
            shown["routes"].append(row["route"])
    return [
        {**group, "id": name, "found": list(group["found"].values()), "rejected": _all_passed(group["routes"])}
        for name, group in groups.items()
    ]


def _all_passed(rows: Iterable[Mapping[str, Any]]) -> bool:
    return all(row["status"] == Status.PASSED for row in rows)


def _routes(claim: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Each route's evidence with its tables and plots."""
    routes = []
    for grade, cell in grade_cells(claim).items():
        numbers = dict(cell.get("numbers") or {})
        tests = [t for t in numbers.pop("slope_tests", None) or [] if isinstance(t, Mapping)]
        sweeps = [s for s in numbers.pop("step_sweeps", None) or [] if isinstance(s, Mapping)]
        curves = ("steps", "remainders", "changes", "floor")
        table = [{k: v for k, v in test.items() if k not in curves} for test in tests]
        tables = [_rows_table("slope tests", table)] if table else []
        tests = sorted(tests, key=lambda test: test.get("outcome") == "pass")
        start = f"{prefix}-{grade}"
        drawn = [(t.get("name"), slope_plot(t, f"{start}-slope{n}")) for n, t in enumerate(tests[:PLOT_LIMIT])]
        drawn += [(s.get("name"), sweep_plot(s, f"{start}-sweep{n}")) for n, s in enumerate(sweeps[:PLOT_LIMIT])]
        captions = [test.get("outcome", "") for test in tests[:PLOT_LIMIT]] + [""] * len(sweeps[:PLOT_LIMIT])
        plots = [
            {"name": name, "outcome": outcome, "svg": Markup(svg)}  # drawn here, text escaped
            for (name, svg), outcome in zip(drawn, captions, strict=True)
        ]
        left_out = max(0, len(tests) - PLOT_LIMIT) + max(0, len(sweeps) - PLOT_LIMIT)
        shown = {"grade": grade, "cell": cell, "tables": tables + number_tables(numbers), "plots": plots}
        routes.append({**shown, "plots_left_out": left_out})
    return routes


def render_html(results: Results) -> str:
    """The whole page for the content of ``results.json``.

    Args:
        results: content of ``results.json`` (``schema_version`` 1); missing optional parts leave their section out.

    Returns:
        One HTML document that needs no other file and no network.

    >>> page = render_html({"claims": [{"id": "P1", "verdict": "verified", "sentence": "a < b", "evidence": []}]})
    >>> page.startswith("<!doctype html>") and "a &lt; b" in page
    True
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(math=math_html, words=words, value=value_text, seconds=seconds_text)
    environment.globals.update(symbols=SYMBOLS, anchor=anchor, math_inline=lambda latex: math_html(latex, block=False))
    claims = list(results.get("claims") or ())
    known = {str(lemma["id"]): "lemma" for lemma in results.get("lemmas") or ()}
    known |= {str(claim["id"]): "claim" for claim in claims}
    return (
        environment.get_template("report.html.j2")
        .render(
            results=results,
            claims=[
                {"row": c, "cells": grade_cells(c), "routes": _routes(c, f"plot{n}"), "variants": _variants(c)}
                for n, c in enumerate(claims)
            ],
            known=known,
            grades=list(Grade),
            required=REQUIRED_GRADES,
            overall=overall_verdict(results),
            problems=problems(results),
            not_run=not_run_line(results),
            graph=Markup(render_graph(results)),  # the XML writer escaped it
        )
        .strip()
        + "\n"
    )
