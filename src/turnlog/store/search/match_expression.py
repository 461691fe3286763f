"""Converts the tree of a query to an FTS5 expression; text that a person typed reaches FTS5 only as a quoted string."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import apsw

from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.filter_values import ScopeMatch, match_branches, match_names, match_projects, match_sessions
from turnlog.store.index.coverage import read_coverage
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
"""The kinds of text that each role writes."""
_KIND_NUMBERS = {kind: place for place, kind in enumerate(TEXT_KINDS)}
_WORD_PATTERN = re.compile(r"[^\W_]+")
_MAX_FITTING_IDS = 400
"""A filter with more sessions or projects takes more time than it saves."""
_YES_WORDS, _NO_WORDS = ("yes", "true", "1"), ("no", "false", "0")
_TIME_FILTERS = ("after", "before")


class WideMatch(NamedTuple):
    """Additional expressions for the index."""

    expression: str | None = None
    """The expression that also matches the words as parts of identifiers; None if no identifier has such parts."""
    pieces: tuple[str, ...] = ()
    """One expression for each required term, if there are several."""
    cut: tuple[str, ...] = ()
    """Words that are part of more identifiers than the expression can contain."""


class SearchPlan(NamedTuple):
    """The expression and time bounds for the index."""

    expression: str
    after: int | None = None
    """In seconds since 1970, like `before`; the expression only distinguishes whole days."""
    before: int | None = None
    terms: tuple[QueryTerm, ...] = ()
    """The terms to highlight in the texts that are found."""
    files_bound: str = ""
    """The SQL condition on the `text` table that limits the files, since a branch may have any number of sessions."""
    wide: Callable[[], WideMatch] = WideMatch
    """Builds further expressions if the first one finds little; this takes as long as a search, so it runs last."""

    @property
    def sql_bounds(self) -> str:
        """The SQL conditions on the `text` table: times and files."""
        bounds = [] if self.after is None else [f"time >= {self.after}"]
        bounds += [] if self.before is None else [f"time < {self.before}", "time > 0"]
        return "".join(f" AND {bound}" for bound in bounds) + self.files_bound

    def is_in_time_bounds(self, time: int) -> bool:
        return (self.after is None or time >= self.after) and (self.before is None or 0 < time < self.before)


NameMatcher = Callable[[apsw.Connection, str, str], ScopeMatch]
"""Finds the tools or models that a value of a filter names, as `match_names` does."""


def plan_search(db: apsw.Connection, query: SearchQuery, find_names: NameMatcher = match_names) -> SearchPlan:
    """Resolve the filters of a query against an index and build the expression."""
    maker = _PlanMaker(db, query, find_names)
    return maker.make_plan()


class _PlanMaker:
    def __init__(self, db: apsw.Connection, query: SearchQuery, find_names: NameMatcher) -> None:
        self.db = db
        self.query = query
        self.find_names = find_names
        self.after: int | None = None
        self.before: int | None = None
        self.files_bound = ""
        self.is_wide = False
        self.identifiers = IdentifierLookup(db, query.terms)
        self.cut: dict[str, None] = {}

    def make_plan(self) -> SearchPlan:
        rest = [
            item for item in self.query.root.items if not self._is_time_bound(item) and not self._is_branch_bound(item)
        ]
        days = self._build_days()
        required = [item for item in rest if any(isinstance(node, QueryTerm) for node in iter_wanted_terms(item))]
        limits = [item for item in rest if item not in required]
        expression = self._match_all(rest, days)

        def wide() -> WideMatch:
            self.is_wide = True
            wider = self._match_all(rest, days)
            pieces = [self._match_all([item, *limits], days) for item in required] if len(required) > 1 else []
            return WideMatch(wider if wider != expression else None, tuple(pieces), tuple(self.cut))

        terms = (*self.query.terms, *self._list_path_terms())
        return SearchPlan(expression, self.after, self.before, terms, self.files_bound, wide)

    def _is_time_bound(self, item: QueryNode) -> bool:
        """Record a time bound and return True, so that it is removed from the tree: bounds are exact to the second."""
        is_negated = isinstance(item, NotNode)
        node = item.item if isinstance(item, NotNode) else item
        if not isinstance(node, QueryFilter) or node.name not in _TIME_FILTERS:
            return False
        time = self._parse_bound(node)
        if (node.name == "after") != is_negated:
            self.after = time if self.after is None else max(time, self.after)
        else:
            self.before = time if self.before is None else min(time, self.before)
        return True

    def _is_branch_bound(self, item: QueryNode) -> bool:
        """Record a bound on the branch and return True, so that it is removed from the tree."""
        node = item.item if isinstance(item, NotNode) else item
        if not isinstance(node, QueryFilter) or node.name != "branch":
            return False
        numbers = sorted({number for value in node.values for number in self._find_branch_sessions(value)})
        files = f"SELECT id FROM file WHERE session IN ({', '.join(map(str, numbers))})"
        self.files_bound += f" AND file {'NOT IN' if isinstance(item, NotNode) else 'IN'} ({files})"
        return True

    def _find_branch_sessions(self, value: FilterValue) -> list[int]:
        return self._require_ids("branch", value, match_branches(self.db, value.text))

    def _parse_bound(self, bound: QueryFilter) -> int:
        if len(bound.values) > 1:
            raise self._build_error(f"{bound.name}: accepts only one time", bound.values[1])
        time = parse_time(bound.values[0].text)
        if time is None:
            raise self._build_error(f"not a time; examples: {TIME_FORMS}", bound.values[0])
        return time

    def _build_days(self) -> str | None:
        if self.after is None and self.before is None:
            return None
        return _join_alternatives(
            map(quote_fts_string, list_day_facets(self.after, self.before) or [f"{FACET_MARK}never"])
        )

    def _match_all(self, items: Iterable[QueryNode], days: str | None = None) -> str:
        """Build an expression for terms that must all match."""
        items = [_turn_negation(item) for item in items]
        needed = [self._build_expression(item) for item in items if not isinstance(item, NotNode)] + (
            [days] if days else []
        )
        absent = [self._match_absent(item.item) for item in items if isinstance(item, NotNode)]
        together = " AND ".join(needed) or MATCH_EVERYTHING
        return f"(({together}) NOT {_join_alternatives(absent)})" if absent else f"({together})"

    def _match_absent(self, node: QueryNode) -> str:
        """Build an expression for a node that must be absent, without the identifiers that contain its words."""
        is_wide, self.is_wide = self.is_wide, False
        expression = self._build_expression(node)
        self.is_wide = is_wide
        return expression

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

    def _list_owners(self, term: QueryTerm) -> list[str]:
        """List the identifiers that contain a term, if the search is wide."""
        if not self.is_wide:
            return []
        owners = self.identifiers.find_owners(term)
        if owners.is_cut:
            self.cut[term.text] = None
        return owners.words

    def _match_value(self, node: QueryFilter, value: FilterValue) -> str:
        match node.name:
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
            case "tool" if not self.find_names(self.db, "tool", value.text).ids and read_coverage(self.db).left:
                # Calls are in the part of the index that is read last, so the tool may only not be known yet.
                return quote_fts_string(f"{FACET_MARK}never")
            case "tool" | "model" as kind:
                return self._match_fitting(kind[0], kind, value, lambda text: self.find_names(self.db, kind, text))
            case "project":
                return self._match_fitting("p", "project", value, lambda text: match_projects(self.db, text))
            case "session":
                return self._match_fitting("s", "session", value, lambda text: match_sessions(self.db, text))
            case "branch":
                return self._match_fitting("s", "branch", value, lambda text: match_branches(self.db, text))
        # Inside OR and NOT, only whole days (UTC) can be distinguished.
        time = self._parse_bound(node)
        span = list_day_facets(time, None) if node.name == "after" else list_day_facets(None, time)
        return _join_alternatives(map(quote_fts_string, span or [f"{FACET_MARK}never"]))

    def _choose_word(self, value: FilterValue, choices: Iterable[str]) -> str:
        """Return the choice that a value names, in the singular or plural; raise an error if it names none."""
        word, known = value.text.lower(), list(choices)
        for form in (word, word.removesuffix("s")):
            if form in known:
                return form
        listed = ", ".join(known[:2] if known == [*_YES_WORDS, *_NO_WORDS] else known)
        raise self._build_error(f"must be one of {'yes, no' if known == [*_YES_WORDS, *_NO_WORDS] else listed}", value)

    def _match_fitting(self, letter: str, kind: str, value: FilterValue, find: Callable[[str], ScopeMatch]) -> str:
        ids = self._require_ids(kind, value, find(value.text))
        if len(ids) > _MAX_FITTING_IDS:
            noun = "sessions are on this branch" if kind == "branch" else f"{kind}s match"
            raise self._build_error(f"{len(ids):,} {noun}; be more specific", value)
        return _join_alternatives(quote_fts_string(build_facet(letter, number)) for number in ids)

    def _require_ids(self, kind: str, value: FilterValue, match: ScopeMatch) -> list[int]:
        if not match.ids:
            closest = f"; closest matches: {', '.join(match.closest)}" if match.closest else ""
            raise self._build_error(f"no {kind} matches {value.text!r}{closest}", value)
        return match.ids

    def _match_file(self, value: FilterValue) -> str:
        """Match the parts of a path between asterisks as phrases; an asterisk after a letter makes a prefix."""
        pieces = [piece for piece in value.text.split("*") if has_words(piece)]
        if not pieces:
            raise self._build_error("this value contains no letters or digits", value)
        last = len(pieces) - 1 if value.text.endswith("*") and value.text.rstrip("*")[-1:].isalnum() else None
        phrases = (_build_phrases([piece, to_query_text(piece)], number == last) for number, piece in enumerate(pieces))
        return f"(paths : ({' AND '.join(phrases)}))"

    def _list_path_terms(self) -> list[QueryTerm]:
        files = (
            node for node in iter_wanted_terms(self.query.root) if isinstance(node, QueryFilter) and node.name == "file"
        )
        return [QueryTerm(value.text, value.at, is_phrase=True) for node in files for value in node.values]

    def _build_error(self, reason: str, value: FilterValue) -> QueryError:
        return QueryError(reason, self.query.text, value.at)


def _turn_negation(item: QueryNode) -> QueryNode:
    """Turn `error:no` into the absence of errors, which is cheaper to search than the presence of everything else."""
    if (
        isinstance(item, QueryFilter)
        and item.name == "error"
        and [value.text.lower() for value in item.values] == ["no"]
    ):
        return NotNode(QueryFilter("error", (FilterValue("yes", item.at),), item.at))
    return item


def build_term_expression(term: QueryTerm) -> str:
    """Match an identifier as typed or by its parts; match phrases and words with symbols as typed."""
    variants = [to_query_text(term.text)]
    words = _WORD_PATTERN.findall(variants[0])
    if not term.is_phrase and len(words) == 1 and words[0].isascii():
        variants.append(" ".join(split_identifier(words[0])))
    return _build_phrases(variants, term.is_prefix)


def _build_phrases(variants: Iterable[str], is_prefix: bool) -> str:
    unlike = {" ".join(_WORD_PATTERN.findall(text)).lower(): text for text in reversed([*variants])}
    return _join_alternatives(_quote_prefix(text, is_prefix) for text in reversed(unlike.values()))


def _quote_prefix(text: str, is_prefix: bool) -> str:
    return quote_fts_string(text) + (" *" if is_prefix else "")


def quote_fts_string(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'  # FTS5 ends an expression at a NUL


def _join_alternatives(expressions: Iterable[str]) -> str:
    expressions = list(dict.fromkeys(expressions))
    return expressions[0] if len(expressions) == 1 else f"({' OR '.join(expressions)})"


def _match_kinds(kinds: Iterable[str]) -> str:
    return _join_alternatives(quote_fts_string(build_facet("k", _KIND_NUMBERS[kind])) for kind in kinds)


MATCH_EVERYTHING = _match_kinds(TEXT_KINDS)
"""An expression that matches every text."""
PLAN_FOR_EVERYTHING = SearchPlan(f"({MATCH_EVERYTHING})")
"""What an empty query would search for."""


def restrict_to_kinds(expression: str, kinds: Iterable[str]) -> str:
    """Restrict an expression to texts of the given kinds."""
    return f"({expression} AND {_match_kinds(kinds)})"


def exclude_sessions(expression: str, sessions: Iterable[int]) -> str:
    return f"({expression} NOT {_match_sessions(sessions)})"


def restrict_to_sessions(expression: str, sessions: Iterable[int]) -> str:
    return f"({expression} AND {_match_sessions(sessions)})"


def _match_sessions(numbers: Iterable[int]) -> str:
    return _join_alternatives(quote_fts_string(build_facet("s", number)) for number in numbers)
