"""Where weights come from: the mirror, the caches, the hub and its token."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from headwater.settings.base import Frozen, arn_of


class Weights(Frozen):
    """Where model weights come from and where they are kept.

    Attributes:
        mirror: ``s3://bucket/prefix`` that holds each repository as a folder; without it, straight from the hub.
        fill: copy what the mirror lacks from the hub, in the cluster, before the first GPU is bought.
        cache: where they lie: ``nvme`` (instance store of each node), or ``efs`` or ``fsx`` (shared, kept).
        prepull: pull the engine image onto a GPU node before its first pod needs it.
    """

    mirror: Annotated[str | None, Field(pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w.=/-]*)?$")] = None
    fill: bool = False
    cache: Literal["nvme", "efs", "fsx"] = "nvme"
    prepull: bool = False

    @field_validator("mirror")
    @classmethod
    def _plain_path(cls, value: str | None) -> str | None:
        if value is not None and (".." in value or "//" in value.removeprefix("s3://")):
            raise ValueError("S3 has no `..` in a bucket's name, and takes `..` and `//` of a prefix to the letter")
        return value

    @model_validator(mode="after")
    def _filled(self) -> Weights:
        if self.fill and self.mirror is None:
            raise ValueError("`fill` copies weights into a mirror; say where: `mirror: s3://BUCKET/PREFIX`")
        return self


class HuggingFace(Frozen):
    """The hub token: a Secrets Manager reference, or a secret of the stack (``pulumi config set --secret``).

    Attributes:
        secret_arn: secret in Secrets Manager whose text is the token.
        token: the token itself, encrypted in the stack file.
    """

    secret_arn: Annotated[str | None, Field(pattern=arn_of("secretsmanager"))] = None
    token: SecretStr | None = None

    @field_validator("token")
    @classmethod
    def _one_word(cls, value: SecretStr | None) -> SecretStr | None:
        text = "x" if value is None else value.get_secret_value()
        if not text or not all("!" <= letter <= "~" for letter in text):
            raise ValueError("a token is one word, without blanks and line ends: the hub would refuse it on every node")
        return value

    @model_validator(mode="after")
    def _one(self) -> HuggingFace:
        if (self.secret_arn is None) == (self.token is None):
            raise ValueError("give exactly one of `secretArn` and `token`")
        return self
