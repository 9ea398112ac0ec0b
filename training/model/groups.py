"""Named groups of parameters: what is frozen, and what a checkpoint initialises (Tables 2, 3, 4 and 9).

A selection joins group names with ``+``: ``qk``, ``attention+norms+encoder``, ``all-but-qk``, ``all``, ``none``.
``all`` is everything that self-pretraining trains; the label read-out is named only by ``classifier`` (the paper always
starts it at random).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from numerics.errors import InputError

_GROUPS = {
    "query": r"\.attention\.query\.",
    "key": r"\.attention\.key\.",
    "value": r"\.attention\.value\.",
    "output": r"\.attention\.output\.",
    "qk": r"\.attention\.(query|key)\.",
    "attention": r"\.attention\.",
    "mlp": r"\.mlp\.(up|down)\.",
    "norms": r"(_norm\.|\.mlp\.norm\.)",
    "encoder": r"^embedding\.",
    "bias": r"^fire\.",
    "pooling": r"^pooling\.",
    "reconstruction": r"^reconstruction\.",
    "classifier": r"^classifier\.",
}
#: What ``all`` leaves out: label training alone gives these a meaning.
_LABEL_ONLY = ("classifier", "pooling")


def select(names: Iterable[str], selection: str) -> list[str]:
    """The parameter names that a selection means, in the order given.

    >>> select(["embedding.value.weight", "blocks.0.attention.query.weight", "classifier.map.weight"], "all-but-qk")
    ['embedding.value.weight']
    """
    names = list(names)
    if selection in ("none", ""):
        return []
    kept, wanted = names, selection
    if selection == "all" or selection.startswith("all-but-"):
        excluded = _pattern(_LABEL_ONLY)
        if selection != "all":
            wanted = selection.removeprefix("all-but-")
            excluded = f"{excluded}|{_pattern(wanted.split('+'))}"
        return [name for name in kept if not re.search(excluded, name)]
    pattern = _pattern(wanted.split("+"))
    return [name for name in kept if re.search(pattern, name)]


def check_selection(selection: str) -> None:
    """Refuse a selection with an unknown group."""
    select([], selection)


def group_of(name: str) -> str:
    """The finest group of one parameter, for tables of norms and displacements.

    >>> group_of("blocks.0.attention.key.bias")
    'key'
    """
    for group, pattern in _GROUPS.items():
        if re.search(pattern, name):
            return group
    raise InputError(f"every parameter belongs to a group: {name} has none; add it to training/model/groups.py")


def _pattern(groups: Iterable[str]) -> str:
    groups = list(groups)
    unknown = [group for group in groups if group not in _GROUPS]
    if unknown:
        raise InputError(
            f"unknown parameter group: {', '.join(unknown)}; join names with +: {', '.join(_GROUPS)}, or all, none, "
            "all-but-GROUP"
        )
    return "|".join(_GROUPS[group] for group in groups)
