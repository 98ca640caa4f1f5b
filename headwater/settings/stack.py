"""The whole stack file as one frozen object."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator, model_validator

from headwater.refusal import did_you_mean
from headwater.settings.base import Frozen
from headwater.settings.capacity import Capacity, SystemNodes
from headwater.settings.dynamo import Dynamo
from headwater.settings.llmd import Llmd
from headwater.settings.platform import (
    Cluster,
    Gateway,
    Mirror,
    Network,
    Observability,
    Tags,
)
from headwater.settings.serving import Serving
from headwater.settings.weights import HuggingFace, Weights

ACCELERATORS = ("h100", "h200")


class Settings(Frozen):
    """One environment. Every key but ``serving`` is optional; defaults are the catalogue's.

    Attributes:
        environment: name of the stack, from its file name.
        region: AWS region, the stack file's ``aws:region``.
    """

    environment: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,19}$")]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    serving: Serving
    cluster: Cluster = Cluster()
    network: Network = Network()
    system_nodes: SystemNodes = SystemNodes()
    capacity: dict[str, Capacity] = {}
    weights: Weights = Weights()
    hugging_face: HuggingFace | None = None
    gateway: Gateway = Gateway()
    mirror: Mirror = Mirror()
    observability: Observability = Observability()
    tags: Tags = Tags()
    llmd: Llmd = Llmd()
    dynamo: Dynamo = Dynamo()

    @property
    def cluster_name(self) -> str:
        """Physical name of the EKS cluster."""
        return self.cluster.existing or self.cluster.name or f"headwater-{self.environment}"

    @field_validator("capacity")
    @classmethod
    def _accelerators(cls, value: dict[str, Capacity]) -> dict[str, Capacity]:
        for key in value:
            if key not in ACCELERATORS:
                raise ValueError(f"there is no accelerator `{key}`. {did_you_mean(key, ACCELERATORS)}")
        return value

    @model_validator(mode="after")
    def _same_region(self) -> Settings:
        named = {
            "huggingFace.secretArn": self.hugging_face.secret_arn if self.hugging_face else None,
            "gateway.certificate": self.gateway.certificate,
        }
        for key, arn in named.items():
            if arn is not None and arn.split(":")[3] != self.region:
                raise ValueError(
                    f"`headwater:{key}` is of {arn.split(':')[3]}, the stack is in {self.region}; make it there"
                )
        return self

    @model_validator(mode="after")
    def _existing_cluster(self) -> Settings:
        if self.cluster.existing is not None and self.network.vpc is None:
            raise ValueError(
                "an existing cluster lives in an existing network: give `headwater:network.vpc` and `subnets`"
            )
        return self


SECTIONS: tuple[str, ...] = tuple(
    field.alias or name for name, field in Settings.model_fields.items() if name not in ("environment", "region")
)
"""Keys of the ``headwater:`` namespace, as the stack file spells them."""
