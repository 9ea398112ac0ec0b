"""Deriving the claims for every L, beside SymPy at one L and beside tensorgrad."""

import gc
import sys
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sympy.core.cache import clear_cache

from tests.bench.brute_force import sympy_residues, tensorgrad_residues
from tests.bench.stopwatch import side_by_side
from tests.bench.table import Row
from theory import claims, find_claim
from theory.printing import tidy

BUDGET = 5.0
WIDTH = 2
#: Brute force stops after the first L that takes longer than this (processor seconds).
PATIENCE = 10.0

OURS = "P1 derived for every L"


def forget() -> None:
    """Empty SymPy's cache and every cache in ``theory``: lemmas are derived anew, garbage is gone."""
    clear_cache()
    for name, module in list(sys.modules.items()):
        if name == "theory" or name.startswith("theory."):
            for held in list(vars(module).values()):
                if hasattr(held, "cache_clear"):
                    held.cache_clear()
    gc.collect()


def derive(*identifiers: str) -> int:
    """Derive the claims and return the number of equations that end at their statement."""
    parts = [part for identifier in identifiers for part in find_claim(identifier).parts]
    return sum(part.derivation().expression == tidy(part.statement) for part in parts)


def test_derive_every_claim_from_a_cold_cache(benchmark: BenchmarkFixture, report: Callable[[Row], None]) -> None:
    names = [claim.id for claim in claims()]
    timed = side_by_side(benchmark, lambda: derive(*names), rounds=5, prepare=forget)
    assert timed.value == sum(len(claim.parts) for claim in claims())
    what = f"{len(names)} claims derived for every L and d, cold cache"
    report(Row(what, timed.own.wall, timed.own.cpu, budget=BUDGET, note=f"{timed.value} equations"))


@pytest.mark.parametrize("identifier", [claim.id for claim in claims()])
def test_derive_one_claim(identifier: str, benchmark: BenchmarkFixture, report: Callable[[Row], None]) -> None:
    timed = side_by_side(benchmark, lambda: derive(identifier), rounds=3, prepare=forget)
    assert timed.value == len(find_claim(identifier).parts)
    report(Row(f"{identifier} derived for every L and d, cold cache", timed.own.wall, timed.own.cpu))


class TestSymPyBruteForce:
    tired = ""

    @pytest.mark.parametrize("token_count", range(4, 11))
    def test_proposition_1_at_one_length(
        self,
        token_count: int,
        benchmark: BenchmarkFixture,
        report: Callable[[Row], None],
        not_run: Callable[[str, str], None],
    ) -> None:
        what = f"P1 by SymPy brute force at L = {token_count} only, d = {WIDTH}"
        if TestSymPyBruteForce.tired:
            not_run(what, TestSymPyBruteForce.tired)
        timed = side_by_side(
            benchmark,
            lambda: sympy_residues(token_count, WIDTH),
            {OURS: lambda: derive("P1")},
            rounds=1,
            repeats=3,
            prepare=forget,
        )
        assert timed.value == (0, 0)
        stopped = timed.own.cpu > PATIENCE
        note = f"stopped here: over {PATIENCE:g} s" if stopped and token_count < 10 else ""
        report(Row(what, timed.own.wall, timed.own.cpu, timed.ratio(OURS), OURS, note=note))
        if stopped:
            TestSymPyBruteForce.tired = f"L = {token_count} took {timed.own.cpu:.0f} s"


@pytest.mark.parametrize("exponential", ["exp", "1 + s"])
def test_proposition_1_by_tensorgrad(
    exponential: str,
    benchmark: BenchmarkFixture,
    report: Callable[[Row], None],
    not_run: Callable[[str, str], None],
) -> None:
    try:
        import tensorgrad
    except ImportError:
        not_run(
            f"P1 by tensorgrad, {exponential}", "tensorgrad is not installed; pip install 'attention-blindness[bench]'"
        )
    function = tensorgrad.functions.exp if exponential == "exp" else lambda scores: 1 + scores
    timed = side_by_side(
        benchmark,
        lambda: tensorgrad_residues(tensorgrad, function),
        {OURS: lambda: derive("P1")},
        rounds=3,
        prepare=forget,
    )
    blind, seen = (isinstance(residue, tensorgrad.Zero) for residue in timed.value)
    if exponential == "exp":
        note = "both halves shown" if blind and seen else "not a proof: exp(0) stays in the result"
        assert (blind and seen) or "exp" in repr(timed.value)
    else:
        assert blind
        assert seen
        note = "both halves shown"
    report(
        Row(f"P1 by tensorgrad with {exponential}", timed.own.wall, timed.own.cpu, timed.ratio(OURS), OURS, note=note)
    )
