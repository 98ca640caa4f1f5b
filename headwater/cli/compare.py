"""Which two things `headwater diff` compares: stack files, environments, or git revisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from headwater.cli.places import project_folder, stack_file
from headwater.cli.progress import waiting
from headwater.preview.snapshot import Snapshot, of_file, of_revision, stacks_of
from headwater.refusal import Fault, Refusal, did_you_mean
from headwater.settings import environment_of

Pair = tuple[Snapshot, Snapshot]


def pairs(old: str, new: str, only: Sequence[str]) -> list[Pair]:
    """Both sides of every stack to compare.

    Two stacks are compared under the name of the first, so that a copy under any name, or another environment, shows
    what differs and not that all names do. A revision beside a stack is that stack as the revision has it.

    Args:
        old: a stack file, an environment or a revision.
        new: the same.
        only: with revisions, the environments to compare; all of both when empty.

    Raises:
        Refusal: there is no such thing, or `--stack` goes without two revisions.
    """
    project = project_folder()
    files = [stack_file(word) if _is_stack(word, project) else None for word in (old, new)]
    if any(files) and only:
        raise Refusal([Fault("--stack", ", ".join(only), "It goes with two git revisions.", "Leave it out.")])
    first, second = files
    if first and second:
        name = environment_of(first)
        with waiting(f"previewing {old}, then {new}"):
            return [(of_file(first, project), of_file(second, project, name))]
    if first or second:
        here = first or second
        assert here is not None
        with waiting(f"previewing {here.name} here and in {new if first else old}"):
            there = of_revision(new if first else old, environment_of(here), project)
            mine = of_file(here, project)
        return [(mine, there) if first else (there, mine)]
    known = sorted({*stacks_of(old, project), *stacks_of(new, project)})
    faults = [
        Fault("--stack", name, "Neither revision has this environment.", did_you_mean(name, known))
        for name in only
        if name not in known
    ]
    if faults:
        raise Refusal(faults)
    return list(_revisions(old, new, only or known, project))


def _revisions(old: str, new: str, names: Sequence[str], project: Path) -> Iterator[Pair]:
    for place, name in enumerate(names, 1):
        with waiting(f"previewing {name} in {old} and in {new} ({place} of {len(names)})"):
            yield of_revision(old, name, project), of_revision(new, name, project)


def _is_stack(word: str, project: Path) -> bool:
    return Path(word).suffix in {".yaml", ".yml"} or (project / "stacks" / f"Pulumi.{word}.yaml").is_file()
