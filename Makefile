# Every target makes its own environment: on a fresh machine only Python 3.11 or newer and make are needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := theory numerics training paper_figures
PIP := $(BIN)/python -m pip --disable-pip-version-check
# One thread a process: the tests run one process a core, and sums keep their order.
SINGLE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
TEST_PROCESSES ?= 2
TEST_ARGS ?=
LOCK_TORCH ?= 2.13.0

INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup verify-theory test lint format bench figures mutation prove lock clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv from requirements.lock

# The environment is made anew when the lock changes; a change of pyproject.toml only installs the project again.
$(INSTALLED): requirements.lock
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "Python 3.11 or newer is needed: $(PYTHON) is %d.%d; say make PYTHON=python3.11" % v[:2])'
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --quiet --requirement requirements.lock
	@touch $@

$(READY): $(INSTALLED) pyproject.toml
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

verify-theory: $(READY) ## verify every claim; writes reports/verify/
	@code=0; $(BIN)/python -m numerics verify || code=$$?; echo "verify-theory: exit code $$code"; exit $$code

test: $(READY) ## run the whole test suite (TEST_ARGS="-k NAME" narrows it)
	$(SINGLE_THREAD) $(BIN)/python -m pytest -n $(TEST_PROCESSES) $(TEST_ARGS)

lint: $(READY) ## check style, format, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## format the code and sort its imports
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Shape checks would be timed too, so benchmarks run without them.
bench: $(READY) ## run the benchmarks; writes reports/bench/results.json
	@mkdir -p reports/bench
	$(SINGLE_THREAD) $(BIN)/python -m pytest tests/bench --benchmark-only --benchmark-sort=name \
	  --jaxtyping-packages= --benchmark-columns=min,median,max,rounds --benchmark-json=reports/bench/results.json

figures: $(READY) ## draw every figure and table that the records on disk allow
	$(BIN)/python -m paper_figures make all

mutation: $(READY) ## plant 20 errors in theory/ and numerics/ and count those that the tests find (10 min)
	$(BIN)/python -m tests.mutation

# CUDA builds of torch bring their own exactly pinned libraries: they differ by platform, so they stay out.
lock: ## write requirements.lock anew from the ranges in pyproject.toml (LOCK_TORCH=VERSION picks torch)
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --upgrade setuptools
	.venv-lock/bin/python -m pip install --quiet --editable '.[dev,bench]' torch==$(LOCK_TORCH)
	@{ echo "# Exact versions of everything that 'make setup' installs (runtime, dev and bench)."; \
	   echo "# Written by 'make lock': pip freeze in a new environment, Python $$($(PYTHON) -c 'import platform; print(platform.python_version())')."; \
	   echo "# No hashes, and no local version labels: builds of torch differ by platform."; \
	   .venv-lock/bin/python -m pip freeze --all --exclude-editable --exclude pip \
	     | sed -E -e 's/\+[a-z0-9.]+$$//' -e '/^(nvidia-|cuda-|triton)/d'; } > requirements.lock.new
	@mv requirements.lock.new requirements.lock
	@rm -rf .venv-lock

prove: ## check the mechanised proofs (needs Coq); writes reports/prove/
	@bash theory/formal/prove.sh

clean: ## remove reports, runs and caches
	rm -rf reports figures runs mutants build dist .benchmarks .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(wildcard $(ROOMS)) tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the environment too
	rm -rf $(VENV) .venv-lock *.egg-info
