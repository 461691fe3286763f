"""The choices beside the results of a search: kinds, projects, tools and others, each with its number of hits.

A choice is a link to the search with one filter added or removed. Within a group, the choices are alternatives: their
counts ignore the group's own filter, so that they say what each alternative would find.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apsw

from turnlog.errors import UsageError
from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.session.usage.prices import SYNTHETIC_MODEL
from turnlog.store.project_folders import load_session_folders
from turnlog.store.search.facet_counts import FacetCounter, FacetCounts
from turnlog.store.search.filter_times import parse_time
from turnlog.store.search.match_expression import PLAN_FOR_EVERYTHING, SearchPlan, plan_search
from turnlog.store.search.query import parse_query
from turnlog.web.amounts import folder_name, model_name
from turnlog.web.search.query_filters import change_filters, list_filter_values, toggle_filter_value

MAX_OPEN_CHOICES = 7
"""How many choices of a group are shown at first."""
MAX_CHOICES = 80
_AGES = {"1d": "past day", "7d": "past week", "30d": "past 30 days", "90d": "past 90 days", "1y": "past year"}
_SINGLE_VALUE_FILTERS = ("after", "error")
FACET_NAMES = ("kind", "project", "branch", "tool", "model", "error", "after")


class FacetChoice(NamedTuple):
    value: str
    label: str
    query: str
    """The query after choosing it, or after taking the choice back."""
    hits: int | None
    """None if it is unknown."""
    is_chosen: bool
    title: str = ""


class FacetGroup(NamedTuple):
    name: str
    title: str
    choices: list[FacetChoice]
    more: list[FacetChoice]
    is_bounded: bool
    """Whether there may be more hits than the counts say."""


class SessionPlaces(NamedTuple):
    """Where the sessions of an index belong, by session.id."""

    projects: dict[int, str]
    branches: dict[int, str]

    @classmethod
    def load(cls, db: apsw.Connection) -> SessionPlaces:
        rows: list[Any] = db.execute(
            "SELECT session, git_branch FROM file WHERE kind = 'session' AND git_branch IS NOT NULL"
        ).fetchall()
        return cls(load_session_folders(db), {session: branch for session, branch in rows if branch})


class FacetSource(NamedTuple):
    """Counts the hits of a query and of its alternatives."""

    db: apsw.Connection
    counter: FacetCounter
    places: SessionPlaces

    def count_query(self, query: str) -> FacetCounts:
        return self.count_plan(plan_search(self.db, parse_query(query)) if query.strip() else PLAN_FOR_EVERYTHING)

    def count_plan(self, plan: SearchPlan) -> FacetCounts:
        return self.counter.count_facets(plan, [parse_time(age) or 0 for age in _AGES])


def build_facets(query: str, counts: FacetCounts, source: FacetSource, *, has_alternatives: bool) -> list[FacetGroup]:
    """Build the groups for a query whose hits are counted already."""
    groups: list[FacetGroup] = []
    for name in FACET_NAMES:
        own = counts
        if has_alternatives and list_filter_values(query, name):
            try:
                own = source.count_query(change_filters(query, {name: ()}))
            except UsageError:  # the rest of the query is not one, such as `a OR tool:Bash`
                own = counts
        groups.append(_build_group(name, query, own, source.places))
    return [group for group in groups if group.choices]


def build_uncounted_facets(query: str, counts: FacetCounts, places: SessionPlaces) -> list[FacetGroup]:
    """Build the groups for a search that reads the files, whose hits nobody has counted."""
    groups = (_build_group(name, query, counts, places) for name in FACET_NAMES)
    return [
        group._replace(
            choices=[choice._replace(hits=None) for choice in group.choices],
            more=[choice._replace(hits=None) for choice in group.more],
            is_bounded=False,
        )
        for group in groups
        if group.choices
    ]


def _build_group(name: str, query: str, counts: FacetCounts, places: SessionPlaces) -> FacetGroup:
    title, list_values = _GROUPS[name]
    chosen = list_filter_values(query, name)
    folded = {value.casefold() for value in chosen}
    choices = []
    before = -1
    for value, label, count, about in list_values(counts, places):
        is_chosen = value.casefold() in folded or (name == "project" and about.casefold() in folded)
        if name == "after" and count == before and not is_chosen:
            continue  # a longer time that adds nothing
        before = count
        typed = about if is_chosen and value.casefold() not in folded else value
        changed = toggle_filter_value(query, name, typed, is_single=name in _SINGLE_VALUE_FILTERS)
        choices.append(FacetChoice(value, label, changed, count, is_chosen, about))
    known = {text.casefold() for choice in choices for text in (choice.value, choice.title)}
    choices += [
        FacetChoice(value, value, toggle_filter_value(query, name, value), None, True)
        for value in chosen
        if value.casefold() not in known
    ]
    shown = [choice for choice in choices if choice.hits or choice.is_chosen]
    most = len(TEXT_KINDS) if name == "kind" else MAX_OPEN_CHOICES
    first = [choice for place, choice in enumerate(shown) if place < most or choice.is_chosen]
    rest = [choice for choice in shown if choice not in first]
    if len(rest) == 1:
        first, rest = [*first, *rest], []
    return FacetGroup(name, title, first, rest[:MAX_CHOICES], not counts.is_complete)


FacetValue = tuple[str, str, int, str]
"""Value, label, number of hits, and what the pointer shows."""


def _list_kinds(counts: FacetCounts, _: SessionPlaces) -> Iterator[FacetValue]:
    for kind, about in TEXT_KINDS.items():
        yield kind, kind, counts.kinds[kind], about


def _list_projects(counts: FacetCounts, places: SessionPlaces) -> Iterator[FacetValue]:
    own = _sum_by_place(counts.sessions, places.projects)
    everyone = sorted(set(places.projects.values()))
    # The filter `project:` includes the folders below, and so does the count.
    sums = {path: sum(own[other] for other in own if _is_at_or_below(other, path)) for path in own}
    names = Counter(map(folder_name, sums))
    for path in sorted(sums, key=lambda path: (-sums[path], path)):
        name = folder_name(path)
        label = name if names[name] == 1 else f"{folder_name(path[: -len(name) - 1])}/{name}"
        yield shorten_project(path, everyone), label, sums[path], path


def _list_branches(counts: FacetCounts, places: SessionPlaces) -> Iterator[FacetValue]:
    for branch, count in _sum_by_place(counts.sessions, places.branches).most_common():
        yield branch, branch, count, branch


def _list_tools(counts: FacetCounts, _: SessionPlaces) -> Iterator[FacetValue]:
    for tool, count in counts.tools.most_common():
        yield tool, tool, count, tool


def _list_models(counts: FacetCounts, _: SessionPlaces) -> Iterator[FacetValue]:
    for model, count in counts.models.most_common():
        if model != SYNTHETIC_MODEL:  # texts of the client itself, which no model wrote
            yield model, model_name(model), count, model


def _list_outcomes(counts: FacetCounts, _: SessionPlaces) -> Iterator[FacetValue]:
    yield "yes", "failed", counts.failed, "failed calls and API errors"
    yield "no", "not failed", counts.total - counts.failed if counts.failed else 0, "everything else"


def _list_ages(counts: FacetCounts, _: SessionPlaces) -> Iterator[FacetValue]:
    for (value, label), count in zip(_AGES.items(), counts.ages, strict=True):
        yield value, label, count, f"since {time.strftime('%Y-%m-%d %H:%M', time.localtime(parse_time(value)))}"


_GROUPS: Mapping[str, tuple[str, Callable[[FacetCounts, SessionPlaces], Iterable[FacetValue]]]] = {
    "kind": ("Kind", _list_kinds),
    "project": ("Project", _list_projects),
    "branch": ("Git branch", _list_branches),
    "tool": ("Tool", _list_tools),
    "model": ("Model", _list_models),
    "error": ("Outcome", _list_outcomes),
    "after": ("Time", _list_ages),
}


def _sum_by_place(sessions: Counter[int], places: Mapping[int, str]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for session, count in sessions.items():
        if place := places.get(session):
            sums[place] += count
    return sums


def _is_at_or_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith((folder.rstrip("/\\") + "/", folder.rstrip("/\\") + "\\"))


def shorten_project(path: str, projects: Iterable[str]) -> str:
    """Return a project's name if it is unambiguous, otherwise its path."""
    name = folder_name(path)
    wanted = name.casefold()
    is_clear = sum(wanted in folder_name(other).casefold() for other in projects) == 1
    return name if is_clear else path
