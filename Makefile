# Headwater. `make preview` and `make test` set everything up on a machine with Python >= 3.11 and make.
STACK ?= dev
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
PIP = $(if $(UV),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)
RUN := $(VENV)/.runtime-ready
DEV := $(VENV)/.dev-ready

.DEFAULT_GOAL := help
.PHONY: help setup preview plan render test lint format bench accuracy docs golden lock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headwater needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Say which one to use: make PYTHON=python3.12 ...")'
ifdef UV
	@uv venv --quiet --seed --python "$$(command -v $(PYTHON))" $(VENV)
else
	@$(PYTHON) -m venv $(VENV)
endif

$(RUN): requirements.lock pyproject.toml | $(BIN)/python
	@echo "setting up (once): the pinned packages of requirements.lock"
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps -e .
	@touch $@

$(DEV): requirements-dev.lock $(RUN)
	@echo "setting up (once): the pinned test tools of requirements-dev.lock"
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

setup: $(RUN)  ## the virtual environment with the pinned packages

preview: $(RUN)  ## what `pulumi up` would create for STACK (default dev), with no cloud account
	@$(BIN)/headwater preview $(STACK)

plan: $(RUN)  ## models, placement, memory, nodes and cost of STACK
	@$(BIN)/headwater plan $(STACK)

test: $(DEV)  ## the suite
	@$(BIN)/python -m pytest -n auto -q -m "not judges and not dynamo"
	@echo "left out: the real Pulumi engine, control plane and Karpenter (make test-judges); Dynamo's own programs (make test-dynamo)"

lint: $(DEV)  ## ruff, mypy --strict, the import rings
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: $(DEV)  ## rewrite the code in the project's format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(DEV)  ## wall time and peak memory of plan and preview for each stack
	@$(BIN)/python -m tests.bench

accuracy: $(DEV)  ## score the sizing engine on measured start-ups, rewrite docs/sizing.md
	@$(BIN)/python -m tests.accuracy

docs: $(DEV)  ## rewrite docs/configuration.md and the schema of stack files
	@$(BIN)/python -m tests.docs

golden: $(DEV)  ## rewrite the golden lists of logical names, on purpose only
	@$(BIN)/python -m tests.golden_names

lock: $(DEV)  ## resolve the pins of pyproject.toml again (needs uv)
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate pyproject.toml -o requirements.lock
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate --extra dev pyproject.toml -o requirements-dev.lock

include tools/judges.mk
include tests/dynamo/dynamo.mk

clean:  ## remove the virtual environment and caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
