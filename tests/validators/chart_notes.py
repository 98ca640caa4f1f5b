"""The two lists of the charts' SOURCES.md: value paths that templates read though no file shows them, and dead ones."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Path_ = tuple[str, ...]
ANY = "*"


@dataclass(frozen=True)
class Notes:
    """Paths per chart; ``*`` is any one segment. Everything below a valid or a dead path is as the path itself."""

    valid: dict[str, frozenset[Path_]]
    dead: dict[str, frozenset[Path_]]


def read(folder: Path) -> Notes:
    """The lists of ``SOURCES.md`` in the folder of charts; raises ValueError when a table is not where it was."""
    names = sorted(p.name for p in folder.iterdir() if p.is_dir())
    text = (folder / "SOURCES.md").read_text(encoding="utf-8")
    valid: dict[str, set[Path_]] = {}
    dead: dict[str, set[Path_]] = {}
    for title, into in (
        ("### Valid, though the files do not show them", valid),
        ("### In the file, read by no template", dead),
    ):
        if title not in text:
            raise ValueError(f"SOURCES.md has no section {title!r}")
        section = text.split(title, 1)[1].split("\n#", 1)[0]
        for row in re.findall(r"^\| *([^|]+?) *\| *(.+?) *\|$", section, re.M):
            if row[0] == "chart" or set(row[0]) <= {"-"}:
                continue
            now, _, gone = row[1].partition("Gone in ")
            for chart in _charts(row[0], names):
                into.setdefault(chart, set()).update(_paths(now))
                dead.setdefault(chart, set()).update(_paths(gone))
    return Notes({k: frozenset(v) for k, v in valid.items()}, {k: frozenset(v) for k, v in dead.items()})


def expand(text: str) -> list[str]:
    """``a.{b,c.{d,e}}`` as ``a.b``, ``a.c.d``, ``a.c.e``."""
    start = text.find("{")
    if start < 0:
        return [text]
    depth, parts, last = 0, [], start + 1
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if (text[index] == "," and depth == 1) or depth == 0:
            parts.append(text[last:index])
            last = index + 1
        if depth == 0:
            heads = [text[:start] + inner for part in parts for inner in expand(part)]
            return [head + tail for head in heads for tail in expand(text[index + 1 :])]
    raise ValueError(f"{text!r}: a brace is left open")


def covers(paths: frozenset[Path_], path: Path_) -> bool:
    """Whether the path is one of these, or lies below one."""
    return any(
        len(known) <= len(path) and all(a in (ANY, b) for a, b in zip(known, path, strict=False)) for known in paths
    )


def _charts(cell: str, names: list[str]) -> Iterator[str]:
    for name in expand(cell.split(maxsplit=1)[0]):
        yield from [name] if name in names else [n for n in names if n.startswith(name + "-")]


def _paths(cell: str) -> Iterator[Path_]:
    cell = re.sub(r"every path of [^,;]*?\.`( and of [^,;]*?\.`)?", "", cell)
    also = re.search(r"\(also under ([^()]*)\)", cell)
    components = re.search(r"for ([\w, ]+);", cell)
    cell = re.sub(r"\([^()]*\)", "", cell)
    previous: Path_ = ()
    for token in re.findall(r"`([^`]+)`", cell):
        for text in expand(token):
            for named in _named(text, components.group(1) if components else ""):
                path = tuple(ANY if s.startswith("<") else s for s in named.split("."))
                if path[0] == "…":
                    path = previous[: len(previous) - len(path) + 1] + path[1:]
                elif not path[0]:
                    raise ValueError(f"{token!r} is no path")
                yield path
                previous = path
                for prefix in re.findall(r"`([^`]+)`", also.group(1)) if also else []:
                    yield (prefix, *path)


def _named(text: str, components: str) -> list[str]:
    if "<component>" not in text:
        return [text]
    return [text.replace("<component>", name.strip()) for name in components.split(",")]
