"""The functions Kubernetes adds to CEL, for the ``cel`` interpreter: text, regex, IP, CIDR, URL, quantity, semver.

Opaque CEL types are carried as one-key maps (``{"quantity": "1Gi"}``): the interpreter takes only plain values.
A function that is missing here makes the rule fail loudly, never pass.
"""

import ipaddress
import itertools
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.validators import quantities
from tests.validators.go_regex import compile_go

Tagged = dict[str, str]


def _ok(parser: Callable[[Any], Any]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        try:
            parser(value)
        except (ValueError, TypeError):
            return False
        return True

    return check


# -- addresses ---------------------------------------------------------------------------------------------------


def _address(value: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    text = value["ip"] if isinstance(value, dict) else value
    if "%" in text:
        raise ValueError("zones are refused")
    return ipaddress.ip_address(text)


def _network(value: Any) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    text = value["cidr"] if isinstance(value, dict) else value
    if "/" not in text:
        raise ValueError("no prefix length")
    return ipaddress.ip_network(text, strict=False)


def _ip(value: Any) -> Tagged:
    if isinstance(value, dict):
        return {"ip": value["cidr"].split("/")[0]}
    return {"ip": str(_address(value))}


def _cidr(value: str) -> Tagged:
    _network(value)
    return {"cidr": value}


def _contains_cidr(outer: Any, inner: Any) -> bool:
    a, b = _network(outer), _network(inner)
    return a.version == b.version and b.subnet_of(a)  # type: ignore[arg-type]


# -- URLs --------------------------------------------------------------------------------------------------------


def _url(value: str) -> Tagged:
    parts = urlsplit(value)
    if not ((parts.scheme and (parts.netloc or parts.path)) or value.startswith("/")):
        raise ValueError(f"{value!r} is no absolute URI")
    return {"url": value}


def _port(value: Tagged) -> str:
    port = urlsplit(value["url"]).port
    return "" if port is None else str(port)


def _hostname(value: Tagged) -> str:
    return urlsplit(value["url"]).hostname or ""


def _query(value: Tagged) -> dict[str, list[str]]:
    from urllib.parse import parse_qs

    return parse_qs(urlsplit(value["url"]).query, keep_blank_values=True)


# -- quantities and semantic versions ----------------------------------------------------------------------------


def _quantity(value: str) -> Tagged:
    quantities.parse(value)
    return {"quantity": value}


def _semver(value: str) -> Tagged:
    if not re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", value):
        raise ValueError(f"{value!r} is no semantic version")
    return {"semver": value}


def _order(value: Any) -> Any:
    if isinstance(value, dict) and "semver" in value:
        core, _, pre = value["semver"].split("+")[0].partition("-")
        rank = [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in pre.split(".")] if pre else []
        return ([int(p) for p in core.split(".")], not pre, rank)
    return quantities.parse(value["quantity"] if isinstance(value, dict) else value)


def _compare(a: Any, b: Any) -> int:
    return int(_order(a) > _order(b)) - int(_order(a) < _order(b))


def _sum_of(sign: int) -> Callable[[Any, Any], Tagged]:
    def run(a: Any, b: Any) -> Tagged:
        return {"quantity": str(float(_order(a) + sign * _order(b)))}

    return run


# -- text and lists ----------------------------------------------------------------------------------------------


def _find(text: str, pattern: str) -> str:
    found = compile_go(pattern).search(text)
    return found.group(0) if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [m.group(0) for m in compile_go(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def _split(text: str, by: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    return (text.split(by) if by else list(text)) if limit < 0 else text.split(by, limit - 1)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueError(f"substring {start}..{stop} outside a text of {len(text)}")
    return text[start:stop]


def _format(text: str, values: list[Any]) -> str:
    items = iter(values)

    def one(found: re.Match[str]) -> str:
        kind = found.group(2)
        if kind == "%":
            return "%"
        item = next(items)
        if kind == "s":
            return str(item).lower() if isinstance(item, bool) else str(item)
        return f"%{found.group(1) or ''}{kind}" % item if kind != "b" else f"{int(item):b}"

    return re.sub(r"%(\.\d+)?([%sdfexXob])", one, text)


def _index_of(items: Any, item: Any, start: int = 0) -> int:
    if isinstance(items, str):
        return items.find(item, start)
    return items.index(item) if item in items else -1


def _last_index_of(items: Any, item: Any) -> int:
    if isinstance(items, str):
        return items.rfind(item)
    return len(items) - 1 - items[::-1].index(item) if item in items else -1


def _without_errors(a: list[Any], b: list[Any]) -> bool:
    return all(item in a for item in b)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isIP": _ok(_address),
    "ip": _ip,
    "ip.isCanonical": lambda text: str(_address(text)) == text,
    "family": lambda value: _address(value).version,
    "isUnspecified": lambda value: _address(value).is_unspecified,
    "isLoopback": lambda value: _address(value).is_loopback,
    "isLinkLocalUnicast": lambda value: _address(value).is_link_local,
    "isLinkLocalMulticast": lambda value: _address(value).is_multicast,
    "isGlobalUnicast": lambda value: not (_address(value).is_multicast or _address(value).is_loopback),
    "isCIDR": _ok(_network),
    "cidr": _cidr,
    "containsIP": lambda value, ip: _address(ip) in _network(value),
    "containsCIDR": _contains_cidr,
    "prefixLength": lambda value: _network(value).prefixlen,
    "masked": lambda value: {"cidr": str(_network(value))},
    "isURL": _ok(_url),
    "url": _url,
    "getScheme": lambda value: urlsplit(value["url"]).scheme,
    "getHost": lambda value: urlsplit(value["url"]).netloc.rpartition("@")[2],
    "getHostname": _hostname,
    "getPort": _port,
    "getEscapedPath": lambda value: urlsplit(value["url"]).path,
    "getQuery": _query,
    "isQuantity": _ok(quantities.parse),
    "quantity": _quantity,
    "isInteger": lambda value: _order(value).denominator == 1,
    "asInteger": lambda value: int(_order(value)),
    "asApproximateFloat": lambda value: float(_order(value)),
    "sign": lambda value: (_order(value) > 0) - (_order(value) < 0),
    "add": _sum_of(1),
    "sub": _sum_of(-1),
    "isSemver": _ok(_semver),
    "semver": _semver,
    "major": lambda value: int(value["semver"].split(".")[0]),
    "minor": lambda value: int(value["semver"].split(".")[1]),
    "patch": lambda value: int(re.split(r"[-+]", value["semver"].split(".", 2)[2])[0]),
    "compareTo": _compare,
    "isGreaterThan": lambda a, b: _compare(a, b) > 0,
    "isLessThan": lambda a, b: _compare(a, b) < 0,
    "find": _find,
    "findAll": _find_all,
    "split": _split,
    "join": lambda items, by="": by.join(items),
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
    "replace": _replace,
    "substring": _substring,
    "charAt": lambda text, at: text[at : at + 1],
    "format": _format,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "isSorted": lambda items: all(a <= b for a, b in itertools.pairwise(items)),
    "sum": sum,
    "min": min,
    "max": max,
    "sets.contains": _without_errors,
    "sets.equivalent": lambda a, b: _without_errors(a, b) and _without_errors(b, a),
    "sets.intersects": lambda a, b: any(item in a for item in b),
}
