"""Pulumi.yaml and a stack file, read as the Pulumi CLI reads them: one flat map of text values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.preview.errors import PreviewError
from headwater.preview.wire import SECRET
from headwater.refusal import Fault, Refusal
from headwater.settings.yaml12 import read_yaml

DENIED = "pulumi:disable-default-providers"


@dataclass(frozen=True)
class Config:
    """A stack's configuration.

    Attributes:
        values: by namespaced key; an object is its JSON text, as Pulumi hands it to a program.
        secret_keys: keys with a secret anywhere in them.
    """

    values: Mapping[str, str]
    secret_keys: frozenset[str]


@dataclass(frozen=True)
class Project:
    """A Pulumi project on disk.

    Attributes:
        name: as Pulumi.yaml says.
        directory: where Pulumi.yaml lies.
        main: the program.
    """

    name: str
    directory: Path
    main: Path
    config: Mapping[str, Any]


def load_project(directory: Path) -> Project:
    """The project in a folder.

    Raises:
        PreviewError: there is none, or it has no program.
        Refusal: Pulumi.yaml is not YAML.
    """
    file = directory / "Pulumi.yaml"
    document = _read(file)
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise PreviewError(f"{file} has no `name`")
    main = directory / str(document.get("main", "."))
    main = main / "__main__.py" if main.is_dir() else main
    if not main.is_file():
        raise PreviewError(f"there is no program {main}")
    return Project(document["name"], directory, main, document.get("config") or {})


def stack_name(stack_file: Path) -> str:
    """``prod`` for ``Pulumi.prod.yaml``; the file's stem for another name."""
    return stack_file.stem.removeprefix("Pulumi.")


def load_config(project: Project, stack_file: Path) -> Config:
    """The configuration a program sees: the stack's values over the project's.

    Raises:
        PreviewError: the file cannot be read.
        Refusal: it is not YAML, or a required key is missing.
    """
    document = _read(stack_file)
    found = document.get("config") if isinstance(document, dict) else None
    given: dict[str, Any] = {}
    for key, value in (found if isinstance(found, dict) else {}).items():
        given[_namespaced(str(key), project.name)] = value
    defaults: dict[str, Any] = {}
    missing: list[str] = []
    for raw, spec in project.config.items():
        key = _namespaced(str(raw), project.name)
        if not isinstance(spec, dict):
            defaults[key] = spec
        elif "value" in spec or "default" in spec:
            defaults[key] = spec["value"] if "value" in spec else spec["default"]
        elif key not in given and ":" not in str(raw):
            missing.append(key)
    if missing:
        raise Refusal(
            [
                Fault(key, "", "Pulumi.yaml declares this key without a default.", "Give it in the stack file.")
                for key in sorted(missing)
            ],
            str(stack_file),
        )
    merged = {**defaults, **given}
    secrets = frozenset(key for key, value in merged.items() if _holds_secret(value))
    return Config({key: _text(_unveiled(merged[key])) for key in sorted(merged)}, secrets)


def denied_providers(config: Config) -> frozenset[str]:
    """Packages for which ``pulumi:disable-default-providers`` forbids a default provider.

    Raises:
        Refusal: the value is not a list of names.
    """
    text = config.values.get(DENIED, "")
    if not text:
        return frozenset()
    try:
        names = json.loads(text)
    except json.JSONDecodeError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refusal([Fault(DENIED, text, "It is a list of package names.", 'Write it as `["aws"]`.')])
    return frozenset(name.strip() for name in names)


def _read(file: Path) -> Any:
    try:
        return read_yaml(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PreviewError(f"{file} cannot be read: {error}") from None


def _namespaced(key: str, project: str) -> str:
    parts = key.split(":")
    if len(parts) == 3 and parts[1] == "config":
        return f"{parts[0]}:{parts[2]}"
    return key if len(parts) > 1 else f"{project}:{key}"


def _is_secret(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"secure"} and isinstance(value["secure"], str)


def _holds_secret(value: Any) -> bool:
    if _is_secret(value):
        return True
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_holds_secret(item) for item in items)


def _unveiled(value: Any) -> Any:
    """``value`` with a word in place of every ciphertext: nothing here could decrypt it."""
    if _is_secret(value):
        return SECRET
    if isinstance(value, dict):
        return {str(key): _unveiled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unveiled(item) for item in value]
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
