"""Configurations: frozen dataclasses whose every value is named, sourced and hashed.

A run is identified by the SHA-256 of its whole configuration, so the same configuration is never run twice, and a stage
that two experiments share (the self-pretraining of one seed, say) is computed once.  Every field has a help docstring
and, where the value comes from somewhere, a source; ``sources`` lists them for the run record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import MISSING, field, fields, is_dataclass
from typing import Any, TypeVar

from numerics.errors import InputError

#: Goes into every hash; raise it when a change of code changes what a configuration computes.
RECIPE_VERSION = 1

_REGISTRY: dict[str, type] = {}
_Class = TypeVar("_Class", bound=type)


def configuration(cls: _Class) -> _Class:
    """Class decorator: makes a frozen dataclass readable again from a run record."""
    _REGISTRY[cls.__name__] = cls
    return cls


def setting(default: Any, source: str) -> Any:
    """A dataclass field with a default and the place it comes from."""
    return field(default=default, metadata={"source": source})


def as_plain(value: Any) -> Any:
    """A configuration as JSON values; dataclasses carry their class name as ``kind``.

    >>> from training.stages import Optimiser
    >>> as_plain(Optimiser(learning_rate=0.01))["learning_rate"]
    0.01
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": type(value).__name__} | {f.name: as_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [as_plain(item) for item in value]
    return value


def from_plain(plain: Any) -> Any:
    """The configuration that ``as_plain`` wrote."""
    if isinstance(plain, dict):
        kind = plain.get("kind")
        if kind not in _REGISTRY:
            raise InputError(
                f"a configuration must be of a known kind: {kind!r}; known are {', '.join(sorted(_REGISTRY))}; "
                "use the revision of the code that wrote the record"
            )
        cls = _REGISTRY[kind]
        names = {f.name for f in fields(cls)}
        given = {name: from_plain(value) for name, value in plain.items() if name != "kind"}
        if set(given) != names:
            odd = sorted(set(given) ^ names)
            raise InputError(
                f"a recorded {kind} must have exactly the fields of this version: {odd} differ; "
                "use the revision of the code that wrote the record"
            )
        return cls(**given)
    if isinstance(plain, list):
        return tuple(from_plain(item) for item in plain)
    return plain


def config_hash(config: Any) -> str:
    """SHA-256 over the canonical JSON of the whole configuration (and ``RECIPE_VERSION``), as 64 hex digits."""
    text = json.dumps([RECIPE_VERSION, as_plain(config)], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def sources(config: Any) -> dict[str, str]:
    """Where each value comes from, by dotted name; a value that is not the default was set by the experiment."""
    return dict(_sources(config, ""))


def _sources(config: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for item in fields(config):
        value = getattr(config, item.name)
        if is_dataclass(value):
            yield from _sources(value, f"{prefix}{item.name}.")
        elif "source" in item.metadata:
            source = item.metadata["source"]
            default = item.default
            if default is not MISSING and default != value:
                source = f"set by the experiment (the default {default!r}: {source})"
            yield f"{prefix}{item.name}", source
