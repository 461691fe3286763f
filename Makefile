# python3 with pip is all that is needed; `make setup` gets the rest.

PYTHON ?= python3
BIN := .venv/bin
WHEEL_BIN := .venv-wheel/bin

# Words for pytest, the interop cases and turnlog, as in: make test ARGS="tests/cli -k version"
ARGS ?=

# Browsers, servers and terminals are waited for about half of the time: twice as many workers as cores keep the cores busy.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(2 * (os.cpu_count() or 1))")

# What needs other programs has a target of its own: `interop` and `backends`. So have the long tails: `slow`.
QUICK := not interop and not backends and not slow
PYTEST := TURNLOG_TEST_WHEEL=1 $(WHEEL_BIN)/pytest -n $(WORKERS) --dist worksteal --inline-snapshot=disable

.NOTPARALLEL:
.PHONY: help setup run test slow coverage docs check format interop backends bench fuzz full lock wheel screenshots clean

help:
	@echo "make setup     get everything into .venv (python3 and pip are enough)"
	@echo "make run       open the web app from the source tree; make run ARGS=\"ls --json\": any command"
	@echo "make test      build the wheel, install it, run the tests against it"
	@echo "make slow      the long tails: kills at every step, attacks and accessibility on every page, genuine sessions"
	@echo "make coverage  only the tests of entries and session, which must reach every branch of them"
	@echo "make docs      build the documentation site into site/; a dead link fails"
	@echo "make check     style, types, floors, names, documentation"
	@echo "make format    put the source in style"
	@echo "make interop   compare with the real client (needs Node and npm)"
	@echo "make backends  send sessions to Arize Phoenix and MLflow, and read them back"
	@echo "make bench     measure"
	@echo "make fuzz      the property tests with many more examples"
	@echo "make full      all of it, at full length"
	@echo "make screenshots  the pictures in docs/images (needs Chromium; that of Phoenix: make backends first)"
	@echo "make wheel     build dist/turnlog-*.whl"
	@echo "make lock      write the requirements files anew (ARGS=--upgrade: newest versions)"
	@echo "make clean     remove what was built and measured; .venv, .tools and .backends stay"

setup:
	@$(PYTHON) scripts/bootstrap.py

wheel:
	@$(PYTHON) scripts/bootstrap.py wheel
	@ls dist/turnlog-*.whl

run: setup
	@$(BIN)/turnlog $(or $(ARGS),web)

# Two rooms are measured, by their own tests: measuring takes a third of the time, and browsers are waited for as it is.
ifeq ($(strip $(ARGS)),)
test: coverage
	@echo "== the other rooms (make slow runs the long tails)"
	$(PYTEST) -m "$(QUICK)" --ignore=tests/entries --ignore=tests/session
else
test: wheel
	$(PYTEST) -m "not interop and not backends" $(ARGS)
endif

slow: wheel
	@echo "== the long tails"
	$(PYTEST) -m "slow and not interop and not backends" $(ARGS)

coverage: wheel
	@echo "== entries and session, with every branch measured"
	$(WHEEL_BIN)/coverage erase
	TURNLOG_TEST_WHEEL=1 $(WHEEL_BIN)/coverage run $(WHEEL_BIN)/pytest -n auto --inline-snapshot=disable tests/entries tests/session
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
	TURNLOG_TEST_WHEEL=1 $(WHEEL_BIN)/pytest --inline-snapshot=disable -m backends tests/backends $(ARGS)

bench: setup
	$(BIN)/python -m bench $(ARGS)

fuzz: wheel
	TURNLOG_FAULTS=500 $(PYTEST) -m "not interop and not backends" --hypothesis-profile=long $(ARGS)

full: check test slow
	@scripts/interop --all
	@$(MAKE) --no-print-directory backends fuzz bench

screenshots: setup
	$(BIN)/python scripts/make_screenshots.py
	$(BIN)/python scripts/make_chat_screenshot.py
	$(if $(wildcard .backends/phoenix),$(BIN)/python scripts/make_trace_screenshot.py)

lock:
	@$(PYTHON) scripts/lock.py $(ARGS)

clean:
	rm -rf dist build site .cache .venv-wheel .coverage .coverage.* htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} +
