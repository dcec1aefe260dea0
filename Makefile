# Two commands for everybody: `make demo` and `make test`. Both set up what they need on a machine with Python 3.11+, make and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto
.PHONY: demo test test-all setup check clean

demo: $(VENV)/.ready
	@$(BIN)/python examples/demo.py

test: $(VENV)/.ready
	@sh tests/setup.sh
	@$(BIN)/python -m pytest -n $(WORKERS) --durations=20 -q tests

test-all: $(VENV)/.ready
	@sh tests/setup.sh
	@EDGEC_TEST_ALL=1 $(BIN)/python -m pytest -n $(WORKERS) --durations=20 -q tests

check: $(VENV)/.ready
	@$(BIN)/ruff check edgec tests examples benchmarks
	@$(BIN)/mypy

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "edgec needs Python 3.11 or newer; name it with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv is missing: install it with: sudo apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,devices]'
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || { echo "no C compiler found: installing ziglang"; $(BIN)/python -m pip install --quiet '.[zig]'; }
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
