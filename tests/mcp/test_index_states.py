"""What tools answer while the index is missing, damaged, locked or being built."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.conftest import LIMIT_SECONDS, OWN, Ask, Shelf, extract_quote
from tests.session.build import Build
from turnlog.api.config import data_dir, load_config
from turnlog.api.index import stop_indexing, update_index
from turnlog.mcp.index_upkeep import BackgroundIndexing
from turnlog.mcp.library import SessionLibrary
from turnlog.mcp.toolbox import call_tool
from turnlog.store.file_lock import try_lock_file
from turnlog.store.filler import stop_filler
from turnlog.store.index import refresh


def add_session(shelf: Shelf, name: str = OWN, text: str = "hello") -> None:
    build = Build()
    build.prompt(text)
    build.answer("fine")
    shelf.add(name, build)


def find_index() -> Path:
    (found,) = data_dir().glob("index*.db")
    return found


def test_a_missing_or_damaged_index_is_built_again(shelf: Shelf, ask: Ask) -> None:
    add_session(shelf)
    assert "aaaaaaaa" in extract_quote(ask("search_sessions", query="hello"))
    index = find_index()
    for suffix in ("", "-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    assert "aaaaaaaa" in extract_quote(ask("search_sessions", query="hello"))
    for suffix in ("-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    index.write_bytes(b"no database" * 1000)
    assert "aaaaaaaa" in extract_quote(ask("search_sessions", query="hello"))


def test_what_another_program_has_not_indexed_yet_is_reported_as_missing(shelf: Shelf, library: SessionLibrary) -> None:
    add_session(shelf)
    call_tool(library, "search_sessions", {"query": "hello"})
    add_session(shelf, "bbbbbbbb-1111-4111-8111-111111111111", "hello again")
    with try_lock_file(find_index().with_suffix(".lock")) as is_ours:
        assert is_ours
        answer = call_tool(library, "search_sessions", {"query": "hello"}).text
    assert "Another program is updating the index" in answer
    assert "aaaaaaaa" in extract_quote(answer)
    assert "bbbbbbbb" in extract_quote(call_tool(library, "search_sessions", {"query": "hello"}).text)


def test_an_update_that_takes_long_continues_in_the_background(shelf: Shelf) -> None:
    for number in range(300):
        add_session(shelf, f"{number:08d}-1111-4111-8111-111111111111")
    upkeep = BackgroundIndexing(load_config(), max_wait_seconds=0)
    deadline = time.monotonic() + LIMIT_SECONDS
    while remark := upkeep.update_index():
        assert remark.startswith("The index is being built (")
        assert time.monotonic() < deadline
    assert find_index().is_file()


def test_new_messages_of_a_session_are_found_at_once(shelf: Shelf, ask: Ask) -> None:
    add_session(shelf)
    assert "Nothing found." in ask("search_sessions", query="zucchini")
    build = Build()
    build.prompt("hello")
    build.answer("zucchini")
    shelf.add(OWN, build)
    assert "zucchini" in extract_quote(ask("search_sessions", query="zucchini"))
    assert "zucchini" in extract_quote(ask("get_turns", session="last"))


@pytest.fixture
def large_changes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every change is a large one; no process reads the rest by itself, nor when the test ends."""
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", 0)
    yield
    assert stop_filler(find_index())


def test_of_large_changes_the_rest_is_read_by_a_background_process(
    shelf: Shelf, ask: Ask, library: SessionLibrary, large_changes: None
) -> None:
    build = Build()
    build.prompt("find the teapot")
    build.call("call9", "Write", {"file_path": "/kettle.py", "content": "samovar"})
    build.result("call9", "done")
    build.answer("found")
    shelf.add(OWN, build)
    stop_indexing(load_config())
    first = ask("search_sessions", query="teapot")
    assert "aaaaaaaa" in extract_quote(first)
    assert "Calls, results and thinking are indexed to 0 %, newest first" in first
    for query in ("tool:Write", "teapot tool:Write"):
        answer = ask("search_sessions", query=query)
        assert answer.startswith("Nothing found.")
        assert "indexed to 0 %" in answer
    assert "indexed to 0 %" in ask("get_files_touched")
    assert "indexed to 0 %" in call_tool(library, "get_file_version", {"file": "/kettle.py"}).text
    update_index(config=load_config())
    deadline = time.monotonic() + LIMIT_SECONDS
    while "indexed to" in (answer := ask("search_sessions", query="tool:Write samovar")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "aaaaaaaa" in extract_quote(answer)
    assert ask("search_sessions", query="tool:Wrote") == "Nothing found."
