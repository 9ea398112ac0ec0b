"""Mutation score of the theory and the verifier: ``python -m tests.mutation``.

Every mutant is one change of the syntax tree of one module (``operators``), loaded by an import hook in a process of
its own, and judged (``judge``) by a short verification of all claims, by planted errors that must be found, and for
``numerics.gradcheck`` by its own tests.  Nothing in the checkout is edited.

Why not mutmut 3: it mutates the bodies of functions only (each is called through a trampoline), and here most of what
must not be wrong stands at module level: statements, rules, hypotheses, tables.  It also asks a test run a mutant,
where half a second of verification usually decides.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.mutation.operators import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = (
    "theory/sums/*.py", "theory/softmax.py", "theory/objects.py", "theory/objectives.py", "theory/hypotheses.py",
    "theory/general.py", "theory/curves.py", "theory/masking.py", "theory/query_key.py", "theory/composition.py",
    "theory/geometry.py", "theory/claims/*.py", "theory/claim.py", "theory/derivation.py",
    "numerics/definition.py", "numerics/evaluate.py", "numerics/rings.py", "numerics/measure.py",
    "numerics/tolerance.py", "numerics/routes/*.py", "numerics/refutation.py", "numerics/search.py",
    "numerics/verify/records.py", "numerics/verify/grades.py", "numerics/gradcheck/*.py",
)  # fmt: skip
#: Drawing only, and errors: no verdict rests on them.
LEFT_OUT = ("numerics/gradcheck/plots.py", "numerics/gradcheck/errors.py")
DEFAULT_SAMPLE = 20


def modules() -> dict[str, Path]:
    """The fixed list: module names and files."""
    files = [path for pattern in PATTERNS for path in sorted(ROOT.glob(pattern)) if path.name != "__init__.py"]
    kept = [path for path in files if str(path.relative_to(ROOT)) not in LEFT_OUT]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in kept}


class _Planted(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, mutant: Mutant, path: Path) -> None:
        self.mutant, self.path = mutant, path

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.mutant.module:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=str(self.path))

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self.path)
        exec(compile(self.mutant.tree, str(self.path), "exec"), module.__dict__)


def _preload() -> None:
    """Third-party libraries, once; no module of the project may be among what a child inherits.

    Not hypothesis: pytest wants to load that one itself.
    """
    if "flint" in sys.modules:
        return
    import flint  # noqa: F401
    import scipy.linalg
    import scipy.stats  # noqa: F401
    import sympy  # noqa: F401
    import torch

    torch.set_num_threads(1)
    import torch.func

    held = [name for name in sys.modules if name.split(".")[0] in ("theory", "numerics")]
    assert not held, held


def _child(mutant: Mutant, path: Path, slow: bool, seconds: float, write: int) -> None:
    """In the forked process: plant, judge, write the outcome, leave; after so many seconds of work, die."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    sys.meta_path.insert(0, _Planted(mutant, path))
    sys.dont_write_bytecode = True
    outcome, reason = "survived", ""
    try:
        from tests.mutation import judge

        (judge.own_tests if slow else judge.judge)(mutant.module)
    except BaseException as error:
        name = type(error).__name__
        outcome, reason = "killed", str(error) if name == "Killed" else f"{name}: {error}"
    os.write(write, json.dumps([outcome, reason[:300]]).encode())
    os._exit(0)


def run(work: list[Mutant], files: dict[str, Path], out: Path, *, jobs: int, timeout: float, slow: bool) -> None:
    """Judge mutants, ``jobs`` at a time, appending one JSON line each to ``out``."""
    _preload()
    waiting = list(reversed(work))
    running: dict[int, tuple[Mutant, int, float]] = {}
    done = 0
    with out.open("a", encoding="utf-8") as results:
        while waiting or running:
            while waiting and len(running) < jobs:
                mutant = waiting.pop()
                read, write = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os.setpgrp()
                    os.close(read)
                    _child(mutant, files[mutant.module], slow, timeout, write)
                os.close(write)
                running[read] = (mutant, pid, time.monotonic())
            ready, _, _ = select.select(list(running), [], [], 0.5)
            for read, (mutant, pid, began) in list(running.items()):
                seconds = time.monotonic() - began
                late = seconds > 10 * timeout  # it waits for something that does not come
                if read not in ready and not late:
                    continue
                data = b"" if late else os.read(read, 65536)
                if late:
                    os.killpg(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                slowly = late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL))
                if data:
                    outcome, reason = json.loads(data)
                elif slowly:
                    outcome, reason = "timeout", f"more than {timeout:g} s of work"
                else:
                    outcome, reason = "killed", "the process died"
                os.close(read)
                del running[read]
                done += 1
                record = {**describe(mutant, files), "outcome": outcome, "reason": reason, "seconds": round(seconds, 1)}
                results.write(json.dumps(record, ensure_ascii=False) + "\n")
                results.flush()
                print(f"\r{done}/{len(work)}  {mutant.key} {outcome}".ljust(78)[:78], end="", file=sys.stderr)
    print(file=sys.stderr)


def healthy(files: dict[str, Path], timeout: float, slow: bool) -> str:
    """What the judge says of an unchanged module: empty, or no score means anything."""
    name, path = max(files.items(), key=lambda item: "gradcheck" in item[0])  # that one's own tests are judged too
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unchanged = Mutant(name, -1, 0, "unchanged", "", "", tree, 0, tree)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "healthy.jsonl"
        run([unchanged], files, out, jobs=1, timeout=timeout, slow=slow)
        record = json.loads(out.read_text(encoding="utf-8"))
    return "" if record["outcome"] == "survived" else f"{record['outcome']} by {record['reason']}"


def describe(mutant: Mutant, files: dict[str, Path]) -> dict[str, Any]:
    """A mutant as plain values; ``source`` lets a resumed run notice that the module has changed."""
    path = files[mutant.module]
    return {
        "key": mutant.key, "source": _digest(path), "file": str(path.relative_to(ROOT)), "line": mutant.line,
        "operator": mutant.operator, "before": mutant.before, "after": mutant.after,
    }  # fmt: skip


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def sample(every: dict[str, list[Mutant]], size: int, seed: int) -> list[Mutant]:
    """A seeded sample in proportion to the modules' numbers of mutants, at least one each where it is large enough."""
    rng = random.Random(seed)
    total = sum(map(len, every.values()))
    if size < len(every):
        return rng.sample([mutant for held in every.values() for mutant in held], size)
    picked: list[Mutant] = []
    for held in every.values():
        picked += rng.sample(held, min(len(held), max(1, round(size * len(held) / total))))
    rng.shuffle(picked)
    return picked


def _kept(path: Path, files: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Earlier results of modules that have not changed since; a later line replaces an earlier one."""
    if not path.exists():
        return {}
    digests = {str(file.relative_to(ROOT)): _digest(file) for file in files.values()}
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return {r["key"]: r for r in records if digests.get(r["file"]) == r["source"]}


def summary(records: list[dict[str, Any]]) -> str:
    """Score a module, then the survivors with what was changed."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for record in records:
        counts[record["file"]][record["outcome"]] += 1
    lines = [f"{'module':42} {'mutants':>7} {'killed':>7} {'timeout':>7} {'survived':>8}  score"]
    for name, held in [*sorted(counts.items()), ("all", _sums(counts))]:
        total = sum(held.values())
        found = held["killed"] + held["timeout"]
        lines.append(
            f"{name:42} {total:7} {held['killed']:7} {held['timeout']:7} {held['survived']:8}  {found / total:5.0%}"
        )
    lines.append("")
    for record in sorted(records, key=lambda r: (r["file"], r["line"])):
        if record["outcome"] == "survived":
            lines.append(f"{record['file']}:{record['line']}: {record['operator']} ({record['key']})")
            lines += [f"    - {record['before']}", f"    + {record['after']}"]
    return "\n".join(lines)


def _sums(counts: dict[str, dict[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for held in counts.values():
        for outcome, number in held.items():
            sums[outcome] += number
    return sums


def main() -> int:
    """Judge a sample of mutants, or all of them; a score is a measurement, so any score exits 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("--modules", nargs="*", default=[], help="only modules whose name contains one of these")
    parser.add_argument("--sample", type=int, default=DEFAULT_SAMPLE, help="about how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--all", action="store_true", help="every mutant (hours)")
    parser.add_argument("--resume", type=Path, help="file of results: what it holds is kept, what is new is appended")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--timeout", type=float, default=120, help="seconds of work a mutant")
    parser.add_argument("--survivors", action="store_true", help="judge the survivors in --resume by the test suites")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args()

    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.chdir(ROOT)
    files = {
        name: path for name, path in modules().items() if not options.modules or any(m in name for m in options.modules)
    }
    every = {name: mutants(name, path.read_text(encoding="utf-8")) for name, path in files.items()}
    work = [m for held in every.values() for m in held] if options.all else sample(every, options.sample, options.seed)
    if options.list:
        for mutant in work:
            print(f"{mutant.key} line {mutant.line}: {mutant.operator}: {mutant.before} -> {mutant.after}")
        return 0
    out = options.resume or ROOT / "reports" / "mutation" / f"seed{options.seed}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    if options.resume is None:
        out.unlink(missing_ok=True)
    kept = _kept(out, files)
    if options.survivors:
        work = [m for held in every.values() for m in held if kept.get(m.key, {}).get("outcome") == "survived"]
    else:
        work = [m for m in work if m.key not in kept]
    if work and (sick := healthy(files, options.timeout, options.survivors)):
        print(f"the unchanged project does not pass the judge: {sick}", file=sys.stderr)
        return 1
    run(work, files, out, jobs=options.jobs, timeout=options.timeout, slow=options.survivors)
    print(summary(list(_kept(out, files).values())))
    print(f"\nof {sum(map(len, every.values()))} mutants; results: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
