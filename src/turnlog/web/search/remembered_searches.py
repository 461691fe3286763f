"""The searches that the reader saved, and the recent ones. The page's script keeps them among the preferences.

    search.saved.<time>   {"name": "Failing tests", "address": "/search?q=pytest+error%3Ayes"}
    search.recent         ["/search?q=discount", …], the newest first

Each saved search is a value of its own, so that two pages that save at the same time keep both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

SAVED_SEARCH_PREFIX = "search.saved."
RECENT_SEARCHES_NAME = "search.recent"
MAX_RECENT_SEARCHES = 12
_MAX_NAME_CHARS = 120


class RememberedSearch(NamedTuple):
    key: str
    """The name of the preference of a saved search; empty for a recent one."""
    name: str
    address: str


class RememberedSearches(NamedTuple):
    saved: list[RememberedSearch]
    recent: list[RememberedSearch]


def list_remembered_searches(values: Mapping[str, Any]) -> RememberedSearches:
    """Read the remembered searches from the preferences, without those whose address is not of the search page."""
    saved = [
        RememberedSearch(key, str(value.get("name") or describe_address(address))[:_MAX_NAME_CHARS], address)
        for key, value in values.items()
        if key.startswith(SAVED_SEARCH_PREFIX) and isinstance(value, dict)
        for address in _check_addresses([value.get("address")])
    ]
    recent = values.get(RECENT_SEARCHES_NAME)
    addresses = list(_check_addresses(recent))[:MAX_RECENT_SEARCHES] if isinstance(recent, list) else []
    return RememberedSearches(
        sorted(saved, key=lambda item: item.name.casefold()),
        [RememberedSearch("", describe_address(address), address) for address in addresses],
    )


def describe_address(address: str) -> str:
    """Return the query in an address of the search page, and its exact text if it has one."""
    params = parse_qs(urlsplit(address).query)
    parts = [params.get("text", [""])[0], params.get("q", [""])[0]]
    return " ".join(filter(None, parts))[:_MAX_NAME_CHARS] or "everything"


def _check_addresses(values: list[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and value.startswith("/search?") and value.isprintable():
            yield value
