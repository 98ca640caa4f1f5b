"""Which two things `headwater diff` compares: stack files, environments, or git revisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headwater.cli.places import project_folder, stack_file
from headwater.preview.snapshot import Snapshot, of_file, of_revision, stacks_of
from headwater.refusal import Fault, Refusal, did_you_mean

Pair = tuple[Snapshot, Snapshot]


def pairs(old: str, new: str, only: Sequence[str]) -> list[Pair]:
    """Both sides of every stack to compare.

    Args:
        old: a stack file, an environment or a revision.
        new: the same.
        only: with revisions, the environments to compare; all of both when empty.

    Raises:
        Refusal: one is a file and the other a revision, or there is no such thing.
    """
    project = project_folder()
    files = [_is_stack(word, project) for word in (old, new)]
    if all(files):
        if only:
            raise Refusal([Fault("--stack", ", ".join(only), "It goes with two git revisions.", "Leave it out.")])
        return [(of_file(stack_file(old), project), of_file(stack_file(new), project))]
    if any(files):
        odd = new if files[0] else old
        why = "One side is a stack and the other is not."
        raise Refusal([Fault("diff", odd, why, "Give two stack files, or two git revisions.")])
    known = sorted({*stacks_of(old, project), *stacks_of(new, project)})
    faults = [
        Fault("--stack", name, "Neither revision has this environment.", did_you_mean(name, known))
        for name in only
        if name not in known
    ]
    if faults:
        raise Refusal(faults)
    return [(of_revision(old, name, project), of_revision(new, name, project)) for name in only or known]


def _is_stack(word: str, project: Path) -> bool:
    return Path(word).suffix in {".yaml", ".yml"} or (project / "stacks" / f"Pulumi.{word}.yaml").is_file()
