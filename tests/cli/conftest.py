"""Run a command of headwater in this process, as a person would type it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from headwater.cli import main
from tests.conftest import ROOT


@dataclass(frozen=True)
class Said:
    """What a command printed, and how it ended."""

    out: str
    err: str
    code: int


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """``run("plan", "dev")``."""
    monkeypatch.chdir(ROOT)

    def command(*words: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        printed = capsys.readouterr()
        return Said(printed.out, printed.err, int(ended.value.code or 0))

    return command


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., str]:
    """A copy of a shipped stack file with texts replaced; each must be there."""

    def write(stack: str, *changes: tuple[str, str], name: str | None = None) -> str:
        text = (ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        file = folder / f"Pulumi.{name or stack}.yaml"
        file.write_text(text, encoding="utf-8")
        return str(file)

    return write
