"""Claims from a file of the user's: ``python -m numerics verify --module my_claim.py``.

The file is Python code and is run; it holds one ``CLAIM`` or a sequence ``CLAIMS``.  Every process loads it by itself.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from numerics.errors import InputError
from theory.catalogue import claims, find_claim
from theory.claim import Claim


@cache
def load_claims(path: Path) -> tuple[Claim, ...]:
    """The claims of a file, in its order.

    Raises :class:`InputError` when the file cannot be run, holds no claim, or takes the identifier of a known one.
    """
    if path.suffix != ".py" or not path.is_file():
        raise InputError(f"a claim module is a Python file: {path}; name a file such as my_claim.py")
    name = f"claims_of_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(
            f"a claim module must run: {path} stops with {type(error).__name__}: {error}; try python {path}"
        ) from error
    held = getattr(module, "CLAIMS", None) or getattr(module, "CLAIM", None)
    found = (held,) if isinstance(held, Claim) else tuple(held or ())
    if not found or not all(isinstance(claim, Claim) for claim in found):
        raise InputError(f"a claim module holds CLAIM or CLAIMS (theory.claim.Claim): {path} has neither; add one")
    known, own = {claim.id for claim in claims()}, [claim.id for claim in found]
    taken = next((i for n, i in enumerate(own) if i in known or i in own[:n]), None)
    if taken is not None:
        raise InputError(f"identifiers of claims must differ: {taken!r} in {path} is taken; choose another")
    return found


def claim_named(identifier: str, modules: Sequence[Path]) -> Claim:
    """A claim of the modules, or else of the catalogue."""
    for path in modules:
        for claim in load_claims(path):
            if claim.id == identifier:
                return claim
    return find_claim(identifier)
