"""Every release from the catalogue, or from the mirror with its images."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.platform.charts import chart_location, merge, mirrored_values
from components.platform.crds import bundle_file
from headwater.catalog.releases import bundles, charts
from headwater.settings import Mirror
from tests.validators import helm

MIRROR = "registry.example.com/mirror"


@pytest.mark.parametrize("key", sorted(charts()))
def test_without_a_mirror_a_chart_comes_from_upstream(key):
    chart = charts()[key]
    assert chart_location(chart, Mirror()) == (chart.chart, chart.repository)
    assert mirrored_values(chart, Mirror()) == {}


@pytest.mark.parametrize("base", ["oci://registry.example.com/charts", "mirrored/charts", "/srv/charts/"])
@pytest.mark.parametrize("key", sorted(charts()))
def test_a_mirror_holds_every_chart_under_its_own_name(key, base):
    chart = charts()[key]
    where, repository = chart_location(chart, Mirror(charts=base))
    assert where == f"{base.rstrip('/')}/{chart.short}"
    assert "/" not in chart.short
    assert repository is None


@pytest.mark.parametrize("key", sorted(key for key, chart in charts().items() if chart.mirror_values))
def test_values_that_move_images_exist_in_their_chart(shared: Path, key):
    known = helm.load(shared / "charts")
    chart = charts()[key]
    if chart.short not in known.names():
        pytest.skip(f"no reference values of {chart.short}")
    values = mirrored_values(chart, Mirror(images=MIRROR))
    assert known.unknown_paths(chart.short, values) == []
    assert MIRROR in str(values)


def test_the_digest_goes_with_the_registry_it_was_read_in():
    values = mirrored_values(charts()["karpenter"], Mirror(images=MIRROR))
    assert values == {"controller": {"image": {"repository": f"{MIRROR}/karpenter/controller", "digest": ""}}}


@pytest.mark.parametrize("key", sorted(bundles()))
def test_a_bundle_comes_from_its_release_or_from_the_mirror_by_name_and_version(key):
    bundle = bundles()[key]
    assert bundle_file(bundle, Mirror()) == bundle.url
    assert bundle_file(bundle, Mirror(manifests="mirrored/")) == f"mirrored/{key}-{bundle.version}.yaml"


TREES = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
)
MAPS = st.dictionaries(st.sampled_from("abc"), TREES, max_size=3)


def leaves(tree, path=()):
    """Every path to something that is no map."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


@given(MAPS, MAPS)
def test_laying_one_map_over_another_keeps_the_upper_and_changes_neither(base, over):
    before = (repr(base), repr(over))
    result = merge(base, over)
    assert (repr(base), repr(over)) == before
    found = dict(leaves(result))
    assert all(found[path] == value for path, value in leaves(over))
    assert merge(base, {}) == base
    assert merge({}, over) == over


def test_platform_and_servers_agree_on_names_and_users():
    from components.platform import gpu_specs, model, secrets, shared_cache
    from components.serving import WEIGHTS_CLAIM, names, security

    assert WEIGHTS_CLAIM == model.WEIGHTS_CLAIM
    assert names.POOL_LABEL == gpu_specs.POOL_LABEL
    assert gpu_specs.GPU_TAINT["key"] == names.GPU_TAINT
    assert security.USER == shared_cache.WRITER
    assert secrets.TOKEN_KEY == "HF_TOKEN"
