"""The command line: thin commands over what the other rooms decide."""

from headwater.cli.main import main

__all__ = ["main"]
