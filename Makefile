# Everything runs in .venv; `make demo` installs what the package needs, the other targets add the developer tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-long check bench fixtures clean

$(VENV)/.runtime: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(VENV)/.runtime
	$(BIN)/hipgraph-cb demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m "not long" tests

test-long: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 tests

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks

fixtures:
	sh tools/build_fixtures.sh

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
