# Needs Python 3.11 or later, git and make. On a machine without a GPU, PIP_EXTRA_INDEX_URL can name the index of CPU
# builds that PyTorch's site gives: a smaller download.
VENV ?= .venv
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install

# Two at a time, the tests of one file in one process, since they share what they trained; in the order of
# tests/conftest.py.
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo study report test lint setup

demo: $(VENV)/.installed  ## a small grid on the generated language, its table and figure
	PATH="$(abspath $(BIN)):$$PATH" bash experiments/demo/run.sh

study: $(VENV)/.installed  ## every cell of experiments/NAME/study.yaml: make study NAME=...
	@test -f "experiments/$(NAME)/study.yaml" || { echo "no experiments/$(NAME)/study.yaml: make study NAME=..." >&2; exit 1; }
	$(BIN)/attnlab train study=$(NAME)

DIR ?= outputs
report: $(VENV)/.installed  ## the runs under DIR compared: make report DIR=outputs/...
	$(BIN)/attnlab report $(DIR)

test: lint  ## everything that CI asks for
	$(PYTEST)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: $(VENV)/.installed-dev

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.installed

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "attnlab needs Python 3.11 or later, and found none;" \
		"name one with make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
