"""A frontend that has answered: Dynamo's own, before its own imitation of an engine, which needs no GPU."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.dynamo.wheels import Wheels

MODEL = "qwen"
TOKENS = 8
Series = dict[str, list[dict[str, str]]]
"""Labels of each series, by metric."""


def _tiny_model(folder: Path) -> None:
    """The files of a model that a tokenizer and a chat template are read from: a token for each byte."""
    special = ("<unk>", "<s>", "</s>")
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in printed] + [chr(256 + n) for n in range(256 - len(printed))]
    steps: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    files: dict[str, Any] = {
        "config.json": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 4, "vocab_size": 259, "max_position_embeddings": 2048, "eos_token_id": 2,
        },
        "tokenizer.json": {
            "version": "1.0",
            "added_tokens": [
                {"id": n, "content": word, "special": True, "normalized": False,
                 "single_word": False, "lstrip": False, "rstrip": False}
                for n, word in enumerate(special)
            ],
            "pre_tokenizer": steps,
            "decoder": steps,
            "model": {"type": "BPE", "vocab": {w: n for n, w in enumerate((*special, *letters))}, "merges": []},
        },
        "tokenizer_config.json": {
            "eos_token": "</s>", "tokenizer_class": "PreTrainedTokenizerFast",
            "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
        },
        "generation_config.json": {"eos_token_id": 2},
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def series_after_one_answer(wheels: Wheels, arguments: list[str], port: int, folder: Path) -> tuple[Series, str]:
    """Every series the frontend shows once it has answered one request, and its whole page.

    Args:
        wheels: Dynamo's programs.
        arguments: of the frontend.
        port: where it listens.
        folder: for files and logs.
    """
    _tiny_model(folder)
    (folder / "found").mkdir()
    shared = {"DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": str(folder / "found"), "DYN_NAMESPACE": f"models-{MODEL}"}
    engine = [
        "--model-path",
        str(folder),
        "--model-name",
        MODEL,
        "--endpoint",
        f"dyn://models-{MODEL}.backend.generate",
    ]
    address = f"http://127.0.0.1:{port}"
    with (
        _running(wheels, ["dynamo.mocker", *engine], folder / "engine.log", shared),
        _running(wheels, ["dynamo.frontend", *arguments, "--http-port", str(port)], folder / "frontend.log", shared),
    ):
        _wait(f"{address}/v1/models", f'"{MODEL}"', folder)
        message = {"role": "user", "content": "hello"}
        body = {"model": MODEL, "messages": [message], "max_tokens": TOKENS, "stream": True}
        _read(f"{address}/v1/chat/completions", json.dumps(body).encode())
        page = _wait(f"{address}/metrics", f'output_tokens_total{{model="{MODEL}"}} {TOKENS}', folder)
    found: Series = {}
    for name, labels in re.findall(r"^([a-z_]+)(?:\{(.*)\})? \S+$", page, re.MULTILINE):
        found.setdefault(name, []).append(dict(re.findall(r'(\w+)="([^"]*)"', labels)))
    return found, page


@contextlib.contextmanager
def _running(wheels: Wheels, words: list[str], log: Path, variables: dict[str, str]) -> Iterator[None]:
    with log.open("w") as out:
        command = [str(wheels.python), "-m", *words]
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**wheels.environment(), **variables})
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _read(url: str, body: bytes | None = None) -> str:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def _wait(url: str, text: str, folder: Path) -> str:
    """The page at an address, once it has a text."""
    deadline, page = time.monotonic() + 90, ""
    while time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            page = _read(url)
            if text in page:
                return page
        time.sleep(0.5)
    logs = [(folder / name).read_text(encoding="utf-8")[-4000:] for name in ("engine.log", "frontend.log")]
    raise AssertionError("\n".join([f"{text} never came at {url}", page[-2000:], *logs]))
