# Dynamo's own programs judge our flags and files on a CPU. The tests install its wheels once, into the user's cache.
.PHONY: test-dynamo lock-dynamo

test-dynamo: $(DEV)  ## our command lines, router and planner files before Dynamo's own programs (about 290 MB, once)
	@$(BIN)/python -m pytest -q -m dynamo tests/dynamo

lock-dynamo:  ## hash the wheels of tests/dynamo/requirements.in again (needs uv)
	@uv pip compile --quiet --no-deps --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate tests/dynamo/requirements.in -o requirements-dynamo.lock
