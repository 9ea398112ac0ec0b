"""The paper's numbers against each other: gains, the same quantity in several tables, distances and norms.

Every number is taken as printed and stands for all values that round to it, so an inconsistency is *certain* where no
unrounded values could have given what is printed, and *rounding* where some could.  Checked by
``tests/paper_figures/test_errata.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from paper_figures.lra import TASKS
from paper_figures.reported import Reported, reported

CERTAIN, ROUNDING, REPEATED = "certain", "rounding could explain it", "one network, two numbers"
WORDS, SOURCES = "text against numbers", "sources disagree"
#: Repeats of a quantity that differ by less than this share of its standard deviation over seeds are let pass.
_LEAST = 0.5


@dataclass(frozen=True)
class Erratum:
    """One inconsistency.

    Attributes:
        where: place in the paper.
        printed: what stands there.
        should: what it should be, as far as that can be known.
        how: how we know.
        kind: how sure it is.
    """

    where: str
    printed: str
    should: str
    how: str
    kind: str


@dataclass(frozen=True)
class Printed:
    """A number as printed: it stands for every value within half a unit of its last digit."""

    value: Decimal

    @property
    def half(self) -> Decimal:
        """Half a unit of the last digit."""
        return Decimal(5).scaleb(int(self.value.as_tuple().exponent) - 1)

    def rounded_like(self, other: Decimal) -> Decimal:
        """Another number to as many digits."""
        return other.quantize(self.value)


def accuracy_of(statement: Reported) -> Printed:
    """The accuracy that a statement prints."""
    return Printed(Decimal(re.split(r"[ (]", statement.says)[0]))


def gain_of(statement: Reported) -> Printed | None:
    """The gain in parentheses, where there is one."""
    found = re.search(r"\(([+-][\d.]+)\)", statement.says)
    return None if found is None else Printed(Decimal(found[1]))


def certainty(difference: Decimal, slack: Decimal, printed: Printed) -> str | None:
    """Whether a printed number can be a difference that is known up to ``slack``; None where it rounds to it.

    >>> certainty(Decimal("-0.11"), Decimal("0.01"), Printed(Decimal("-0.09")))
    'certain'
    >>> certainty(Decimal("0.104"), Decimal("0.0055"), Printed(Decimal("0.11")))
    'rounding could explain it'
    >>> certainty(Decimal("0.104"), Decimal("0.0055"), Printed(Decimal("0.10")))
    """
    distance = abs(difference - printed.value)
    if distance <= printed.half:
        return None
    return CERTAIN if distance > printed.half + slack else ROUNDING


#: Tables with printed gains, and over which arm of the same task they are.
GAINS = {"table01": "scratch", "table02": "scratch", "table04": "scratch", "table07": "spt-0", "table08": "scratch"}


def base_of(table: str, id: str) -> str:
    """The statement over which another gains.

    >>> base_of("table08", "image 2-layer swapped val"), base_of("table01", "image amos")
    ('image 2-layer scratch val', 'image scratch')
    """
    task, _, arm = id.partition(" ")
    if table != "table08":
        return f"{task} {GAINS[table]}"
    layers, _, split = arm.split(" ")
    return f"{task} {layers} scratch {split}"


def gains() -> Iterator[tuple[str, Reported, Reported, Printed]]:
    """Every printed gain: table, what gains, over what, and the gain."""
    for table in GAINS:
        said = reported(table)
        for id, statement in said.items():
            printed = gain_of(statement)
            if printed is not None:
                yield table, statement, said[base_of(table, id)], printed


def wrong_gains() -> Iterator[Erratum]:
    """Printed gains that are not the difference of the printed accuracies."""
    for _, statement, base, printed in gains():
        one, other = accuracy_of(statement), accuracy_of(base)
        difference = one.value - other.value
        kind = certainty(difference, one.half + other.half, printed)
        if kind is not None:
            yield Erratum(
                f"{statement.where}: {statement.means}",
                f"{one.value} ({_signed(printed.value)})",
                _signed(printed.rounded_like(difference)),
                f"{one.value} − {other.value} = {_signed(difference)}",
                kind,
            )


#: What several tables print, by task: the identifiers that mean the same networks.
SAME: Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]] = {
    task: {
        "from scratch, full depth": (
            ("table01", "scratch"), ("table02", "scratch"), ("table03", "scratch"), ("table05", "sinusoidal scratch"),
            ("table07", "spt-0"), ("table08", f"{depth}-layer scratch val"),
        ),
        "after SPT, full depth": (
            ("table01", "spt-finetune"), ("table03", "spt-finetune"), ("table05", "sinusoidal spt-finetune"),
            ("table07", "spt-200"), ("table08", f"{depth}-layer spt-finetune val"),
        ),
        "from scratch, one layer": (("table04", "scratch"), ("table08", "1-layer scratch val"), ("table09", "scratch")),
        "after SPT, one layer": (
            ("table04", "spt-finetune"), ("table08", "1-layer spt-finetune val"), ("table09", "spt-finetune"),
        ),
        "query and key from SPT, one layer": (("table04", "qk"), ("table09", "qk")),
    }
    for task, depth in (("image", 3), ("pathfinder", 4), ("listops", 0), ("retrieval", 0), ("text", 0))
}  # fmt: skip


def unequal_repeats() -> Iterator[Erratum]:
    """Quantities that tables print with values that no rounding brings within half a standard deviation."""
    for task, quantities in SAME.items():
        for quantity, places in quantities.items():
            found = [reported(table)[f"{task} {arm}"] for table, arm in places if f"{task} {arm}" in reported(table)]
            values = [accuracy_of(one) for one in found]
            if not values:
                continue
            gap = max(v.value - v.half for v in values) - min(v.value + v.half for v in values)
            known = [one for one in found if "deviation" in one.value]
            if gap <= 0 or not known or float(gap) < _LEAST * known[0].value["deviation"]:
                continue
            yield Erratum(
                f"{', '.join(dict.fromkeys(one.where for one in found))}: {TASKS[task]}, {quantity}",
                "; ".join(f"{one.says.split(' (')[0]} ({one.where})" for one in found),
                f"{known[0].says.split(' (')[0]}, the mean over 5 seeds, throughout",
                f"{float(gap) / known[0].value['deviation']:.1f} standard deviations over seeds lie between, "
                "roundings taken "
                "off; single runs may differ, but no table says that it has others",
                REPEATED,
            )


def _signed(value: Decimal) -> str:
    return f"{value:+}".replace("-", "−")
