"""The engine against 91 measured start-ups: the targets, and that the page shows today's numbers."""

from __future__ import annotations

import pytest

from tests.accuracy import coverage, exactness, points, report, rewrite, scores


@pytest.fixture(scope="module")
def found(shared):
    return points(shared)


def test_every_record_is_scored_or_listed_with_its_reason(found):
    assert len(found) == 91
    for p in found:
        scored = p.weights is not None or p.kv is not None or p.exact is not None
        assert scored or p.reason or p.kv_reason


@pytest.mark.accuracy
def test_weights_are_within_one_per_cent(found):
    assert scores(found)[("weights", "all")].mae <= 1
    assert scores(found)[("weights", "calibrated")].mae <= 0.2


@pytest.mark.accuracy
def test_kv_cache_is_within_one_per_cent_where_calibrated_and_four_elsewhere(found):
    table = scores(found)
    assert table[("KV cache", "calibrated")].mae <= 1
    assert table[("KV cache", "other")].median <= 4
    assert len(table[("KV cache", "calibrated")].percent) >= 50


@pytest.mark.accuracy
def test_measurements_lie_inside_the_band(found):
    inside, of = coverage(found)
    assert of >= 60
    assert inside / of >= 0.95


@pytest.mark.accuracy
def test_token_arithmetic_is_exact_given_the_kv_bytes(found):
    exact, of = exactness(found)
    assert of >= 50
    assert exact == of


def test_the_page_shows_todays_numbers(found, root):
    page = (root / "docs" / "sizing.md").read_text(encoding="utf-8")
    assert rewrite(page, report(found)) == page, "run `make accuracy`"
