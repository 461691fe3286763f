# Only python3 with pip is required; `make setup` installs the rest.

PYTHON ?= python3
BIN := .venv/bin
WHEEL_BIN := .venv-wheel/bin

# Arguments for pytest, the interop cases and turnlog, as in: make test ARGS="tests/cli -k version"
ARGS ?=

# Tests spend about half of their time waiting for browsers, servers and terminals, so two workers per core keep the cores busy.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(2 * (os.cpu_count() or 1))")

# Tests that need other programs have their own targets (`interop` and `backends`), and so do slow tests (`slow`).
QUICK := not interop and not backends and not slow
PYTEST_COMMAND := $(WHEEL_BIN)/pytest -n $(WORKERS) --dist worksteal --inline-snapshot=disable
PYTEST := TURNLOG_TEST_WHEEL=1 $(PYTEST_COMMAND)

# Runs the few tests that failed once more, one after another.
RUN_TESTS := TURNLOG_TEST_WHEEL=1 $(PYTHON) scripts/run_tests.py

.NOTPARALLEL:
.PHONY: help setup run test slow coverage docs check format interop backends fleet-cluster bench fuzz full lock wheel screenshots sprites clean

help:
	@echo "make setup     install everything into .venv (requires only python3 and pip)"
	@echo "make run       open the web app from the source tree; ARGS=\"ls --json\" runs any command"
	@echo "make test      build the wheel, install it, and run the tests against it"
	@echo "make slow      run the slow tests: kills at every step, attacks and accessibility on every page, genuine sessions"
	@echo "make coverage  run the tests of entries and session, which must cover every branch"
	@echo "make docs      build the documentation site into site/; fails on a dead link"
	@echo "make check     check style, types, imports between rooms, names and documentation"
	@echo "make format    format the source"
	@echo "make interop   compare turnlog with the real client (requires Node and npm)"
	@echo "make backends  send sessions to Arize Phoenix and MLflow, and read them back"
	@echo "make fleet-cluster  build a lake on a Dask cluster of processes on this machine"
	@echo "make bench     run the benchmarks"
	@echo "make fuzz      run the property tests with many more examples"
	@echo "make full      run all checks, tests, fuzzers and benchmarks"
	@echo "make screenshots  retake the pictures in docs/images (requires Chromium; for Phoenix, run make backends first)"
	@echo "make sprites   draw the sprites of the quest again; the committed sheets come out byte for byte"
	@echo "make wheel     build dist/turnlog-*.whl"
	@echo "make lock      rewrite the requirements files (ARGS=--upgrade uses the newest versions)"
	@echo "make clean     remove build, test and coverage files, but keep .venv, .tools and .backends"

setup:
	@$(PYTHON) scripts/bootstrap.py

wheel:
	@$(PYTHON) scripts/bootstrap.py wheel
	@ls dist/turnlog-*.whl

run: setup
	@$(BIN)/turnlog $(or $(ARGS),web)

# Coverage is measured for two rooms only, by their own tests, because measuring takes a third of the time.
ifeq ($(strip $(ARGS)),)
test: coverage
	@echo "== the other rooms (make slow runs the slow tests)"
	$(RUN_TESTS) $(PYTEST_COMMAND) -m "$(QUICK)" --ignore=tests/entries --ignore=tests/session
else
test: wheel
	$(PYTEST) -m "not interop and not backends" $(ARGS)
endif

slow: wheel
	@echo "== the slow tests"
	$(RUN_TESTS) $(PYTEST_COMMAND) -m "slow and not interop and not backends" $(ARGS)

coverage: wheel
	@echo "== entries and session, with branch coverage"
	$(WHEEL_BIN)/coverage erase
	$(RUN_TESTS) $(WHEEL_BIN)/coverage run $(WHEEL_BIN)/pytest -n auto --inline-snapshot=disable tests/entries tests/session
	$(WHEEL_BIN)/coverage combine --quiet
	$(WHEEL_BIN)/coverage report

docs:
	@$(PYTHON) scripts/bootstrap.py docs
	.venv-docs/bin/zensical build --strict --clean

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_names.py
	$(BIN)/python scripts/check_docs.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

interop: setup
	@scripts/interop $(ARGS)

backends: wheel
	@PYTHON=$(PYTHON) scripts/install-backends
	$(RUN_TESTS) $(WHEEL_BIN)/pytest --inline-snapshot=disable -m backends tests/backends $(ARGS)

fleet-cluster:
	@$(PYTHON) scripts/bootstrap.py fleet
	TURNLOG_TEST_WHEEL=1 .venv-fleet/bin/pytest --inline-snapshot=disable -m cluster tests/fleet $(ARGS)

bench: setup
	$(BIN)/python -m bench $(ARGS)

fuzz: wheel
	TURNLOG_FAULTS=500 $(PYTEST) -m "not interop and not backends" --hypothesis-profile=long $(ARGS)

full: check test slow
	@scripts/interop --all
	@$(MAKE) --no-print-directory backends fuzz bench

screenshots: setup
	$(BIN)/python scripts/make_screenshots.py
	$(BIN)/python scripts/make_quest_pictures.py
	$(BIN)/python scripts/make_chat_screenshot.py
	$(if $(wildcard .backends/phoenix),$(BIN)/python scripts/make_trace_screenshot.py)

sprites: setup
	$(BIN)/python scripts/draw_sprites.py

lock:
	@$(PYTHON) scripts/lock.py $(ARGS)

clean:
	rm -rf dist build site .cache .venv-wheel .coverage .coverage.* htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} +
