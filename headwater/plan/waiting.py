"""Settings of the serving stack that does not serve: kept for a switch, and said to be unused until then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headwater.plan.dynamo_layout import entry
from headwater.plan.model import ModelPlan, StackName
from headwater.settings import Settings


def waiting(settings: Settings, stack: StackName, models: Sequence[ModelPlan]) -> Iterator[str]:
    """A line for the keys that nothing reads while ``stack`` serves.

    ``headwater:llmd.gateway`` names the controller of Dynamo's Gateway too, where there is one.
    System nodes have room for either stack, so requests and replicas of the one that waits are counted there.

    Args:
        settings: the stack file.
        stack: who serves.
        models: its models, placed.
    """
    name, section = ("llmd", settings.llmd) if stack == "dynamo" else ("dynamo", settings.dynamo)
    fields = type(section).model_fields
    given = [field.alias or key for key, field in fields.items() if key in section.model_fields_set]
    if stack == "dynamo" and "gateway" in given:
        given.remove("gateway")
        if entry(settings, models) == "frontend":
            yield (
                "headwater:llmd.gateway is not used: clients reach the only model's frontend, without a Gateway "
                "(headwater:dynamo.gateway)"
            )
    if given:
        other = "llm-d" if stack == "dynamo" else "dynamo"
        keys = [f"headwater:{name}.{key}" for key in given]
        verb = "is" if len(keys) == 1 else "are"
        listed = " and ".join([", ".join(keys[:-1]), keys[-1]] if len(keys) > 1 else keys)
        yield (
            f"{listed} {verb} not used: {stack} serves, and only {other} reads {'it' if verb == 'is' else 'them'}"
            "; system nodes keep room for either stack"
        )
