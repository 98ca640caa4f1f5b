"""The llm-d serving stack."""
