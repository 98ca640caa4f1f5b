"""Load planner configurations in the planner's own model.

Reads a list of JSON texts, writes what became of each: unknown keys, effective values, or the error.
"""

import importlib.util
import json
import sys
import tempfile
import types
from pathlib import Path

spec = importlib.util.find_spec("dynamo")
assert spec is not None
root = next(iter(spec.submodule_search_locations or []))
for name in ("planner", "planner.plugins", "planner.plugins.registry"):  # their own start needs the estimator
    module = types.ModuleType(f"dynamo.{name}")
    module.__path__ = [f"{root}/{name.replace('.', '/')}"]
    sys.modules[f"dynamo.{name}"] = module

from dynamo.planner.config.planner_config import PlannerConfig  # noqa: E402

fields = PlannerConfig.model_fields
known = set(fields) | {a for f in fields.values() if f.validation_alias for a in f.validation_alias.choices}
answers = []
for text in json.load(sys.stdin):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        try:
            config = PlannerConfig.from_config_arg(str(Path(file.name)))
        except Exception as error:
            answers.append({"error": str(error)})
            continue
    names = ("optimization_target", "enable_throughput_scaling", "enable_load_scaling", "ttft_ms", "itl_ms")
    found = {name: getattr(config, name) for name in (*names, "max_gpu_budget", "mode", "advisory")}
    tick = config.scheduling.scale_interval_seconds
    answers.append({**found, "tick": tick, "unknown": sorted(set(json.loads(text)) - known)})
print("ANSWERS" + json.dumps({"fields": sorted(fields), "answers": answers}))
