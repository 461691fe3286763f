"""WebSearch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.tools.workshop import Clerk, Workshop
from turnlog.agent.tools.web_search import WebSearch

HITS = [
    {"type": "web_search_result", "title": "T1", "url": "https://a.com/1", "encrypted_content": "x", "page_age": "1 d"},
    {"type": "web_search_result", "title": "T2", "url": "https://b.com/2", "encrypted_content": "x"},
]
END = "\nREMINDER: You MUST include the sources above in your response to the user using markdown hyperlinks."


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def search(name: str = "s1") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": "q"}}


def hits(content: Any, name: str = "s1") -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": name, "content": content}


def test_links_and_words_are_told_in_their_order(tmp_path: Path) -> None:
    clerk = Clerk(blocks=[text("I'll search."), search(), hits(HITS), text("Found two."), text(" More.")])
    found = Workshop(tmp_path, clerk).call(WebSearch(), query="sessions")
    assert found.content == (
        'Web search results for query: "sessions"\n\nI\'ll search.\n\n'
        'Links: [{"title":"T1","url":"https://a.com/1"},{"title":"T2","url":"https://b.com/2"}]\n\n'
        f"Found two. More.\n\n{END}"
    )
    assert found.structured.pop("durationSeconds") >= 0
    links = [{"title": "T1", "url": "https://a.com/1"}, {"title": "T2", "url": "https://b.com/2"}]
    assert found.structured == {
        "query": "sessions",
        "results": ["I'll search.", {"tool_use_id": "s1", "content": links}, "Found two. More."],
        "searchCount": 1,
    }


def test_a_search_that_failed_is_told_as_such(tmp_path: Path) -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    found = Workshop(tmp_path, Clerk(blocks=[search(), hits(failed)])).call(WebSearch(), query="sessions")
    assert found.structured["results"] == ["Web search error: max_uses_exceeded"]


@pytest.mark.parametrize("content", [None, "x", {}, {"error_code": None}])
def test_results_of_no_known_shape_are_told_as_failed(tmp_path: Path, content: Any) -> None:
    found = Workshop(tmp_path, Clerk(blocks=[hits(content)])).call(WebSearch(), query="sessions")
    assert found.structured["results"] == ["Web search error: unavailable"]


def test_a_search_without_links_says_so(tmp_path: Path) -> None:
    found = Workshop(tmp_path, Clerk(blocks=[search(), hits([])])).call(WebSearch(), query="sessions")
    assert "\n\nNo links found.\n\n" in str(found.content)


@pytest.mark.parametrize("limits", [{}, {"allowed_domains": ["a.com"]}, {"blocked_domains": ["b.com"]}])
def test_the_server_is_asked_to_search_within_limits(tmp_path: Path, limits: dict[str, list[str]]) -> None:
    shop = Workshop(tmp_path)
    shop.call(WebSearch(), query="sessions", **limits)
    asked = shop.clerk.consulted[0]
    assert asked.prompt == "Perform a web search for the query: sessions"
    assert asked.tools == [{"type": "web_search_20250305", "name": "web_search", **limits, "max_uses": 8}]


@pytest.mark.parametrize("given", [{"query": "x"}, {"query": "xy", "allowed_domains": ["a"], "blocked_domains": ["b"]}])
def test_a_search_that_can_t_be_made_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    shop = Workshop(tmp_path)
    assert shop.call(WebSearch(), **given).is_error
    assert shop.clerk.consulted == []


def test_searching_runs_beside_others() -> None:
    assert WebSearch().is_safe({})
