"""The llm-d serving stack."""

from components.llmd.stack import LlmdStack

__all__ = ["LlmdStack"]
