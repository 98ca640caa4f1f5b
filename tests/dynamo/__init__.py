"""Tests of the Dynamo serving stack."""
