# Two commands for everybody: `make demo` and `make test`. Both set up what they need on a machine with Python 3.11+, make and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# two more than there are cores, for the time that tests wait for boards, browsers and compilers
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)' 2>/dev/null || echo auto)
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install
# Versions come from locks/, each with its hashes, where the locks are for this Python; `make LOCK= ...` takes what pyproject.toml allows.
LOCK ?= $(shell $(PYTHON) -c 'import sys; print("yes" if (3, 11) <= sys.version_info[:2] <= (3, 14) else "")' 2>/dev/null)
LOCKED := $(PIP) --require-hashes
NOT_HERE := { echo "the locked versions are not all to be had here; to take others: make LOCK= $(MAKECMDGOALS)"; exit 1; }
# A test worker has one core: numpy's threads would only wait for each other. What Python compiled is kept: tests start edgec very often.
PYTEST := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=20 -q
.PHONY: demo test test-all check setup locks clean

demo: $(VENV)/.edgec
	@$(BIN)/python examples/demo.py

test: $(VENV)/.tests
	@sh tests/setup.sh
	@$(PYTEST) tests

test-all: $(VENV)/.tests
	@sh tests/setup.sh
	@$(if $(LOCK),$(LOCKED) -r locks/zig.txt || $(NOT_HERE),$(PIP) --editable '.[zig]')
	@EDGEC_TEST_ALL=1 $(PYTEST) tests

check: $(VENV)/.tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

setup: $(VENV)/.tests

$(VENV)/.edgec: pyproject.toml $(wildcard locks/*.txt)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "edgec needs Python 3.11 or newer; name it with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing; install it with: apt-get install python3-venv"; exit 1; }
	@echo "setting up $(VENV) (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(if $(LOCK),$(LOCKED) -r locks/runtime.txt -r locks/build.txt || $(NOT_HERE),:)
	@$(PIP) $(if $(LOCK),--no-deps --no-build-isolation) --editable .
	@for compiler in "$$CC" cc gcc clang; do test -n "$$compiler" && command -v $$compiler >/dev/null && exit 0; done; \
	  echo "no C compiler found: installing ziglang"; $(if $(LOCK),$(LOCKED) -r locks/zig.txt || $(NOT_HERE),$(PIP) --editable '.[zig]')
	@touch $@

$(VENV)/.tests: $(VENV)/.edgec
	@$(if $(LOCK),$(LOCKED) -r locks/development.txt || $(NOT_HERE),$(PIP) --editable '.[dev]')
	@touch $@

locks: $(VENV)/.edgec
	@$(LOCKED) -r locks/lock.txt
	@$(BIN)/python locks/lock.py $(UPGRADE)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
