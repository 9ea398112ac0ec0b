"""``python -m numerics audit``: read, measure, print, write the report whole or not at all."""

from __future__ import annotations

import io
import json as json_format
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from numerics.audit.descent import descent_direction
from numerics.audit.picture import draw
from numerics.audit.report import render
from numerics.audit.run import AuditOptions
from numerics.audit.run import audit as run_audit
from numerics.audit.sequences import Sequences
from numerics.audit.verdict import RULE
from numerics.errors import InputError
from numerics.inputs import SymbolData, TokenData, load_sequences, photograph_crops
from numerics.structured.scores import Mask
from numerics.verify.files import write_whole


def audit(
    tokens: Path | None = None,
    demo: bool = False,
    pattern: str = AuditOptions.pattern,
    mask: str = AuditOptions.mask,
    pooling: str = AuditOptions.pooling,
    mask_ratio: float = AuditOptions.mask_ratio,
    positions: str = AuditOptions.positions,
    json: Annotated[str, tyro.conf.arg(metavar="PATH|-")] = "",
    report: Path = Path("reports/audit"),
    direction: Path | None = None,
    rule: bool = False,
) -> int:
    """Say whether labels and reconstruction see a score pattern on your own sequences.

    Example: python -m numerics audit --demo.  Exit code 0: audited, whatever the verdict; 2: bad input; 3: internal
    error.

    Args:
        tokens: .npz file with tokens: N x L x d floats, or N x L non-negative integers (embedded one-hot).
        demo: audit crops of the photograph that ships with matplotlib.
        pattern: alibi, periodic, gaussian:WIDTH, window:W, identity or an L x L FILE.npy.
        mask: attention mask: full, diagonal, causal or band:W.
        pooling: what the labels see: mean, cls:INDEX or last.
        mask_ratio: share of the tokens that self-pretraining masks; the verdict rests on it.
        positions: encodings for the predicted positional pattern: sinusoidal:WIDTH or an L x width FILE.npy.
        json: also write the results to this file; - prints them, and nothing else, on standard output.
        report: folder; audit.json and audit.png go into a folder of it named after the data.
        direction: also write the L x L steepest descent direction of the unmasked L_SPT, times L^2, to this .npy file.
        rule: print the rule behind the verdict, and nothing else.
    """
    out, err = Console(width=None if sys.stdout.isatty() else 100, highlight=False), Console(stderr=True)
    if rule:
        out.print(RULE, markup=False)
        return 0
    if (tokens is None) != demo:
        raise InputError("an audit needs one source: give either --tokens FILE.npz or --demo")
    data = photograph_crops() if tokens is None else load_sequences(tokens)
    options = AuditOptions(pattern, mask, pooling, mask_ratio, positions)
    files: dict[Path, bytes] = {} if direction is None else {direction: _direction(direction, mask, Sequences(data))}
    results = _with_progress(data, options, err)
    folder = report / ("photograph" if tokens is None else tokens.stem)
    files[folder / "audit.png"] = draw(results)
    content = json_format.dumps(results, indent=1, ensure_ascii=False) + "\n"
    if json == "-":
        sys.stdout.write(content)
    else:
        out.print(render(results))
        if json:
            write_whole(Path(json), content)
    write_whole(folder / "audit.json", content)
    for path, held in files.items():
        _write_bytes(path, held)
    err.print(f"report: {folder / 'audit.png'}", highlight=False, soft_wrap=True)
    return 0


def _with_progress(data: TokenData | SymbolData, options: AuditOptions, err: Console) -> dict[str, Any]:
    columns = (TextColumn("auditing"), BarColumn(), MofNCompleteColumn(), TextColumn("sequences"), TimeElapsedColumn())
    count = len(data.symbols if isinstance(data, SymbolData) else data.tokens)
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=count)
        return run_audit(data, options, lambda done: bar.advance(task, done))


def _direction(path: Path, mask: str, sequences: Sequences) -> bytes:
    if path.suffix != ".npy":
        raise InputError(f"the direction is written as a .npy file: got {path}; write {path}.npy")
    written = io.BytesIO()
    np.save(written, descent_direction(Mask(mask, sequences.length), sequences))
    return written.getvalue()


def _write_bytes(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
