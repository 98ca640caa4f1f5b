"""Fixtures for every room. Reference data lies beside the checkout and is no part of the project."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_folder() -> Path | None:
    """The folder with upstream reference data: ``$HEADWATER_SHARED``, else ``../shared``; None when absent."""
    folder = Path(os.environ.get("HEADWATER_SHARED", ROOT.parent / "shared"))
    return folder if (folder / "crds").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """Upstream CRDs, chart values and measurements, for tests only."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("no reference data: set HEADWATER_SHARED to a folder with crds/, charts/ and data/")
    return folder


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
