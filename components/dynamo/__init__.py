"""The NVIDIA Dynamo serving stack."""

from components.dynamo.stack import DynamoStack

__all__ = ["DynamoStack"]
