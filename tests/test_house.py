"""Rules of the house that no linter knows: where versions may stand, how long a file may be, what a page must say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from headwater.catalog.source import load_yaml
from headwater.settings.reference import reference
from tests.conftest import ROOT
from tests.docs import PAGES

CODE = ("headwater", "components", "policy")


def tracked(*suffixes: str) -> list[Path]:
    """Files git knows, or would know, with these suffixes."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / line for line in listed.stdout.splitlines()]
    return sorted(p for p in paths if p.suffix in suffixes and p.is_file())


def test_no_source_file_is_longer_than_400_lines():
    long = {p.relative_to(ROOT).as_posix(): n for p in tracked(".py") if (n := len(p.read_text().splitlines())) > 400}
    assert not long


def test_the_program_fits_on_one_screen():
    assert len((ROOT / "__main__.py").read_text().splitlines()) < 60


def pins() -> set[str]:
    """Every version, tag and chart coordinate of the compatibility file that is unmistakable as text."""
    releases = load_yaml("releases")
    found = {str(entry["version"]) for entry in releases["charts"].values()}
    found |= {str(entry["tag"]) for entry in releases["images"].values()}
    found |= {str(entry["version"]) for entry in releases["bundles"].values()}
    found |= {v for k in releases["kubernetes"].values() for v in [k["ami"], k["node_release"], *k["addons"].values()]}
    return {pin for pin in found if pin.count(".") >= 2 or "@" in pin}


def test_versions_stand_in_the_catalogue_only():
    wanted = pins()
    assert wanted
    places = []
    for path in (p for p in tracked(".py") if p.relative_to(ROOT).parts[0] in CODE):
        text = path.read_text()
        places += [
            f"{path.relative_to(ROOT)}: {pin}" for pin in sorted(wanted) if f'"{pin}"' in text or f":{pin}" in text
        ]
    assert not places


def test_prices_stand_in_the_catalogue_only():
    prices = load_yaml("prices")
    wanted = {str(p) for region in prices["on_demand"].values() for p in region.values() if str(p).count(".")}
    texts = {p: p.read_text() for p in tracked(".py", ".yaml") if p.relative_to(ROOT).parts[0] in (*CODE, "stacks")}
    code = {p: t for p, t in texts.items() if "catalog/data" not in p.as_posix()}
    assert not [
        f"{p.relative_to(ROOT)}: {n}" for p, t in code.items() for n in wanted if re.search(rf"\b{re.escape(n)}\b", t)
    ]


def test_nothing_is_pinned_to_latest():
    bad = [p for p in tracked(".py", ".yaml") if re.search(r":latest\b|@latest\b|tag: latest", p.read_text())]
    assert [p.relative_to(ROOT).as_posix() for p in bad if p.relative_to(ROOT).parts[0] not in ("tests", "tools")] == []


def test_every_dated_pin_names_its_source():
    releases = load_yaml("releases")
    for section in ("charts", "images", "bundles", "kubernetes", "engines"):
        for name, entry in releases[section].items():
            assert entry.get("source"), f"{section}.{name} has no source"
            assert entry.get("as_of"), f"{section}.{name} has no date"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_generated_pages_are_up_to_date(name):
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"


def test_every_setting_says_what_it_means():
    silent = [line for line in reference().splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert not silent


def test_the_inner_ring_never_opens_a_connection():
    rooms = ("settings", "catalog", "sizing", "plan")
    forbidden = re.compile(
        r"^\s*(?:import|from) (?:socket|urllib|http|requests|boto3|subprocess)\b|os\.environ|getenv", re.M
    )
    files = [p for room in rooms for p in (ROOT / "headwater" / room).rglob("*.py")]
    assert [p.relative_to(ROOT).as_posix() for p in files if forbidden.search(p.read_text())] == []
