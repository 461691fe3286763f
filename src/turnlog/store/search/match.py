"""From the tree of a query to an expression of FTS5. What a person typed never reaches FTS5 but as a quoted string."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import apsw

from turnlog.session.texts.texts import KINDS
from turnlog.store.index.facets import MARK, facet
from turnlog.store.index.words import parts, spaced
from turnlog.store.scope import Fits, named, projects, sessions
from turnlog.store.search.dates import FORMS, cover, parse_time
from turnlog.store.search.identifiers import Identifiers
from turnlog.store.search.query import Query
from turnlog.store.search.syntax import All, Either, Filter, Node, Not, QueryError, Term, Value, wanted
from turnlog.store.search.tokens import has_words

ROLES = {
    "user": ("prompt",),
    "assistant": ("answer", "thinking", "call"),
    "tool": ("result",),
    "system": tuple(kind for kind in KINDS if kind not in ("prompt", "answer", "thinking", "call", "result")),
}
"""Which kinds of texts come from whom."""
_PLACE = {kind: place for place, kind in enumerate(KINDS)}
_WORD = re.compile(r"[^\W_]+")
_MOST = 400
"""More sessions, or projects, make an expression that is slower than whatever it filters."""
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_TIMES = ("after", "before")


class Wide(NamedTuple):
    """What else to ask the index for."""

    expression: str | None = None
    """For the same words as parts of identifiers too; None if no identifier has such parts."""
    pieces: tuple[str, ...] = ()
    """An expression for each thing that a text must hold, where that is more than one."""
    cut: tuple[str, ...] = ()
    """Words that are a part of more identifiers than are looked for."""


class Plan(NamedTuple):
    """What to ask the index for."""

    expression: str
    after: int | None = None
    """The texts' time in seconds since 1970; the expression keeps to whole days."""
    before: int | None = None
    terms: tuple[Term, ...] = ()
    """What to show in the texts that are found."""
    wide: Callable[[], Wide] = Wide
    """Where that finds little; it costs as much as finding, so it is made when it is wanted."""

    def holds(self, time: int) -> bool:
        """Whether a time is within the bounds."""
        return (self.after is None or time >= self.after) and (self.before is None or 0 < time < self.before)


def plan(db: apsw.Connection, query: Query) -> Plan:
    """Find out what the filters of a query mean in an index, and put everything into an expression."""
    maker = _Maker(db, query)
    return maker.plan()


class _Maker:
    def __init__(self, db: apsw.Connection, query: Query) -> None:
        self.db = db
        self.query = query
        self.after: int | None = None
        self.before: int | None = None
        self.is_wide = False
        self.identifiers = Identifiers(db, query.terms)
        self.cut: dict[str, None] = {}

    def plan(self) -> Plan:
        rest = [item for item in self.query.root.items if not self._is_bound(item)]
        days = self._days()
        looked_for = [item for item in rest if any(isinstance(node, Term) for node in wanted(item))]
        limits = [item for item in rest if item not in looked_for]
        expression = self._all(rest, days)

        def wide() -> Wide:
            self.is_wide = True
            wider = self._all(rest, days)
            pieces = [self._all([item, *limits], days) for item in looked_for] if len(looked_for) > 1 else []
            return Wide(wider if wider != expression else None, tuple(pieces), tuple(self.cut))

        return Plan(expression, self.after, self.before, (*self.query.terms, *self._paths()), wide)

    def _is_bound(self, item: Node) -> bool:
        """Take a bound of the time out of the tree: it is checked to the second."""
        is_negated = isinstance(item, Not)
        found = item.item if isinstance(item, Not) else item
        if not isinstance(found, Filter) or found.name not in _TIMES:
            return False
        time = self._time(found)
        if (found.name == "after") != is_negated:
            self.after = time if self.after is None else max(time, self.after)
        else:
            self.before = time if self.before is None else min(time, self.before)
        return True

    def _time(self, given: Filter) -> int:
        if len(given.values) > 1:
            raise self._error(f"{given.name}: takes one time", given.values[1])
        time = parse_time(given.values[0].text)
        if time is None:
            raise self._error(f"no time that is understood; such are {FORMS}", given.values[0])
        return time

    def _days(self) -> str | None:
        if self.after is None and self.before is None:
            return None
        return _either(map(quoted, cover(self.after, self.before) or [f"{MARK}never"]))

    def _all(self, items: Iterable[Node], days: str | None = None) -> str:
        """An expression for things that must be there together."""
        items = [_turned(item) for item in items]
        needed = [self._expression(item) for item in items if not isinstance(item, Not)] + ([days] if days else [])
        absent = [self._absent(item.item) for item in items if isinstance(item, Not)]
        found = " AND ".join(needed) or EVERYTHING
        return f"(({found}) NOT {_either(absent)})" if absent else f"({found})"

    def _absent(self, node: Node) -> str:
        """What must not be there: a word as it is typed, not every identifier that it is a part of."""
        is_wide, self.is_wide = self.is_wide, False
        found = self._expression(node)
        self.is_wide = is_wide
        return found

    def _expression(self, node: Node) -> str:
        match node:
            case Term():
                return _either([term(node), *map(quoted, self._owners(node))])
            case Filter():
                return _either(self._value(node, value) for value in node.values)
            case Not():
                return f"({EVERYTHING} NOT {self._absent(node.item)})"
            case All():
                return self._all(node.items)
            case Either():
                return _either(self._expression(item) for item in node.items)

    def _owners(self, given: Term) -> list[str]:
        """The identifiers that a term is a part of, where these are wanted."""
        if not self.is_wide:
            return []
        found = self.identifiers.having(given)
        if found.is_cut:
            self.cut[given.text] = None
        return found.words

    def _value(self, given: Filter, value: Value) -> str:
        match given.name:
            case "kind":
                return quoted(facet("k", _PLACE[self._choice(value, KINDS)]))
            case "role":
                return _kinds(ROLES[self._choice(value, ROLES)])
            case "error":
                failed = quoted(facet("e"))
                return failed if self._choice(value, _YES + _NO) in _YES else f"({EVERYTHING} NOT {failed})"
            case "file":
                return self._file(value)
            case "tool" | "model" as kind:
                return self._fitting(kind[0], kind, value, lambda text: named(self.db, kind, text))
            case "project":
                return self._fitting("p", "project", value, lambda text: projects(self.db, text))
            case "session":
                return self._fitting("s", "session", value, lambda text: sessions(self.db, text))
        # Inside of OR and NOT whole days (UTC) must do.
        time = self._time(given)
        span = cover(time, None) if given.name == "after" else cover(None, time)
        return _either(map(quoted, span or [f"{MARK}never"]))

    def _choice(self, value: Value, choices: Iterable[str]) -> str:
        """A value that must be one of a few words; the plural will do."""
        word, known = value.text.lower(), list(choices)
        for form in (word, word.removesuffix("s")):
            if form in known:
                return form
        shown = ", ".join(known[:2] if known == [*_YES, *_NO] else known)
        raise self._error(f"not one of {'yes, no' if known == [*_YES, *_NO] else shown}", value)

    def _fitting(self, letter: str, kind: str, value: Value, find: Callable[[str], Fits]) -> str:
        found = find(value.text)
        if not found.ids:
            closest = f"; the closest: {', '.join(found.closest)}" if found.closest else ""
            raise self._error(f"no {kind} fits {value.text!r}{closest}", value)
        if len(found.ids) > _MOST:
            raise self._error(f"{len(found.ids):,} {kind}s fit; say more of it", value)
        return _either(quoted(facet(letter, number)) for number in found.ids)

    def _file(self, value: Value) -> str:
        """Pieces of a path between stars, each a phrase; a star behind a letter makes a prefix."""
        pieces = [piece for piece in value.text.split("*") if has_words(piece)]
        if not pieces:
            raise self._error("neither letter nor digit in it", value)
        last = len(pieces) - 1 if value.text.endswith("*") and value.text.rstrip("*")[-1:].isalnum() else None
        found = (_phrases([piece, spaced(piece)], number == last) for number, piece in enumerate(pieces))
        return f"(paths : ({' AND '.join(found)}))"

    def _paths(self) -> list[Term]:
        files = (node for node in wanted(self.query.root) if isinstance(node, Filter) and node.name == "file")
        return [Term(value.text, value.at, is_phrase=True) for node in files for value in node.values]

    def _error(self, reason: str, value: Value) -> QueryError:
        return QueryError(reason, self.query.text, value.at)


def _turned(item: Node) -> Node:
    """`error:no` as the absence of errors, which costs less than the presence of everything else."""
    if isinstance(item, Filter) and item.name == "error" and [value.text.lower() for value in item.values] == ["no"]:
        return Not(Filter("error", (Value("yes", item.at),), item.at))
    return item


def term(given: Term) -> str:
    """An identifier as it is typed, or by its parts; a phrase, and what has signs in it, as typed."""
    variants = [spaced(given.text)]
    words = _WORD.findall(variants[0])
    if not given.is_phrase and len(words) == 1 and words[0].isascii():
        variants.append(" ".join(parts(words[0])))
    return _phrases(variants, given.is_prefix)


def _phrases(variants: Iterable[str], is_prefix: bool) -> str:
    unlike = {" ".join(_WORD.findall(text)).lower(): text for text in reversed([*variants])}
    return _either(_starred(text, is_prefix) for text in reversed(unlike.values()))


def _starred(text: str, is_prefix: bool) -> str:
    return quoted(text) + (" *" if is_prefix else "")


def quoted(text: str) -> str:
    """A string of FTS5."""
    return '"' + text.replace('"', '""') + '"'


def _either(found: Iterable[str]) -> str:
    found = list(dict.fromkeys(found))
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"


def _kinds(kinds: Iterable[str]) -> str:
    return _either(quoted(facet("k", _PLACE[kind])) for kind in kinds)


EVERYTHING = _kinds(KINDS)
"""What every text fits."""


def of_kinds(expression: str, kinds: Iterable[str]) -> str:
    """An expression, for texts of some kinds alone."""
    return f"({expression} AND {_kinds(kinds)})"


def outside(expression: str, sessions: Iterable[int]) -> str:
    """An expression, for texts of other sessions than some."""
    return f"({expression} NOT {_sessions(sessions)})"


def within(expression: str, sessions: Iterable[int]) -> str:
    """An expression, for texts of some sessions alone."""
    return f"({expression} AND {_sessions(sessions)})"


def _sessions(numbers: Iterable[int]) -> str:
    return _either(quoted(facet("s", number)) for number in numbers)
