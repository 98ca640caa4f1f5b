"""Parse worker command lines with Dynamo's own parser and checks; of vLLM only the flags are there.

Reads ``{"flags": [...], "switches": [...], "lines": [[...], ...]}`` and writes a list of what each line became, or its
error. Runs in the environment of Dynamo's wheels, so it knows nothing of this project.
"""

import argparse
import contextlib
import importlib.abc
import importlib.machinery
import io
import json
import sys
import types
from typing import Any

ASKED = json.load(sys.stdin)


class Parser(argparse.ArgumentParser):
    """vLLM's parser, as far as a command line of plain flags goes."""

    def error(self, message: str) -> Any:
        raise ValueError(message)


class EngineArgs:
    """vLLM's engine arguments: every flag of its surface, values as text, the two JSON arguments read."""

    @staticmethod
    def add_cli_args(parser: Any, async_args_only: bool = False) -> None:
        for flag in ASKED["flags"]:
            kind: Any = {}
            if flag in ASKED["switches"]:
                kind = {"action": argparse.BooleanOptionalAction}
            parser.add_argument(f"--{flag}", default=None, **kind)

    @classmethod
    def from_cli_args(cls, namespace: Any) -> "EngineArgs":
        made = cls()
        made.__dict__.update(vars(namespace))
        for name in ("kv_transfer_config", "kv_events_config"):
            text = getattr(made, name)
            setattr(made, name, types.SimpleNamespace(**json.loads(text)) if text else None)
        made.__dict__ |= {"data_parallel_size": int(namespace.data_parallel_size or 1), "enable_lora": False}
        made.__dict__ |= {"stream_interval": 1, "served_model_name": [namespace.served_model_name]}
        return made


class Hollow(types.ModuleType):
    """A module of which every name exists and means nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return {"AsyncEngineArgs": EngineArgs, "FlexibleArgumentParser": Parser}.get(name, type(name, (), {}))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a hollow module for everything below what is not installed here."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        known = name.split(".", maxsplit=1)[0] in ("vllm", "torch", "transformers", "zmq")
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: Any) -> types.ModuleType:
        return Hollow(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


sys.meta_path.append(Finder())

from dynamo.vllm.args import parse_args  # noqa: E402

answers = []
for line in ASKED["lines"]:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            config = parse_args(line)
    except (Exception, SystemExit) as error:
        answers.append({"error": f"{type(error).__name__}: {error} {said.getvalue()}"})
    else:
        answers.append(
            {
                "component": config.component,
                "mode": config.disaggregation_mode.value,
                "events": config.use_kv_events,
                "name": config.served_model_name,
                "tools": config.dyn_tool_call_parser,
                "reasoning": config.dyn_reasoning_parser,
            }
        )
print("ANSWERS" + json.dumps(answers))
