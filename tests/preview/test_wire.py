"""Wire values: nothing is lost on the way, and nothing secret is shown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.preview import wire

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
MARKER = "marker-7f3a"


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_a_struct_reads_back_as_it_was_written(values):
    assert wire.read_struct(wire.write_struct(values)) == values


@given(st.integers(-(2**53), 2**53))
def test_whole_numbers_come_back_as_ints(number):
    found = wire.read_struct(wire.write_struct({"n": float(number)}))["n"]
    assert isinstance(found, int)
    assert found == number


def test_a_value_without_a_wire_form_is_an_error():
    with pytest.raises(TypeError, match="object has no form"):
        wire.write_struct({"x": object()})


def wrap(value, how):
    """``value`` inside a special object."""
    if how == "secret":
        return wire.secret(value)
    return {wire.SIGNATURE: wire.OUTPUT_SIGNATURE, "secret": True, "value": value, "dependencies": ["urn:x"]}


@given(VALUES, st.sampled_from(["secret", "output"]), st.lists(st.sampled_from(["list", "dict"]), max_size=4))
def test_a_secret_is_never_shown_however_deep(value, how, nesting):
    hidden = wrap({"inside": [MARKER, value]}, how)
    for kind in nesting:
        hidden = [hidden] if kind == "list" else {"k": hidden}
    assert MARKER not in json.dumps(wire.shown(hidden))
    assert wire.SECRET in json.dumps(wire.shown(hidden))


@given(VALUES, st.sets(st.sampled_from(["urn:a", "urn:b", "urn:c"])))
def test_dependencies_put_on_a_value_are_found_and_taken_off_again(value, urns):
    carried = wire.with_dependencies(value, urns)
    assert wire.dependencies_of(carried) == urns
    assert wire.without_dependencies(carried) == value


def test_secretness_survives_dependencies():
    carried = wire.with_dependencies(wire.secret(MARKER), {"urn:a"})
    assert wire.without_dependencies(carried) == wire.secret(MARKER)


def test_an_output_without_a_value_is_unknown():
    output = {wire.SIGNATURE: wire.OUTPUT_SIGNATURE, "dependencies": ["urn:a"]}
    assert wire.has_unknown({"a": [output]})
    assert wire.shown(output) == wire.UNKNOWN
    assert wire.without_dependencies(output) == wire.UNKNOWN_SENTINEL


def test_a_reference_is_shown_by_its_urn():
    assert wire.shown(wire.resource_reference("urn:a", "i-1")) == {"$resource": "urn:a"}
