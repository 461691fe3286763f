"""From the tree of a query to an expression of FTS5. What a person typed never reaches FTS5 but as a quoted string."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import apsw

from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.filter_values import ScopeMatch, match_names, match_projects, match_sessions
from turnlog.store.index.facets import FACET_MARK, build_facet
from turnlog.store.index.words import split_identifier, to_query_text
from turnlog.store.search.filter_times import TIME_FORMS, list_day_facets, parse_time
from turnlog.store.search.identifier_lookup import IdentifierLookup
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.query_tokens import has_words
from turnlog.store.search.syntax import (
    AllNode,
    EitherNode,
    FilterValue,
    NotNode,
    QueryError,
    QueryFilter,
    QueryNode,
    QueryTerm,
    iter_wanted_terms,
)

KINDS_BY_ROLE = {
    "user": ("prompt",),
    "assistant": ("answer", "thinking", "call"),
    "tool": ("result",),
    "system": tuple(kind for kind in TEXT_KINDS if kind not in ("prompt", "answer", "thinking", "call", "result")),
}
"""Which kinds of texts come from whom."""
_KIND_NUMBERS = {kind: place for place, kind in enumerate(TEXT_KINDS)}
_WORD_PATTERN = re.compile(r"[^\W_]+")
_MAX_FITTING_IDS = 400
"""More sessions, or projects, make an expression that is slower than whatever it filters."""
_YES_WORDS, _NO_WORDS = ("yes", "true", "1"), ("no", "false", "0")
_TIME_FILTERS = ("after", "before")


class WideMatch(NamedTuple):
    """What else to ask the index for."""

    expression: str | None = None
    """For the same words as parts of identifiers too; None if no identifier has such parts."""
    pieces: tuple[str, ...] = ()
    """An expression for each thing that a text must hold, where that is more than one."""
    cut: tuple[str, ...] = ()
    """Words that are a part of more identifiers than are looked for."""


class SearchPlan(NamedTuple):
    """What to ask the index for."""

    expression: str
    after: int | None = None
    """The texts' time in seconds since 1970; the expression keeps to whole days."""
    before: int | None = None
    terms: tuple[QueryTerm, ...] = ()
    """What to show in the texts that are found."""
    wide: Callable[[], WideMatch] = WideMatch
    """Where that finds little; it costs as much as finding, so it is made when it is wanted."""

    def is_in_time_bounds(self, time: int) -> bool:
        """Whether a time is within the bounds."""
        return (self.after is None or time >= self.after) and (self.before is None or 0 < time < self.before)


def plan_search(db: apsw.Connection, query: SearchQuery) -> SearchPlan:
    """Find out what the filters of a query mean in an index, and put everything into an expression."""
    maker = _PlanMaker(db, query)
    return maker.make_plan()


class _PlanMaker:
    def __init__(self, db: apsw.Connection, query: SearchQuery) -> None:
        self.db = db
        self.query = query
        self.after: int | None = None
        self.before: int | None = None
        self.is_wide = False
        self.identifiers = IdentifierLookup(db, query.terms)
        self.cut: dict[str, None] = {}

    def make_plan(self) -> SearchPlan:
        rest = [item for item in self.query.root.items if not self._is_time_bound(item)]
        days = self._build_days()
        looked_for = [item for item in rest if any(isinstance(node, QueryTerm) for node in iter_wanted_terms(item))]
        limits = [item for item in rest if item not in looked_for]
        expression = self._match_all(rest, days)

        def wide() -> WideMatch:
            self.is_wide = True
            wider = self._match_all(rest, days)
            pieces = [self._match_all([item, *limits], days) for item in looked_for] if len(looked_for) > 1 else []
            return WideMatch(wider if wider != expression else None, tuple(pieces), tuple(self.cut))

        return SearchPlan(expression, self.after, self.before, (*self.query.terms, *self._list_path_terms()), wide)

    def _is_time_bound(self, item: QueryNode) -> bool:
        """Take a bound of the time out of the tree: it is checked to the second."""
        is_negated = isinstance(item, NotNode)
        found = item.item if isinstance(item, NotNode) else item
        if not isinstance(found, QueryFilter) or found.name not in _TIME_FILTERS:
            return False
        time = self._parse_bound(found)
        if (found.name == "after") != is_negated:
            self.after = time if self.after is None else max(time, self.after)
        else:
            self.before = time if self.before is None else min(time, self.before)
        return True

    def _parse_bound(self, given: QueryFilter) -> int:
        if len(given.values) > 1:
            raise self._build_error(f"{given.name}: takes one time", given.values[1])
        time = parse_time(given.values[0].text)
        if time is None:
            raise self._build_error(f"no time that is understood; such are {TIME_FORMS}", given.values[0])
        return time

    def _build_days(self) -> str | None:
        if self.after is None and self.before is None:
            return None
        return _join_alternatives(
            map(quote_fts_string, list_day_facets(self.after, self.before) or [f"{FACET_MARK}never"])
        )

    def _match_all(self, items: Iterable[QueryNode], days: str | None = None) -> str:
        """An expression for things that must be there together."""
        items = [_turn_negation(item) for item in items]
        needed = [self._build_expression(item) for item in items if not isinstance(item, NotNode)] + (
            [days] if days else []
        )
        absent = [self._match_absent(item.item) for item in items if isinstance(item, NotNode)]
        found = " AND ".join(needed) or MATCH_EVERYTHING
        return f"(({found}) NOT {_join_alternatives(absent)})" if absent else f"({found})"

    def _match_absent(self, node: QueryNode) -> str:
        """What must not be there: a word as it is typed, not every identifier that it is a part of."""
        is_wide, self.is_wide = self.is_wide, False
        found = self._build_expression(node)
        self.is_wide = is_wide
        return found

    def _build_expression(self, node: QueryNode) -> str:
        match node:
            case QueryTerm():
                return _join_alternatives(
                    [build_term_expression(node), *map(quote_fts_string, self._list_owners(node))]
                )
            case QueryFilter():
                return _join_alternatives(self._match_value(node, value) for value in node.values)
            case NotNode():
                return f"({MATCH_EVERYTHING} NOT {self._match_absent(node.item)})"
            case AllNode():
                return self._match_all(node.items)
            case EitherNode():
                return _join_alternatives(self._build_expression(item) for item in node.items)

    def _list_owners(self, given: QueryTerm) -> list[str]:
        """The identifiers that a term is a part of, where these are wanted."""
        if not self.is_wide:
            return []
        found = self.identifiers.find_owners(given)
        if found.is_cut:
            self.cut[given.text] = None
        return found.words

    def _match_value(self, given: QueryFilter, value: FilterValue) -> str:
        match given.name:
            case "kind":
                return quote_fts_string(build_facet("k", _KIND_NUMBERS[self._choose_word(value, TEXT_KINDS)]))
            case "role":
                return _match_kinds(KINDS_BY_ROLE[self._choose_word(value, KINDS_BY_ROLE)])
            case "error":
                failed = quote_fts_string(build_facet("e"))
                return (
                    failed
                    if self._choose_word(value, _YES_WORDS + _NO_WORDS) in _YES_WORDS
                    else f"({MATCH_EVERYTHING} NOT {failed})"
                )
            case "file":
                return self._match_file(value)
            case "tool" | "model" as kind:
                return self._match_fitting(kind[0], kind, value, lambda text: match_names(self.db, kind, text))
            case "project":
                return self._match_fitting("p", "project", value, lambda text: match_projects(self.db, text))
            case "session":
                return self._match_fitting("s", "session", value, lambda text: match_sessions(self.db, text))
        # Inside of OR and NOT whole days (UTC) must do.
        time = self._parse_bound(given)
        span = list_day_facets(time, None) if given.name == "after" else list_day_facets(None, time)
        return _join_alternatives(map(quote_fts_string, span or [f"{FACET_MARK}never"]))

    def _choose_word(self, value: FilterValue, choices: Iterable[str]) -> str:
        """A value that must be one of a few words; the plural will do."""
        word, known = value.text.lower(), list(choices)
        for form in (word, word.removesuffix("s")):
            if form in known:
                return form
        shown = ", ".join(known[:2] if known == [*_YES_WORDS, *_NO_WORDS] else known)
        raise self._build_error(f"not one of {'yes, no' if known == [*_YES_WORDS, *_NO_WORDS] else shown}", value)

    def _match_fitting(self, letter: str, kind: str, value: FilterValue, find: Callable[[str], ScopeMatch]) -> str:
        found = find(value.text)
        if not found.ids:
            closest = f"; the closest: {', '.join(found.closest)}" if found.closest else ""
            raise self._build_error(f"no {kind} fits {value.text!r}{closest}", value)
        if len(found.ids) > _MAX_FITTING_IDS:
            raise self._build_error(f"{len(found.ids):,} {kind}s fit; say more of it", value)
        return _join_alternatives(quote_fts_string(build_facet(letter, number)) for number in found.ids)

    def _match_file(self, value: FilterValue) -> str:
        """Pieces of a path between stars, each a phrase; a star behind a letter makes a prefix."""
        pieces = [piece for piece in value.text.split("*") if has_words(piece)]
        if not pieces:
            raise self._build_error("neither letter nor digit in it", value)
        last = len(pieces) - 1 if value.text.endswith("*") and value.text.rstrip("*")[-1:].isalnum() else None
        found = (_build_phrases([piece, to_query_text(piece)], number == last) for number, piece in enumerate(pieces))
        return f"(paths : ({' AND '.join(found)}))"

    def _list_path_terms(self) -> list[QueryTerm]:
        files = (
            node for node in iter_wanted_terms(self.query.root) if isinstance(node, QueryFilter) and node.name == "file"
        )
        return [QueryTerm(value.text, value.at, is_phrase=True) for node in files for value in node.values]

    def _build_error(self, reason: str, value: FilterValue) -> QueryError:
        return QueryError(reason, self.query.text, value.at)


def _turn_negation(item: QueryNode) -> QueryNode:
    """`error:no` as the absence of errors, which costs less than the presence of everything else."""
    if (
        isinstance(item, QueryFilter)
        and item.name == "error"
        and [value.text.lower() for value in item.values] == ["no"]
    ):
        return NotNode(QueryFilter("error", (FilterValue("yes", item.at),), item.at))
    return item


def build_term_expression(given: QueryTerm) -> str:
    """An identifier as it is typed, or by its parts; a phrase, and what has signs in it, as typed."""
    variants = [to_query_text(given.text)]
    words = _WORD_PATTERN.findall(variants[0])
    if not given.is_phrase and len(words) == 1 and words[0].isascii():
        variants.append(" ".join(split_identifier(words[0])))
    return _build_phrases(variants, given.is_prefix)


def _build_phrases(variants: Iterable[str], is_prefix: bool) -> str:
    unlike = {" ".join(_WORD_PATTERN.findall(text)).lower(): text for text in reversed([*variants])}
    return _join_alternatives(_quote_prefix(text, is_prefix) for text in reversed(unlike.values()))


def _quote_prefix(text: str, is_prefix: bool) -> str:
    return quote_fts_string(text) + (" *" if is_prefix else "")


def quote_fts_string(text: str) -> str:
    """A string of FTS5."""
    return '"' + text.replace('"', '""') + '"'


def _join_alternatives(found: Iterable[str]) -> str:
    found = list(dict.fromkeys(found))
    return found[0] if len(found) == 1 else f"({' OR '.join(found)})"


def _match_kinds(kinds: Iterable[str]) -> str:
    return _join_alternatives(quote_fts_string(build_facet("k", _KIND_NUMBERS[kind])) for kind in kinds)


MATCH_EVERYTHING = _match_kinds(TEXT_KINDS)
"""What every text fits."""


def restrict_to_kinds(expression: str, kinds: Iterable[str]) -> str:
    """An expression, for texts of some kinds alone."""
    return f"({expression} AND {_match_kinds(kinds)})"


def exclude_sessions(expression: str, sessions: Iterable[int]) -> str:
    """An expression, for texts of other sessions than some."""
    return f"({expression} NOT {_match_sessions(sessions)})"


def restrict_to_sessions(expression: str, sessions: Iterable[int]) -> str:
    """An expression, for texts of some sessions alone."""
    return f"({expression} AND {_match_sessions(sessions)})"


def _match_sessions(numbers: Iterable[int]) -> str:
    return _join_alternatives(quote_fts_string(build_facet("s", number)) for number in numbers)
