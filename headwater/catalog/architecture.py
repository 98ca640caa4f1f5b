"""What a model is made of: the shapes from which weights and KV cache are counted.

An :class:`Architecture` is a stack of :class:`Layer`; each layer has a token mixer (attention of some kind, a recurrent
block, or nothing) and feed-forward parts (dense, mixture of experts, or both). Sizes are elements, windows tokens.
"""

from dataclasses import dataclass
from functools import cached_property

from headwater.catalog.keyed import Keyed


@dataclass(frozen=True, slots=True)
class Attention:
    """Softmax attention with grouped KV heads.

    ``window``/``chunk``: tokens seen by a local layer, None for full context.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    gated: bool = False
    window: int | None = None
    chunk: int | None = None
    stores_kv: bool = True


@dataclass(frozen=True, slots=True)
class Indexer:
    """Lightning indexer of DeepSeek sparse attention: scores every past token, keeps ``topk``."""

    heads: int
    dim: int
    topk: int


@dataclass(frozen=True, slots=True)
class Mla:
    """Multi-head latent attention: one ``kv_lora + rope`` latent per token, the same on every tensor-parallel rank."""

    heads: int
    q_lora: int | None
    kv_lora: int
    rope: int
    nope: int
    value_dim: int
    indexer: Indexer | None = None
    sparse: bool = False
    gated: bool = False


@dataclass(frozen=True, slots=True)
class GatedDelta:
    """Gated DeltaNet block (Qwen3-Next and later): constant state per request."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv: int


@dataclass(frozen=True, slots=True)
class Mamba2:
    """Mamba-2 block (Nemotron-H): constant state per request."""

    heads: int
    head_dim: int
    state: int
    groups: int
    conv: int


@dataclass(frozen=True, slots=True)
class Kda:
    """Kimi delta attention: constant state per request."""

    heads: int
    head_dim: int
    conv: int
    full_rank_gate: bool = False


@dataclass(frozen=True, slots=True)
class Compressed:
    """DeepSeek-V4 attention.

    One stored state per ``ratio`` tokens (0: sliding window only), window of ``window`` tokens.
    """

    heads: int
    ratio: int
    window: int
    state_bytes: int
    index_bytes: int


Mixer = Attention | Mla | GatedDelta | Mamba2 | Kda | Compressed
RECURRENT = (GatedDelta, Mamba2, Kda)


@dataclass(frozen=True, slots=True)
class Mlp:
    """Dense feed-forward; ``gated`` has three matrices, plain has two."""

    intermediate: int
    gated: bool = True
    bias: bool = False


@dataclass(frozen=True, slots=True)
class Moe:
    """Mixture of experts. ``shared`` is the total width of the shared experts; ``latent`` the width experts act in."""

    experts: int
    active: int
    intermediate: int
    shared: int = 0
    shared_gate: bool = False
    gated: bool = True
    bias: bool = False
    latent: int | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer: a mixer, dense and/or mixture-of-experts feed-forward, ``norms`` vectors of hidden size."""

    mixer: Mixer | None
    mlp: Mlp | None = None
    moe: Moe | None = None
    norms: int = 2


@dataclass(frozen=True, slots=True)
class Tower:
    """Vision encoder. Parameters are elements.

    The projector is replicated; one image is ``image_tokens`` and ``image_pixels``.
    """

    parameters: int
    projector: int
    image_tokens: int
    image_pixels: int
    exact: bool = True


@dataclass(frozen=True, eq=False)
class Architecture(Keyed):
    """A model's shapes. Hashable by value; ``layers`` share objects, so a repeated layer costs nothing.

    ``rotary`` is (dimension, number of distinct set-ups); ``rope_length`` the positions in its table.
    ``uncountable`` holds the reason when shapes are not known well enough; ``published_parameters`` then helps.
    """

    name: str
    layers: tuple[Layer, ...]
    hidden: int
    vocabulary: int
    tied: bool
    max_position: int
    rotary: tuple[int, int] = (0, 0)
    rope_length: int = 0
    tower: Tower | None = None
    mtp_layers: int = 0
    dtype: str = "bf16"
    state_dtype: str | None = None
    head_bias: bool = False
    published_parameters: int | None = None
    uncountable: str | None = None

    @cached_property
    def runs(self) -> tuple[tuple[Layer, int], ...]:
        """Distinct layers with how often each occurs, in order of first appearance."""
        counts: dict[Layer, int] = {}
        for layer in self.layers:
            counts[layer] = counts.get(layer, 0) + 1
        return tuple(counts.items())

    @cached_property
    def attention_heads(self) -> int:
        """Query heads of the attention layers (the largest when layers differ); 0 without attention."""
        return max(
            (layer.mixer.heads for layer, _ in self.runs if isinstance(layer.mixer, Attention | Mla | Compressed)),
            default=0,
        )

    @cached_property
    def kv_heads(self) -> int | None:
        """Smallest number of KV heads among grouped-attention layers; None for latent attention."""
        return min((layer.mixer.kv_heads for layer, _ in self.runs if isinstance(layer.mixer, Attention)), default=None)

    @cached_property
    def mla(self) -> Mla | None:
        """The latent-attention shape, when the model has one."""
        return next((layer.mixer for layer, _ in self.runs if isinstance(layer.mixer, Mla)), None)

    @cached_property
    def sparse(self) -> bool:
        """True for DeepSeek sparse attention (an indexer picks the tokens attention reads)."""
        return any(isinstance(layer.mixer, Mla) and layer.mixer.sparse for layer, _ in self.runs)

    @cached_property
    def moe(self) -> Moe | None:
        """The mixture-of-experts shape, when the model has one."""
        return next((layer.moe for layer, _ in self.runs if layer.moe is not None), None)

    @cached_property
    def moe_layers(self) -> int:
        """Number of layers with routed experts."""
        return sum(n for layer, n in self.runs if layer.moe is not None)

    @cached_property
    def recurrent(self) -> bool:
        """True when some layers keep a constant state instead of a cache that grows."""
        return any(isinstance(layer.mixer, RECURRENT) for layer, _ in self.runs)

    @cached_property
    def local_layers(self) -> int:
        """Layers with a sliding window or local chunk."""
        return sum(
            n
            for layer, n in self.runs
            if isinstance(layer.mixer, Attention) and (layer.mixer.window or layer.mixer.chunk)
        )

    @property
    def multimodal(self) -> bool:
        """True when a vision encoder is loaded beside the text model."""
        return self.tower is not None
