"""What engines report, and what is common to every dashboard."""

from __future__ import annotations

import re
from typing import Any

ENGINE = {
    "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:request_success_total",
    "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total", "vllm:time_to_first_token_seconds_bucket",
    "vllm:inter_token_latency_seconds_bucket", "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
    "vllm:nixl_bytes_transferred_sum", "vllm:nixl_xfer_time_seconds_bucket", "vllm:nixl_num_failed_transfers_total",
}  # fmt: skip
"""Series of the engine that we read, as the metric modules of vLLM 0.26.0, 0.31.0 and 0.33.0 make them."""


def metrics(text: str, *prefixes: str) -> set[str]:
    """Names of the series in queries that start with one of the prefixes, or with the engine's."""
    return set(re.findall(rf"\b(?:{'|'.join(('vllm:', *prefixes))})[a-z0-9_]+", text))


def fills_the_grid_without_overlap(panels: list[dict[str, Any]]) -> bool:
    """Whether no two panels share a cell or a number, and the widest row reaches the edge."""
    places = [panel["gridPos"] for panel in panels]
    cells = [
        (x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])
    ]  # fmt: skip
    numbered = len({panel["id"] for panel in panels}) == len(panels)
    return numbered and len(cells) == len(set(cells)) and max(x for x, _ in cells) == 23
