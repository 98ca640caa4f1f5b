"""What can go wrong while a program is evaluated."""

from __future__ import annotations


class PreviewError(Exception):
    """The engine refuses what the program does; Pulumi's own engine would, too."""


class ProgramError(Exception):
    """The program failed with an exception that is not a refusal: a bug of ours, not the user's.

    Attributes:
        cause: what was raised.
        where: ``file:line in function`` of the innermost line that belongs to the project; empty when none does.
    """

    def __init__(self, cause: BaseException, where: str) -> None:
        self.cause = cause
        self.where = where
        super().__init__(f"{type(cause).__name__}: {cause}" + (f" ({where})" if where else ""))
