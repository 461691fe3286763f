"""What tools answer while the index is missing, damaged, locked or being built."""

from __future__ import annotations

import time
from pathlib import Path

from tests.mcp.conftest import LIMIT_SECONDS, OWN, Ask, Shelf, quoted
from tests.session.build import Build
from turnlog.api.config import data_dir, load_config
from turnlog.mcp.index_upkeep import BackgroundIndexing
from turnlog.mcp.library import SessionLibrary
from turnlog.mcp.toolbox import call_tool
from turnlog.store.file_lock import try_lock_file


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
    assert "aaaaaaaa" in quoted(ask("search_sessions", query="hello"))
    index = find_index()
    for suffix in ("", "-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    assert "aaaaaaaa" in quoted(ask("search_sessions", query="hello"))
    for suffix in ("-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    index.write_bytes(b"no database" * 1000)
    assert "aaaaaaaa" in quoted(ask("search_sessions", query="hello"))


def test_what_another_program_has_not_indexed_yet_is_reported_as_missing(shelf: Shelf, library: SessionLibrary) -> None:
    add_session(shelf)
    call_tool(library, "search_sessions", {"query": "hello"})
    add_session(shelf, "bbbbbbbb-1111-4111-8111-111111111111", "hello again")
    with try_lock_file(find_index().with_suffix(".lock")) as is_ours:
        assert is_ours
        answer = call_tool(library, "search_sessions", {"query": "hello"}).text
    assert "Another program is updating the index" in answer
    assert "aaaaaaaa" in quoted(answer)
    assert "bbbbbbbb" in quoted(call_tool(library, "search_sessions", {"query": "hello"}).text)


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
    assert "zucchini" in quoted(ask("search_sessions", query="zucchini"))
    assert "zucchini" in quoted(ask("get_turns", session="last"))
