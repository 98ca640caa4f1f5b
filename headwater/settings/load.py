"""From a stack file, or from what Pulumi read of it, to one frozen Settings object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from headwater.refusal import HUB_TOKEN, Fault, Refusal, did_you_mean, nearest
from headwater.settings.faults import faults_of, key_path
from headwater.settings.stack import SECTIONS, Settings
from headwater.settings.yaml12 import read_yaml

PULUMIS = ("config", "environment", "secretsprovider", "encryptedkey", "encryptionsalt")
"""What Pulumi itself keeps on top of a stack file."""
ENCRYPTED = "<secret>"
"""Stands for a value that only the stack's own key can decrypt."""


def stack_path(stack: str, project: Path) -> Path:
    """The file of a stack: an environment's name, or a path.

    Raises:
        Refusal: no such file; names the environments there are.
    """
    direct = Path(stack)
    if direct.suffix in {".yaml", ".yml"} or len(direct.parts) > 1:
        if there(direct):
            return direct
        why = "There is no such file."
        raise Refusal([Fault(stack, "", why, "Give an environment's name or a stack file's path.")])
    path = project / "stacks" / f"Pulumi.{stack}.yaml"
    if there(path):
        return path
    known = sorted(p.name.removeprefix("Pulumi.").removesuffix(".yaml") for p in project.glob("stacks/Pulumi.*.yaml"))
    why = f"There is no stack called `{stack}`: no stacks/Pulumi.{stack}.yaml."
    raise Refusal([Fault("STACK", stack, why, did_you_mean(stack, known))])


def there(path: Path, *, folder: bool = False) -> bool:
    """Whether there is such a file or folder; a name that no file system takes is of none."""
    try:
        return path.is_dir() if folder else path.is_file()
    except OSError:
        return False


def environment_of(path: Path) -> str:
    """``prod`` for ``Pulumi.prod.yaml``; the file's stem for another name."""
    return path.stem.removeprefix("Pulumi.").lower().replace("_", "-").replace(".", "-")


def shown_path(path: Path) -> str:
    """The file as people call it: ``stacks/Pulumi.dev.yaml``, else the path as given."""
    return f"{path.parent.name}/{path.name}" if path.parent.name == "stacks" else str(path)


def load_stack(path: Path) -> Settings:
    """Settings of a stack file.

    Raises:
        Refusal: the file cannot be read or asks for what does not exist; carries every fault.
    """
    shown = shown_path(path)
    try:
        document = read_yaml(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or not isinstance(document.get("config"), dict):
            raise Refusal(
                [Fault("config", "", "A stack file has one mapping, `config:`.", "docs/configuration.md shows one.")]
            )
        _no_plain_token(document["config"])
        strange = [str(key) for key in document if key not in PULUMIS]
        if strange:
            raise Refusal([_beside(key) for key in strange])
        config = {str(key): reveal(value) for key, value in document["config"].items()}
        return settings_from_config(config, environment_of(path))
    except Refusal as refusal:
        raise refusal.at(shown) from None
    except UnicodeDecodeError as error:
        why = f"It is not text in UTF-8: byte {error.start} is {error.object[error.start]:#04x}."
        raise Refusal([Fault("the file", "", why, "Save it as UTF-8.")], shown) from None
    except OSError as error:
        raise Refusal([Fault("the file", "", f"It cannot be read: {error.strerror}.", "")], shown) from None


def _beside(key: str) -> Fault:
    """A key next to ``config``, where only Pulumi's own stand and nobody reads another."""
    if key.startswith(("headwater:", "aws:")):
        return Fault(key, "", "It stands beside `config`, where nothing reads it.", "Put it under `config:`.")
    why = f"There is no key `{key}` beside `config`."
    return Fault(key, "", why, did_you_mean(key, PULUMIS))


def _not_read(key: str) -> Fault:
    """Settings of Pulumi's own AWS provider, which the program does not use: it sets up another, with the region."""
    best = nearest(key, ["aws:region"])
    remedy = "Say who deploys with `AWS_PROFILE` or `headwater:cluster.deployRole`, and tags in `headwater:tags`."
    why = "It would not be applied: the program sets its AWS provider up itself and takes the region alone from here."
    return Fault(key, "", why, f"Did you mean `{best}`?" if best else remedy)


def _no_plain_token(config: Mapping[Any, Any]) -> None:
    """A hub token in plain text would be in the repository's history for ever."""
    hub = config.get("headwater:huggingFace")
    if isinstance(hub, dict) and isinstance(hub.get("token"), str):
        why = "The token stands in plain text; whoever reads the repository has it."
        remedy = "Revoke it, then run `pulumi config set --secret --path headwater:huggingFace.token`."
        raise Refusal([Fault("headwater:huggingFace.token", "", why, remedy)])


def _tokens(config: Mapping[str, Any]) -> Iterator[str]:
    """Key paths at which a hub token stands, its own place left out."""

    def walk(value: Any, keys: tuple[str | int, ...]) -> Iterator[str]:
        if isinstance(value, dict):
            for key, item in value.items():
                yield from walk(item, (*keys, str(key)))
        elif isinstance(value, list):
            for place, item in enumerate(value):
                yield from walk(item, (*keys, place))
        elif isinstance(value, str) and HUB_TOKEN.search(value) and keys != ("huggingFace", "token"):
            path = key_path(keys)
            yield path.removeprefix("headwater:") if ":" in str(keys[0]) else path

    for key, value in config.items():
        yield from walk(value, (key.removeprefix("headwater:"),))


def _misplaced(path: str) -> Fault:
    why = "A Hugging Face token stands here, where it would be read by everybody who sees the plan or a pod."
    remedy = "Revoke it; the new one goes into `pulumi config set --secret --path headwater:huggingFace.token`."
    return Fault(path, "", why, remedy)


def settings_from_config(config: Mapping[str, Any], environment: str) -> Settings:
    """Settings of a configuration map as Pulumi keeps it: ``aws:region``, ``headwater:serving``, ...

    Args:
        config: values by namespaced key, already decrypted and parsed.
        environment: the stack's name.

    Raises:
        Refusal: with every fault found.
    """
    faults: list[Fault] = [_misplaced(path) for path in _tokens(config)]
    values: dict[str, Any] = {"environment": environment}
    for key, value in config.items():
        namespace, _, name = key.partition(":")
        if namespace == "headwater" and name in SECTIONS:
            values[name] = value
        elif namespace == "headwater" or not name:
            faults.append(
                Fault(key, "", f"There is no key `{key}`.", did_you_mean(key, [f"headwater:{s}" for s in SECTIONS]))
            )
        elif namespace == "aws" and name != "region" and key not in {fault.path for fault in faults}:
            faults.append(_not_read(key))
    region = config.get("aws:region")
    if region is None:
        faults.append(Fault("aws:region", "", "The AWS region is required.", "Add `aws:region: us-east-2`."))
        values["region"] = "us-east-2"
    else:
        values["region"] = region
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise Refusal([*faults, *faults_of(error, Settings)]) from None
    if faults:
        raise Refusal(faults)
    return settings


def reveal(value: Any) -> Any:
    """``value`` with every encrypted part replaced by a marker; nothing here can decrypt it."""
    if isinstance(value, dict):
        if set(value) == {"secure"} and isinstance(value["secure"], str):
            return ENCRYPTED
        return {key: reveal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [reveal(item) for item in value]
    return value
