# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: setup demo docs test test-kernels test-min lint format clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: setup
	$(BIN)/roster demo -o demo

# The documentation as a site in site/, with the reference generated from the code; a broken link or anchor is an error.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# In the order of the files: the long ones, of whole commands, come first, so that no worker is left with one of them.
test: setup $(if $(filter Linux,$(shell uname -s)),test-kernels)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# The Triton kernels, interpreted on the CPU; on a machine with a GPU `make test` runs them there. Triton lies in a
# folder of its own, because its presence changes what PyTorch imports.
test-kernels: setup $(VENV)/triton
	TRITON_INTERPRET=1 PYTHONPATH=$(VENV)/triton $(BIN)/python -m pytest tests/unit/accelerate/test_kernels.py

$(VENV)/triton: $(VENV)/.ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps --target $@ triton
	@touch $@

# The lowest versions that pyproject.toml claims, in an environment of their own; the fast tests only.
test-min: $(VENV)-min/.ready
	$(VENV)-min/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile tests/unit

$(VENV)-min/.ready: pyproject.toml constraints-min.txt
	$(PYTHON) -m venv $(VENV)-min
	$(VENV)-min/bin/pip install --quiet --disable-pip-version-check -c constraints-min.txt torch
	$(VENV)-min/bin/pip install --quiet --disable-pip-version-check -c constraints-min.txt -e '.[all,bench]' \
		pytest pytest-xdist hypothesis seqeval pandas datasets oxigraph
	@touch $@

lint: setup
	$(BIN)/ruff check src tests benchmarks fuzz manual
	$(BIN)/ruff format --check src tests benchmarks fuzz manual
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python -m manual.dependencies

format: setup
	$(BIN)/ruff check --fix src tests benchmarks fuzz manual
	$(BIN)/ruff format src tests benchmarks fuzz manual

clean:
	rm -rf $(VENV) $(VENV)-min build dist site .pytest_cache .mypy_cache .ruff_cache
