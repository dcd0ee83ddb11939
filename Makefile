# Everything runs in .venv; `make demo` installs what the package needs, the other targets add the developer tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-long test-producers test-clients test-libraries test-rocm test-encodings check docs bench wheels fixtures clean

$(VENV)/.runtime: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	touch $@

demo: $(VENV)/.runtime
	$(BIN)/hipgraph-cb demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m "not long and not producers and not clients and not libraries and not encodings and not rocm" tests

test-long: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m "not producers and not clients and not libraries and not encodings and not rocm" tests

# Other compilers, in an environment of their own: about 1.5 GB. They compile for gfx942 without a GPU.
PRODUCERS := .venv-producers
PRODUCER_PACKAGES := triton==3.9.0 iree-base-compiler==3.13.0

$(PRODUCERS)/.done: pyproject.toml
	test -x $(PRODUCERS)/bin/python || $(PYTHON) -m venv $(PRODUCERS)
	$(PRODUCERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' $(PRODUCER_PACKAGES)
	touch $@

test-producers: $(PRODUCERS)/.done
	$(PRODUCERS)/bin/python -m pytest -m producers tests

# Programs of others, run as they are, in an environment of their own: about 2 GB. Their results make a table in docs/run.md.
CLIENTS := .venv-clients
CLIENT_PACKAGES := triton==3.9.0 iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 tinygrad

$(CLIENTS)/.done: pyproject.toml
	test -x $(CLIENTS)/bin/python || $(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' $(CLIENT_PACKAGES)
	touch $@

test-clients: $(CLIENTS)/.done
	$(CLIENTS)/bin/python -m pytest -m clients -o junit_family=xunit1 --junitxml=build/clients.xml tests/clients
	$(CLIENTS)/bin/python tools/clients_table.py build/clients.xml

# Real libraries of kernels, fetched by apt-get and pip: 410 MB once, kept in the user's cache folder.
test-libraries: $(VENV)/.dev
	$(BIN)/python -m pytest -m libraries tests/libraries

# The conformance suite on AMD's own HIP runtimes, on the virtual HSA library: Debian's packages, 130 MB once, kept in the
# user's cache folder.
test-rocm: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m rocm tests/rocm

# LLVM 22's disassembler, in an environment of its own: 62 MB.
ENCODINGS := .venv-encodings
LLVM_PACKAGE := rocm-llvm-python==7.2.2.562.46

$(ENCODINGS)/.done: pyproject.toml
	test -x $(ENCODINGS)/bin/python || $(PYTHON) -m venv $(ENCODINGS)
	$(ENCODINGS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' $(LLVM_PACKAGE)
	touch $@

test-encodings: $(ENCODINGS)/.done
	$(ENCODINGS)/bin/python -m pytest -m encodings tests/virtual/isa

docs: $(VENV)/.dev
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -d build/doctrees docs build/docs

check: docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports
	PYTHONPATH=. $(BIN)/lint-imports .importlinter.run_time
	$(BIN)/python tools/built_files.py check

bench: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m tests.benchmarks

# One with machine code for x86-64 Linux, and one for any platform, in which numpy does that work.
wheels:
	HIPGRAPH_CB_WHEEL=native $(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .
	HIPGRAPH_CB_WHEEL=pure $(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .

fixtures:
	$(PYTHON) tools/built_files.py build

clean:
	rm -rf $(VENV) $(PRODUCERS) $(CLIENTS) $(ENCODINGS) build dist .mypy_cache .ruff_cache .pytest_cache
