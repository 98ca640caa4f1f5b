"""Speed: `make bench`. Whole processes are timed; medians and ratios are what to quote; nothing passes or fails."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from headwater.sizing.search import search
from tests.conftest import ROOT
from tests.judges import bench as judges
from tests.judges.life import CLOCK
from tests.judges.placement import demanded_pods
from tests.questions import catalogue_questions
from tests.sizing_placement.test_placement import H100, H200

RUNS = 5
STACKS = ("dev", "staging", "prod")
COMMAND = [sys.executable, "-c", "from headwater.cli import main; main()"]


@dataclass(frozen=True)
class Timed:
    """Wall seconds of every run, and the largest peak memory of one process (MiB)."""

    seconds: tuple[float, ...]
    peak_mib: float

    @property
    def median(self) -> float:
        """Median of wall seconds."""
        return statistics.median(self.seconds)


def process(*words: str) -> Timed:
    """Run a command of headwater several times after one warm-up."""
    seconds, peak = [], 0.0
    for run in range(RUNS + 1):
        begun = time.perf_counter()
        child = subprocess.Popen([*COMMAND, *words], cwd=ROOT, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"headwater {' '.join(words)} ended with {child.returncode}")
        if run:
            seconds.append(time.perf_counter() - begun)
            peak = max(peak, usage.ru_maxrss / 1024)
    return Timed(tuple(seconds), peak)


def here(action: Callable[[], object]) -> Timed:
    """Time an action in this process."""
    seconds = []
    for run in range(RUNS + 1):
        begun = time.perf_counter()
        action()
        if run:
            seconds.append(time.perf_counter() - begun)
    return Timed(tuple(seconds), 0.0)


def line(name: str, found: Timed, note: str = "") -> None:
    """Print one row."""
    peak = f"{found.peak_mib:8.0f}" if found.peak_mib else " " * 8
    print(f"{name:<34}{found.median:9.3f}{min(found.seconds):9.3f}{max(found.seconds):9.3f}{peak}  {note}", flush=True)


def whole_search() -> None:
    """Place the whole catalogue on both accelerators, nothing remembered."""
    search.cache_clear()
    for question in QUESTIONS:
        for hardware in (H100, H200):
            search(question, hardware)


QUESTIONS = catalogue_questions()


def main() -> None:
    """Plan and preview of each stack, the search over the catalogue, and where the judges are built their rows."""
    print(f"{f'{RUNS} runs each':<34}{'median s':>9}{'min':>9}{'max':>9}{'MiB':>8}")
    previews = {}
    for stack in STACKS:
        plan = process("plan", stack)
        line(f"headwater plan {stack}", plan)
        preview = previews[stack] = process("preview", stack)
        line(f"headwater preview {stack}", preview, f"{preview.median / plan.median:.1f} × plan")
    line(
        f"search, {2 * len(QUESTIONS)} placements", here(whole_search), "catalogue × {H100, H200} × contexts × KV types"
    )
    why = judges.missing()
    if why:
        print(f"left out, `pulumi preview` and `up` in a simulated world: {why}")
        return
    for stack in STACKS:
        against_pulumi(stack, previews[stack])


def against_pulumi(stack: str, ours: Timed) -> None:
    """The same stack with Pulumi's own engine: preview, then `up` until the last pod of a model runs."""
    with judges.lives(stack) as life:
        line(f"a simulated world for {stack}", Timed((life.world.seconds,), 0.0), "once, until its controllers run")
        theirs = Timed(tuple(judges.pulumi_previews(life, RUNS)), 0.0)
        line(f"pulumi preview {stack}", theirs, f"{theirs.median / ours.median:.1f} × headwater preview")
        up, last = judges.to_the_last_pod(life)
        line(f"pulumi up {stack}, simulated", Timed((up,), 0.0), "once")
        line(
            "  to the last pod",
            Timed((last,), 0.0),
            f"{demanded_pods(life.plan)} pods; models load {1 / CLOCK:.0f} times as fast",
        )


if __name__ == "__main__":
    main()
