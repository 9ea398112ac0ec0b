"""The door ``python -m numerics``: verify claims, compare two results files, audit sequences.

Examples::

    python -m numerics verify
    python -m numerics verify --claim P1-diag --json -
    python -m numerics verify --module my_claim.py
    python -m numerics verify --tokens my_sequences.npz --pattern gaussian:8
    python -m numerics compare before.json after.json
    python -m numerics audit --demo
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from numerics.audit.command import audit
from numerics.errors import InputError
from numerics.inputs import load_tokens, photograph_crops
from numerics.patterns import attention_mask, pooling_weights, score_pattern
from numerics.real import RealOptions
from numerics.verify.compare import compare_results, exit_code, load_results, render_changes
from numerics.verify.files import write_whole
from numerics.verify.modules import claim_named, load_claims
from numerics.verify.plan import Plan
from numerics.verify.records import REQUIRED_GRADES, Verdict
from numerics.verify.report_html import render_html
from numerics.verify.report_junit import render_junit
from numerics.verify.report_terminal import overall_verdict, render_table
from numerics.verify.run import verify as run_verification
from theory.catalogue import claims as all_claims
from theory.claim import Claim

#: A pipe has no width of its own; the table is made for 100 columns.
_out, _err = Console(width=None if sys.stdout.isatty() else 100), Console(stderr=True)


def verify(
    claim: tuple[str, ...] = (),
    module: tuple[Path, ...] = (),
    tokens: Path | None = None,
    pattern: str = RealOptions.pattern,
    mask: str = RealOptions.mask,
    pooling: str = RealOptions.pooling,
    json: Annotated[str, tyro.conf.arg(metavar="PATH|-")] = "",
    junit: str = "",
    report: Path = Path("reports/verify"),
    seed: int = 0,
    jobs: int = os.cpu_count() or 1,
) -> int:
    """Verify claims by every route and report what each route found.

    Exit code 0: all verified; 1: a claim failed or is incomplete; 2: bad input; 3: internal error.

    Args:
        claim: identifiers of the claims to verify (default: all); a partial run leaves the full report alone.
        module: Python files with claims of your own (CLAIM or CLAIMS): only these are verified, and each file gets a
            report in reports/modules; with --claim, only the claims named.
        tokens: .npz file with real sequences: tokens (N x L x d, float), optionally labels (N integers).
        pattern: score pattern on real sequences: alibi, periodic, gaussian:WIDTH, window:W, identity or FILE.npy.
        mask: mask on real sequences where a claim allows any: full, diagonal, causal, band:W or FILE.npy.
        pooling: pooling on real sequences where a claim allows any: mean, cls:INDEX, last.
        json: also write the results to this file; - prints them, and nothing else, on standard output.
        junit: also write JUnit XML to this file.
        report: folder of index.html and results.json (full runs only).
        seed: seed of every random draw.
        jobs: number of processes.
    """
    chosen = _chosen_claims(claim, module)
    data = photograph_crops() if tokens is None else load_tokens(tokens)
    count = data.tokens.shape[1]
    score_pattern(pattern, count), attention_mask(mask, count), pooling_weights(pooling, count)
    if jobs < 1:
        raise InputError(f"the number of processes must be positive: jobs={jobs}; use --jobs 1")
    plan = Plan(seed=seed, data=data, real=RealOptions(pattern, mask, pooling), modules=module)
    partial = bool(claim or module)
    results = _with_progress(chosen, plan, jobs, partial=partial)
    folder = Path("reports/modules", module[0].stem) if module else None if partial else report
    _write(results, json, junit, folder)
    return 0 if overall_verdict(results) is Verdict.VERIFIED else 1


def _chosen_claims(identifiers: Sequence[str], modules: Sequence[Path]) -> list[Claim]:
    own = [held for path in modules for held in load_claims(path)]
    try:
        named = [claim_named(identifier, modules) for identifier in dict.fromkeys(identifiers)]
        return named or own or list(all_claims())
    except KeyError as error:
        raise InputError(f"{error.args[0]}; see python -m theory list") from None


def _with_progress(chosen: list[Claim], plan: Plan, jobs: int, *, partial: bool) -> dict[str, object]:
    columns = (
        TextColumn("verifying"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=_err, transient=True) as bar:
        task = bar.add_task("starting", total=len(chosen) * len(REQUIRED_GRADES))
        return run_verification(
            chosen,
            plan,
            jobs=jobs,
            partial=partial,
            progress=lambda text: bar.update(task, advance=1, description=text),
        )


def _write(results: dict[str, object], json_path: str, junit_path: str, report: Path | None) -> None:
    content = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    if junit_path:
        write_whole(Path(junit_path), render_junit(results))
    if json_path == "-":
        sys.stdout.write(content)
    else:
        _out.print(render_table(results))
        if json_path:
            write_whole(Path(json_path), content)
    if report is not None:
        write_whole(report / "results.json", content)
        write_whole(report / "index.html", render_html(results))
        _err.print(f"report: {report / 'index.html'}")


def compare(first: Path, second: Path, /) -> int:
    """Say what changed between two results files; exit code 1 when something got worse.

    Args:
        first: results.json of the earlier run.
        second: results.json of the later run.
    """
    try:
        changes = compare_results(load_results(first), load_results(second))
    except ValueError as error:
        raise InputError(str(error)) from None
    _out.print(render_changes(changes))
    return exit_code(changes)


def audit_defaults() -> int:
    """Audit models as libraries initialise them, and broken ones; prints a Markdown table (about 20 s)."""
    from numerics.model_audit import defaults

    _out.print(defaults.markdown(defaults.audit_defaults()), soft_wrap=True, markup=False, highlight=False)
    return 0


COMMANDS: dict[str, Callable[..., int]] = {
    "verify": verify,
    "compare": compare,
    "audit": audit,
    "audit-defaults": audit_defaults,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        return int(
            tyro.extras.subcommand_cli_from_dict(COMMANDS, args=given, prog="python -m numerics", description=__doc__)
        )
    except InputError as error:
        _err.print(f"error: {error}", style="red", highlight=False, soft_wrap=True)
        return 2
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        message = f"error: a file could not be read or written: {reason}; choose another path or free space"
        _err.print(message, style="red", highlight=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        _err.print("interrupted; nothing was written")
        return 130
    except Exception as error:
        if debug:
            traceback.print_exc()
        _err.print(
            f"internal error: {type(error).__name__}: {error}; --debug shows where", style="red", highlight=False
        )
        return 3


if __name__ == "__main__":
    sys.exit(main())
