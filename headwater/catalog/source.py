"""Read the catalogue's dated data files, once a process."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def load_yaml(name: str) -> Any:
    """The content of ``catalog/data/<name>.yaml``. Callers must not change it."""
    text = resources.files("headwater.catalog").joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)
