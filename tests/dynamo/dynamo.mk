# Dynamo's own programs judge our flags and files on a CPU. The tests install its wheels once, into the user's cache.
.PHONY: test-dynamo

test-dynamo: $(DEV)  ## our command lines, router and planner files before Dynamo's own programs (about 310 MB, once)
	@$(BIN)/python -m pytest -q -m dynamo tests/dynamo
