"""Dated data with its sources, and the loaders."""
