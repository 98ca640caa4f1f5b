"""The NVIDIA Dynamo serving stack."""
