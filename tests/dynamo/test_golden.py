"""What each shape renders, word by word."""

from __future__ import annotations

import pytest

from tests.dynamo.golden import FOLDER, NAMES, text


@pytest.mark.parametrize("name", NAMES)
def test_manifests_are_as_reviewed(name):
    kept = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert text(name) == kept, "read the difference, then run `python -m tests.dynamo.golden`"


def test_every_shape_has_a_golden_file_on_both_accelerators_and_no_file_is_left_over():
    assert sorted(p.stem for p in FOLDER.glob("*.yaml")) == NAMES
