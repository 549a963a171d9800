# Everything on a machine with Python (3.11 or later), pip and make: the targets below create .venv,
# install into it, and run.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Numba does not notice when a kernel calls another one that has changed: one cache for each state
# of the sources.
SOURCES := $(shell find src/leftout -name '*.py' | LC_ALL=C sort)
export NUMBA_CACHE_DIR ?= $(CURDIR)/.numba/$(shell cat $(SOURCES) | cksum | cut -d' ' -f1)

# Tests start processes by the dozen: each would compile the package's sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo reproduce test golden test-kernels tables test-oldest lint types uncompiled browser bench \
    peers picture docs docs-check dist clean

demo: .venv/demo
	$(BIN)/leftout demo

# The paper's tables and figures again, from its three tables in a folder: make reproduce DATA=DIR
# About 20 minutes; a quick look: REPRODUCE="--dataset credit --runs 5 --samples 2"
reproduce: .venv/test
	$(BIN)/python -m paper $(DATA) $(REPRODUCE)

# Side by side, each process with one BLAS thread: two would wait for the other processes' turns.
BESIDE := -n auto --maxprocesses 8 --dist worksteal

# First what takes one process each, then all tests.
test: .venv/test browser
	$(MAKE) --no-print-directory -j 2 lint types uncompiled
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(BESIDE)

# After a change of what people read, look at what changed: make golden, then git diff tests/read.
golden: .venv/test
	LEFTOUT_GOLDEN=write OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest \
	    tests/test_record.py tests/test_pages.py tests/test_terminal.py tests/test_figures.py \
	    tests/test_settings.py

# The kernels' tests as plain Python, with fewer random examples: they are slow there.
uncompiled: .venv/test
	OPENBLAS_NUM_THREADS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest \
	    --hypothesis-profile=kernels \
	    tests/test_spectra.py tests/test_solvers.py tests/test_columns.py \
	    tests/test_correlation_matching.py \
	    -k "not students and not papers_search and not disagree and not in_part"

# The numerical tests with every processor's BLAS kernels that this one can execute.
test-kernels: .venv/test
	$(BIN)/python tests/kernels.py

# 10,000 random tables through the encoder; `make test` draws 400.
tables: .venv/test
	LEFTOUT_TABLES=10000 $(BIN)/python -m pytest tests/test_table_encoder.py -k any_table

# The report is tested in a real browser where there is one, or where Debian's may be installed.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	  { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	  echo "There is no chromium, and it cannot be installed here: tests in a browser are skipped."

# The oldest versions that work. For another Python: make clean test PYTHON=python3.13
test-oldest:
	test -d .venv-oldest || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip --disable-pip-version-check --quiet install \
	    -c tests/oldest.txt -e '.[demo,test]'
	OPENBLAS_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba/oldest \
	    .venv-oldest/bin/python -m pytest $(BESIDE)

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/test
	$(BIN)/mypy

bench: .venv/bench .venv/test
	$(BIN)/python -m benchmarks $(BENCH)

# Beside the others: each tool in an environment of its own, kept in .peers. PEERS="--only fairlearn"
peers: .venv/test
	$(BIN)/python -m benchmarks.peers $(PEERS)

picture: .venv/bench .venv/test browser
	$(BIN)/python docs/picture.py
	$(BIN)/python docs/screenshot.py

# The site, offline, into docs/_build/html; a warning is an error. Examples are run where they have
# changed; where the paper's tables are absent, those that need them are shown only, which is said.
docs: .venv/docs
	rm -rf docs/api/generated docs/_build/html
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html \
	    -d docs/_build/doctrees docs docs/_build/html

docs-check: docs
	$(BIN)/python docs/check_links.py docs/_build/html

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: .venv/bin/python pyproject.toml
	$(PIP) install -e '.[demo]'
	touch $@

.venv/test: .venv/bin/python pyproject.toml
	$(PIP) install -e '.[demo,test]'
	touch $@

.venv/docs: .venv/bin/python pyproject.toml
	$(PIP) install -e '.[demo,scale,docs]'
	touch $@

.venv/bench: .venv/bin/python pyproject.toml
	$(PIP) install -e '.[demo,bench]'
	touch $@

# Wheel and sdist, checked, installed into an empty environment and tried outside the repository;
# only then do they appear in dist/. For a release, with its tag: make dist TAG=v0.1.0
dist: .venv-dist/done
	.venv-dist/bin/python tools/dist.py $(if $(TAG),--tag $(TAG))

.venv-dist/done: tools/requirements.txt
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip --disable-pip-version-check --quiet install -r tools/requirements.txt
	touch $@

clean:
	rm -rf .venv .venv-oldest .venv-dist .peers .numba .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	    docs/_build docs/api/generated docs/examples
