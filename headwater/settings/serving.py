"""What to serve: the models, their context, their users."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from headwater.settings.base import Frozen, Seconds

ServingStack = Literal["llm-d", "dynamo", "auto"]
Accelerator = Literal["h100", "h200", "auto"]
EngineValue = bool | int | float | str


class InlineModel(Frozen):
    """A model that is not in the catalogue: its own ``config.json``, and where its weights are.

    Attributes:
        repository: ``org/name`` on the hub, what the engine loads.
        architecture: the content of the model's ``config.json``.
        config: path of that file instead, relative to the project folder.
    """

    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    architecture: dict[str, Any] | None = None
    config: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> InlineModel:
        if (self.architecture is None) == (self.config is None):
            raise ValueError(
                "give exactly one of `architecture` (the content) and `config` (the path of a config.json)"
            )
        return self


class Load(Frozen):
    """Traffic instead of a concurrency: the plan derives users and replicas from it.

    Attributes:
        requests_per_second: arrivals for the whole model, over all replicas.
        input: prompt tokens per request, mean.
        output: generated tokens per request, mean.
    """

    requests_per_second: Annotated[float, Field(gt=0)]
    input: Annotated[int, Field(ge=1)]
    output: Annotated[int, Field(ge=1)]


MOST_REPLICAS = 512
"""More copies of one model than any region has nodes for: a slip of the keyboard."""


class Replicas(Frozen):
    """How many copies of the model run. A plain number means exactly so many.

    Attributes:
        min: running from the start; 0 where the serving stack can scale to zero.
        max: most that autoscaling may start; default is ``min``, which means no autoscaling.
    """

    min: Annotated[int, Field(ge=0, le=MOST_REPLICAS)] = 1
    max: Annotated[int | None, Field(ge=1, le=MOST_REPLICAS)] = None

    @model_validator(mode="after")
    def _ordered(self) -> Replicas:
        if self.max is not None and self.max < max(self.min, 1):
            raise ValueError(f"max {self.max} is below min {max(self.min, 1)}")
        return self

    @property
    def most(self) -> int:
        """The upper bound, ``min`` when no ``max`` was given."""
        return self.max if self.max is not None else max(self.min, 1)


class Slo(Frozen):
    """Latency objectives, with their unit: ``2s``, ``40ms``.

    Attributes:
        ttft: time to first token.
        tpot: time per output token after the first.
    """

    ttft: Seconds | None = None
    tpot: Seconds | None = None


class Disaggregation(Frozen):
    """Prefill and decode in servers of their own.

    Attributes:
        prefill: prefill servers at the minimum of replicas.
        decode: decode servers at the minimum of replicas.
    """

    prefill: Annotated[int, Field(ge=1, le=MOST_REPLICAS)]
    decode: Annotated[int, Field(ge=1, le=MOST_REPLICAS)]


class KvCache(Frozen):
    """How the KV cache is kept.

    Attributes:
        dtype: ``auto`` is the model's own; ``fp8`` halves the bytes (see docs/sizing.md on accuracy).
        offload: ``off``, ``auto`` (host memory the node has to spare) or GiB of host memory per replica.
    """

    dtype: Literal["auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"] = "auto"
    offload: Literal["off", "auto"] | Annotated[int, Field(ge=1)] = "off"

    @field_validator("offload", mode="before")
    @classmethod
    def _off(cls, value: Any) -> Any:
        return "off" if value is False else value


class Speculative(Frozen):
    """Speculative decoding.

    Attributes:
        method: ``mtp`` (the model's own draft layer), ``ngram`` (prompt lookup) or ``eagle3`` (needs ``model``).
        tokens: draft tokens per step.
        model: repository of the draft model, for ``eagle3``.
    """

    method: Literal["mtp", "ngram", "eagle3"]
    tokens: Annotated[int, Field(ge=1, le=16)] = 2
    model: str | None = None

    @model_validator(mode="after")
    def _draft(self) -> Speculative:
        if (self.method == "eagle3") != (self.model is not None):
            raise ValueError("`model` names the draft model of method eagle3, and only of it")
        return self


class ModelSettings(Frozen):
    """One model to serve.

    Attributes:
        name: what clients ask for, and the root of every object's name.
        model: a catalogue key (``headwater models`` lists them) or an inline model.
        precision: of the checkpoint: fp32, bf16, fp16, fp8, int8, int4, or an exact format such as ``awq``.
        accelerator: which GPUs it may run on; ``auto`` lets the search choose.
        context: longest request, prompt and answer together, in tokens.
        concurrency: requests of that length held in GPU memory at once, over all replicas at ``replicas.min``.
        load: traffic, instead of a concurrency.
        replicas: how many copies; a number, or ``{min, max}``.
        slo: latency objectives that the plan must meet.
        disaggregate: prefill and decode in servers of their own; ``auto`` where the model of speed says it pays.
        kv_cache: how the KV cache is kept.
        speculative: draft tokens, checked by the model.
        engine: any vLLM argument as vLLM spells it, without the dashes; wins over the plan's, which marks it.
        tool_calling: tool calls by the model's own parser when it has one.
        reasoning: separate the model's reasoning from its answer, by its own parser when it has one.
        priority: of this model's requests where several share capacity; higher goes first.
        trust_remote_code: run code from the model's repository. Left out, it runs only where the catalogue says that
            the model cannot be loaded without, and the plan warns; ``false`` refuses such a model.
        calibration: key of a calibration entry written by ``headwater calibrate``.
    """

    name: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,22}[a-z0-9])?$")]
    model: str | InlineModel
    precision: str | None = None
    accelerator: Accelerator = "auto"
    context: Annotated[int | None, Field(ge=256)] = None
    concurrency: Annotated[int | None, Field(ge=1)] = None
    load: Load | None = None
    replicas: Replicas = Replicas()
    slo: Slo = Slo()
    disaggregate: Literal["off", "auto"] | Disaggregation = "off"
    kv_cache: KvCache = KvCache()
    speculative: Speculative | None = None
    tool_calling: bool = True
    reasoning: bool = True
    trust_remote_code: bool | None = None
    priority: Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)] = 0
    calibration: str | None = None
    engine: dict[str, EngineValue] = {}

    @field_validator("replicas", mode="before")
    @classmethod
    def _count(cls, value: Any) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        if value < 1:
            raise ValueError("a plain number of replicas is at least 1; `{min: 0, max: 1}` scales to zero")
        return {"min": value, "max": value}

    @field_validator("disaggregate", mode="before")
    @classmethod
    def _off(cls, value: Any) -> Any:
        return "off" if value is False else value

    @model_validator(mode="after")
    def _one_demand(self) -> ModelSettings:
        if self.concurrency is not None and self.load is not None:
            raise ValueError("`concurrency` and `load` say the same thing in two ways; keep one")
        return self


class Serving(Frozen):
    """The serving stack and the models behind it.

    Attributes:
        stack: ``llm-d``, ``dynamo``, or ``auto``: the plan chooses and says why.
        models: what to serve, each with a name of its own.
    """

    stack: ServingStack = "auto"
    models: Annotated[tuple[ModelSettings, ...], Field(min_length=1, max_length=64)]

    @model_validator(mode="after")
    def _names(self) -> Serving:
        seen: set[str] = set()
        for model in self.models:
            if model.name in seen:
                raise ValueError(f"two models are called `{model.name}`; clients could not tell them apart")
            seen.add(model.name)
            if model.name.startswith("vllm"):
                raise ValueError(
                    f"`{model.name}` makes Services whose variables Kubernetes gives to pods as `VLLM_...`, which the "
                    "engine takes for its own; choose another name"
                )
        return self
