"""What lies in turnlog's trash: not found, but counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.session.build import Build
from tests.store.findable import Findable, read, uuid
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.entry import TrashEntry
from turnlog.edit.trash.trash import Trash
from turnlog.store.search import trashed_sessions as module
from turnlog.store.search.match_expression import plan_search
from turnlog.store.search.query import parse_query
from turnlog.store.search.search import MAX_NEWEST_TEXTS, SearchOptions, SearchOutcome, search_index
from turnlog.store.search.trashed_sessions import NOTHING_TRASHED, LeftOutHits, find_trashed_sessions


@pytest.fixture
def machine(tmp_path: Path) -> Findable:
    return Findable(tmp_path)


def build_session(*words: str) -> Build:
    build = Build()
    for word in words:
        build.prompt(word)
    return build


def put_away(machine: Findable, path: Path) -> TrashEntry:
    return delete_session(path, Trash(data(machine) / "trash"), force=True)


def data(machine: Findable) -> Path:
    return machine.store.folder


def find(machine: Findable, query: str, wish: SearchOptions | None = None) -> SearchOutcome:
    db = machine.store.db
    return search_index(
        db, plan_search(db, parse_query(query)), wish or SearchOptions(), read, find_trashed_sessions(db, data(machine))
    )


def test_without_a_trash_nothing_lies_in_it(machine: Findable) -> None:
    machine.add(1, build_session("quokka"))
    machine.refresh()
    assert find_trashed_sessions(machine.store.db, data(machine)) == NOTHING_TRASHED
    assert find(machine, "quokka").left_out == LeftOutHits()


def test_texts_in_the_trash_crowd_nothing_out(machine: Findable) -> None:
    machine.add(1, build_session("an old quokka"))
    new = machine.add(2, build_session(*(f"quokka {number}" for number in range(MAX_NEWEST_TEXTS + 100))))
    machine.refresh()
    put_away(machine, new)
    found = find(machine, "quokka", SearchOptions(limit=1))
    assert (found.sessions, found.total) == (1, 1)
    assert found.groups[0].hits[0].snippet is not None
    assert found.left_out.sessions == (uuid(2),)
    assert (found.left_out.hits or 0) >= MAX_NEWEST_TEXTS + 100


def test_a_session_that_was_deleted_by_somebody_else_is_none_of_the_trash(machine: Findable) -> None:
    path = machine.add(1, build_session("quokka"))
    put_away(machine, machine.add(2, build_session("wombat")))
    machine.refresh()
    path.unlink()
    found = find(machine, "quokka")
    assert (found.sessions, found.unread, found.left_out) == (1, 1, LeftOutHits())


def test_a_session_at_its_place_is_found_whatever_lies_in_the_trash(machine: Findable) -> None:
    path = machine.add(1, build_session("quokka"))
    kept = path.read_bytes()
    machine.refresh()
    put_away(machine, path)
    path.write_bytes(kept)
    found = find(machine, "quokka")
    assert (found.sessions, found.left_out) == (1, LeftOutHits())


def test_a_session_of_the_same_id_in_another_project_is_none_of_the_trash(machine: Findable) -> None:
    put_away(machine, machine.add(1, build_session("quokka")))
    other = machine.add(1, build_session("quokka"), "-home-dana-other")
    machine.refresh()
    other.unlink()
    assert find(machine, "quokka").sessions == 1


def test_what_the_trash_has_lost_is_told_as_gone(machine: Findable) -> None:
    path = machine.add(1, build_session("quokka"))
    machine.refresh()
    shutil.rmtree(put_away(machine, path).folder)
    assert find(machine, "quokka").unread == 1


def test_a_full_trash_is_counted_in_several_steps(machine: Findable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_SESSIONS_PER_QUERY", 2)
    paths = [machine.add(number, build_session("quokka")) for number in range(5)]
    machine.refresh()
    for path in paths:
        put_away(machine, path)
    assert find(machine, "quokka kind:prompt").left_out == LeftOutHits(tuple(map(uuid, range(5))), 5)
