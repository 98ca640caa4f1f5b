"""PromQL read far enough to refuse what Prometheus refuses, and to tell which queries can return several series.

Grammar and types of Prometheus 3 (prometheus.io/docs/prometheus/latest/querying/basics). promtool has the last word.
"""

import re
from dataclasses import dataclass

SCALAR, INSTANT, RANGE, TEXT = "scalar", "instant vector", "range vector", "string"


def _words(text: str) -> list[str]:
    return text.split()


_MANY = frozenset(_words("count_values bottomk topk limitk limit_ratio"))
AGGREGATIONS = _MANY | frozenset(_words("sum min max avg group stddev stdvar count quantile"))
_PARAMETER = {name: TEXT if name == "count_values" else SCALAR for name in _MANY | {"quantile"}}
_V, _R, _S, _T = INSTANT, RANGE, SCALAR, TEXT
_OF_RANGE = _words("rate irate increase delta idelta deriv changes resets") + [
    f"{name}_over_time" for name in _words("avg min max sum count stddev stdvar last present absent mad")
]
_OF_VECTOR = _words("abs ceil floor exp ln log2 log10 sqrt sgn sort sort_desc absent timestamp") + [
    f"histogram_{name}" for name in _words("avg count sum stddev")
]
_OF_TIME = _words("day_of_month day_of_week days_in_month hour minute month year")
# name: argument types, least number of arguments, result type
FUNCTIONS: dict[str, tuple[tuple[str, ...], int, str]] = {
    **dict.fromkeys(_OF_RANGE, ((_R,), 1, _V)),
    **dict.fromkeys(_OF_VECTOR, ((_V,), 1, _V)),
    **dict.fromkeys(_OF_TIME, ((_V,), 0, _V)),
    "quantile_over_time": ((_S, _R), 2, _V),
    "predict_linear": ((_R, _S), 2, _V),
    "histogram_quantile": ((_S, _V), 2, _V),
    "histogram_fraction": ((_S, _S, _V), 3, _V),
    "clamp": ((_V, _S, _S), 3, _V),
    "clamp_min": ((_V, _S), 2, _V),
    "clamp_max": ((_V, _S), 2, _V),
    "round": ((_V, _S), 1, _V),
    "scalar": ((_V,), 1, _S),
    "vector": ((_S,), 1, _V),
    "time": ((), 0, _S),
    "pi": ((), 0, _S),
    "label_replace": ((_V, _T, _T, _T, _T), 5, _V),
    "label_join": ((_V, *(_T,) * 20), 3, _V),
}
_TOKEN = re.compile(
    r"""\s*(?:(?P<comment>\#[^\n]*)
    |(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
    |(?P<duration>(?:\d+(?:ms|[smhdwy]))+(?![\w.]))
    |(?P<number>0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|nan)\b)
    |(?P<name>[a-zA-Z_][\w:]*)
    |(?P<op>==|!=|>=|<=|=~|!~|[-+*/%^<>=(){}\[\],:@]))""",
    re.X,
)
_COMPARED = ["==", "!=", "<=", "<", ">=", ">"]
_PRECEDENCE = [["or"], ["and", "unless"], _COMPARED, ["+", "-"], ["*", "/", "%", "atan2"], ["^"]]


@dataclass(frozen=True)
class Parsed:
    """An expression: its type, whether one series at most comes of it, the labels a ``by`` keeps, the metrics read."""

    type: str
    single: bool
    by: frozenset[str] | None
    metrics: frozenset[str]


def parse(text: str) -> Parsed:
    """The expression; raises ValueError with the place where Prometheus would stop."""
    parser = _Parser(text)
    parsed = parser.binary(0)
    if parser.peek() is not None:
        raise ValueError(f"unexpected {parser.peek()!r} in {text!r}")
    return parsed


def errors(text: str, path: str = "expr") -> list[str]:
    """Findings for a query: what keeps Prometheus from reading it."""
    try:
        parse(text)
    except ValueError as error:
        return [f"{path}: {error}"]
    return []


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, list[tuple[str, str]](), 0
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                raise ValueError(f"unreadable at {text[place : place + 20]!r}")
            if found.lastgroup != "comment":
                self.tokens.append((found.lastgroup, found.group(found.lastgroup)))
            place = found.end()

    def peek(self, ahead: int = 0) -> str | None:
        return self.tokens[self.at + ahead][1] if self.at + ahead < len(self.tokens) else None

    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else "end"

    def take(self, wanted: str | None = None) -> str:
        token = self.peek()
        if token is None or (wanted is not None and token != wanted):
            raise ValueError(f"{wanted or 'more'!r} expected, not {token!r}, in {self.text!r}")
        self.at += 1
        return token

    def took(self, wanted: str) -> bool:
        if self.peek() == wanted and self.kind() != "string":
            self.at += 1
            return True
        return False

    def binary(self, level: int) -> Parsed:
        if level == len(_PRECEDENCE):
            return self.unary()
        left = self.binary(level + 1)
        while self.kind() in ("op", "name") and self.peek() in _PRECEDENCE[level]:
            operator = self.take()
            returns_bool = self.took("bool")
            if self.peek() in ("on", "ignoring"):
                self.take()
                self.labels()
                if self.peek() in ("group_left", "group_right"):
                    self.take()
                    if self.peek() == "(":
                        self.labels()
            left = self.combine(operator, left, self.binary(level + 1), returns_bool=returns_bool)
        return left

    def combine(self, operator: str, left: Parsed, right: Parsed, *, returns_bool: bool) -> Parsed:
        for side in (left, right):
            if side.type not in (SCALAR, INSTANT):
                raise ValueError(f"{operator} takes no {side.type}, in {self.text!r}")
        sets = operator in ("and", "or", "unless")
        if sets and SCALAR in (left.type, right.type):
            raise ValueError(f"{operator} takes vectors only, in {self.text!r}")
        if operator in _COMPARED and (left.type, right.type) == (SCALAR, SCALAR) and not returns_bool:
            raise ValueError(f"{operator} between scalars needs bool, in {self.text!r}")
        metrics = left.metrics | right.metrics
        if sets:
            single = left.single and (operator != "or" or right.single)
            return Parsed(INSTANT, single, None, metrics)
        vector = INSTANT if INSTANT in (left.type, right.type) else SCALAR
        return Parsed(vector, left.single and right.single, None, metrics)

    def unary(self) -> Parsed:
        if self.peek() in ("-", "+"):
            self.take()
            return self.unary()
        return self.suffix(self.primary())

    def primary(self) -> Parsed:
        kind, token = self.kind(), self.peek()
        if kind in ("number", "duration"):
            self.take()
            return Parsed(SCALAR, True, None, frozenset())
        if kind == "string":
            self.take()
            return Parsed(TEXT, True, None, frozenset())
        if self.took("("):
            inner = self.binary(0)
            self.take(")")
            return inner
        if token in AGGREGATIONS and self.peek(1) in ("(", "by", "without"):
            return self.aggregation(self.take())
        if kind == "name" and self.peek(1) == "(":
            return self.call(self.take())
        if kind == "name" or token == "{":
            return self.selector()
        raise ValueError(f"an expression expected, not {token!r}, in {self.text!r}")

    def aggregation(self, name: str) -> Parsed:
        grouping = self.grouping()
        self.take("(")
        inner = self.binary(0)
        if name in _PARAMETER:
            self.need(inner, _PARAMETER[name], name)
            self.take(",")
            inner = self.binary(0)
        self.take(")")
        self.need(inner, INSTANT, name)
        grouping = grouping or self.grouping()
        kept = frozenset[str]() if grouping is None else grouping[1] if grouping[0] == "by" else None
        return Parsed(INSTANT, (kept == frozenset() or inner.single) and name not in _MANY, kept, inner.metrics)

    def grouping(self) -> tuple[str, frozenset[str]] | None:
        return (self.take(), self.labels()) if self.peek() in ("by", "without") else None

    def labels(self) -> frozenset[str]:
        self.take("(")
        found = set()
        while not self.took(")"):
            if self.kind() != "name" or ":" in str(self.peek()):
                raise ValueError(f"a label expected, not {self.peek()!r}, in {self.text!r}")
            found.add(self.take())
            if self.peek() != ")":
                self.take(",")
        return frozenset(found)

    def call(self, name: str) -> Parsed:
        if name not in FUNCTIONS:
            raise ValueError(f"no function {name!r}, in {self.text!r}")
        wanted, least, result = FUNCTIONS[name]
        self.take("(")
        given: list[Parsed] = []
        while not self.took(")"):
            given.append(self.binary(0))
            if self.peek() != ")":
                self.take(",")
        if not least <= len(given) <= len(wanted):
            raise ValueError(f"{name} takes {least} to {len(wanted)} arguments, not {len(given)}, in {self.text!r}")
        for argument, type_ in zip(given, wanted, strict=False):
            self.need(argument, type_, name)
        metrics = frozenset[str]().union(*(argument.metrics for argument in given))
        vectors = [a for a in given if a.type in (INSTANT, RANGE)]
        single = all(a.single for a in vectors) or name in ("absent", "absent_over_time", "scalar")
        if name == "histogram_quantile" and given[1].by == frozenset({"le"}):
            single = True
        return Parsed(result, single, None, metrics)

    def need(self, parsed: Parsed, type_: str, name: str) -> None:
        if parsed.type != type_:
            raise ValueError(f"{name} takes a {type_}, not a {parsed.type}, in {self.text!r}")

    def selector(self) -> Parsed:
        name = self.take() if self.kind() == "name" else ""
        matchers = []
        if self.took("{"):
            while not self.took("}"):
                label = self.take()
                operator = self.take()
                if not re.fullmatch(r"[a-zA-Z_]\w*", label) or operator not in ("=", "!=", "=~", "!~"):
                    raise ValueError(f"{label}{operator} is no matcher, in {self.text!r}")
                if self.kind() != "string":
                    raise ValueError(f"a quoted value expected, not {self.peek()!r}, in {self.text!r}")
                matchers.append((label, operator, self.take()[1:-1]))
                if self.peek() != "}":
                    self.take(",")
        named = [value for label, operator, value in matchers if label == "__name__" and operator == "="]
        if not name and not any(o in ("=", "=~") and v not in ("", ".*") for _, o, v in matchers):
            raise ValueError(f"a selector that matches everything, in {self.text!r}")
        return Parsed(INSTANT, False, None, frozenset([name] if name else named))

    def suffix(self, parsed: Parsed) -> Parsed:
        while True:
            if self.took("["):
                parsed = self.window(parsed)
            elif self.took("offset"):
                self.took("-")
                self.duration()
            elif self.took("@"):
                self.take()
                if self.took("("):
                    self.take(")")
            else:
                return parsed

    def window(self, parsed: Parsed) -> Parsed:
        self.need(parsed, INSTANT, "[...]")
        self.duration()
        if self.took(":") and self.peek() != "]":
            self.duration()
        self.take("]")
        return Parsed(RANGE, parsed.single, parsed.by, parsed.metrics)

    def duration(self) -> None:
        if self.kind() != "duration":
            raise ValueError(f"a duration expected, not {self.peek()!r}, in {self.text!r}")
        self.take()
