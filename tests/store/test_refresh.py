"""A refresh reads what is new, says what it did, and keeps what is known of files that are gone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.session.build import Build
from tests.store.index_build import ODD, ONE, SLUG, TWO, Desk, build_prompts, content, main, recount_spend
from turnlog.store.index import refresh_work
from turnlog.store.index.full_text_pieces import FULL_TEXT_TABLES, MAX_PIECES, set_piece_merging
from turnlog.store.store import Store


def same_as_new(desk: Desk, folder: Path) -> bool:
    """Whether the index is what a new one would be, and what it counts is what its answers say."""
    with desk.open() as store:
        found = content(store.db)
        assert found.spend == recount_spend(store.db)
    return found.there == desk.scratch(folder / "scratch").there


def matches(store: Store, words: str) -> int:
    return sum(
        store.db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (words,)).get
        for table in ("said", "done")
    )


def test_a_refresh_says_what_it_did(desk: Desk) -> None:
    desk.write(main(), one := build_prompts("one"))
    desk.write(main(TWO), two := build_prompts("two"))
    desk.settle()
    heard: list[tuple[int, int]] = []
    done = desk.refresh(lambda now, total: heard.append((now, total)))
    assert (done.files, done.bytes, done.known, done.left, done.is_busy, done.unread) == (
        2,
        len(one + two),
        2,
        0,
        False,
        (),
    )
    assert heard[-1] == (len(one + two), len(one + two))
    done = desk.refresh()
    assert (done.files, done.bytes, done.known) == (0, 0, 2)


def test_only_what_was_added_is_read(desk: Desk) -> None:
    desk.write(main(), build_prompts("one"))
    desk.settle()
    desk.refresh()
    desk.append(main(), more := build_prompts("two"))
    assert desk.refresh().bytes == len(more)
    with desk.open() as store:
        assert (matches(store, "one"), matches(store, "two")) == (1, 1)


def test_a_torn_line_waits_for_its_rest(desk: Desk) -> None:
    line = build_prompts("patience")
    desk.write(main(), line[:-20])
    desk.refresh()
    with desk.open() as store:
        assert matches(store, "patience") == 0
        assert store.db.execute("SELECT entries, broken FROM file").get == (0, 0)
    desk.append(main(), line[-20:])
    desk.refresh()
    with desk.open() as store:
        assert matches(store, "patience") == 1


def test_a_last_line_without_line_end_is_taken_if_it_is_whole(desk: Desk) -> None:
    desk.write(main(), build_prompts("whole").rstrip(b"\n"))
    desk.refresh()
    with desk.open() as store:
        assert matches(store, "whole") == 1
    desk.append(main(), b"\n" + build_prompts("next"))
    desk.refresh()
    with desk.open() as store:
        assert (matches(store, "whole"), matches(store, "next")) == (1, 1)
        assert store.db.execute("SELECT entries, broken FROM file").get == (2, 0)


def test_what_is_known_of_a_deleted_session_stays(desk: Desk) -> None:
    build = Build()
    build.prompt("remember")
    build.answer("indeed", usage={"input_tokens": 3, "output_tokens": 4})
    desk.write(main(), build.data())
    desk.refresh()
    before = desk.content()
    (desk.config / main()).unlink()
    desk.refresh()
    after = desk.content()
    assert after.gone == before.there
    assert after.spend == before.spend
    with desk.open() as store:
        assert matches(store, "remember") == 1


def build_answered_session(**fields: object) -> bytes:
    build = Build()
    build.prompt("hello")
    build.answer("there", usage={"input_tokens": 3, "output_tokens": 4}, **fields)  # type: ignore[arg-type]
    return build.data()


@pytest.mark.parametrize("now", [b"", build_prompts("no answer")], ids=["emptied", "without answers"])
def test_what_a_replaced_file_had_used_is_no_longer_counted(desk: Desk, tmp_path: Path, now: bytes) -> None:
    desk.write(main(), build_answered_session())
    desk.refresh()
    desk.write(main(), now)
    desk.refresh()
    assert same_as_new(desk, tmp_path)


def test_terms_that_one_line_of_an_answer_states_are_kept(desk: Desk, tmp_path: Path) -> None:
    desk.write(main(), ODD[9])
    desk.refresh()
    desk.append(main(), ODD[10])
    desk.refresh()
    assert same_as_new(desk, tmp_path)


def test_a_loose_agent_belongs_to_the_session_that_its_entries_name_by_now(desk: Desk, tmp_path: Path) -> None:
    path = f"projects/{SLUG}/agent-x.jsonl"
    desk.write(path, b"")
    desk.refresh()
    desk.append(path, build_answered_session())
    desk.refresh()
    assert same_as_new(desk, tmp_path)


def test_an_output_that_grows_is_one_text(desk: Desk, tmp_path: Path) -> None:
    path = f"projects/{SLUG}/{ONE}/tool-results/a.txt"
    desk.write(path, b"some unforg")
    desk.refresh()
    desk.append(path, b"ettable words\n")
    desk.refresh()
    assert same_as_new(desk, tmp_path)
    with desk.open() as store:
        assert matches(store, "unforgettable") == 1


def test_an_output_that_did_not_change_is_not_added_again(desk: Desk, tmp_path: Path) -> None:
    desk.write(f"projects/{SLUG}/{ONE}/tool-results/a.txt", b"words\n")
    desk.refresh()
    desk.refresh()
    assert same_as_new(desk, tmp_path)


@pytest.mark.parametrize("more", ODD)
def test_what_is_glued_to_a_line_that_had_no_end_is_read_as_on_one_line(
    desk: Desk, tmp_path: Path, more: bytes
) -> None:
    desk.write(main(), build_prompts("begun").rstrip(b"\n"))
    desk.refresh()
    desk.append(main(), more)
    desk.refresh()
    assert same_as_new(desk, tmp_path)


def test_a_copy_that_says_later_that_it_is_a_fork_pays_no_more(desk: Desk, tmp_path: Path) -> None:
    desk.write(main(), build_answered_session(id="same"))
    desk.write(main(TWO), build_answered_session(id="same"))
    desk.refresh()
    desk.append(main(), json.dumps({"type": "user", "forkedFrom": {"sessionId": TWO}}).encode() + b"\n")
    desk.refresh()
    assert same_as_new(desk, tmp_path)


def test_a_call_id_that_two_tools_share_is_that_of_the_first(desk: Desk, tmp_path: Path) -> None:
    build = Build()
    build.call("c1", "Bash")
    desk.write(main(), build.data())
    desk.refresh()
    build.call("c1", "Read")
    build.result("c1", "given")
    desk.write(main(), build.data())
    desk.refresh()
    assert same_as_new(desk, tmp_path)


DENSE = {
    "lines": b'{"cwd":"a","":"b"}\n{"cwd":"c","":"d"}\n' * 3000,
    "blocks": b'{"type":"user","message":{"content":[' + b",".join([b'{"":"a"}'] * 6000) + b"]}}\n",
}


@pytest.mark.parametrize("dense", DENSE)
def test_texts_may_be_as_short_as_they_like(desk: Desk, tmp_path: Path, dense: str) -> None:
    desk.write(main(), DENSE[dense])
    desk.settle()
    desk.refresh()
    for number in range(3):
        desk.write(main(f"{number:08d}-0000-4000-8000-000000000001"), build_prompts("later"))
        desk.refresh()
    assert same_as_new(desk, tmp_path)


SURROGATE = {
    "title": r'{"type":"custom-title","customTitle":"a \ud800 b"}',
    "prompt": r'{"type":"user","message":{"content":"a \ud800 b"}}',
    "folder": r'{"type":"user","cwd":"/x\ud800","gitBranch":"\ud800","message":{"content":"a"}}',
    "uuid": r'{"type":"user","uuid":"x\ud800","version":"\ud800","message":{"content":"a"}}',
    "path": r'{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"file_path":"/\ud800"}}]}}',
    "call": r'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"\ud800","name":"\ud800"}]}}',
    "model": r'{"type":"assistant","message":{"id":"\ud800","model":"m\ud800","content":[],"usage":{}}}',
    "time": r'{"type":"assistant","timestamp":"2026-\ud800","message":{"id":"a","content":[],"usage":{}}}',
    "fork": r'{"type":"user","forkedFrom":{"sessionId":"\ud800"},"message":{"content":"a"}}',
    "speed": r'{"type":"assistant","message":{"id":"a","content":[],"usage":{"speed":"\ud800"}}}',
    "key": r'{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"\ud800":{}}}}',
}


@pytest.mark.parametrize("place", SURROGATE)
def test_half_a_character_does_no_harm_anywhere(desk: Desk, tmp_path: Path, place: str) -> None:
    desk.write(main(), SURROGATE[place].encode() + b"\n" + build_prompts("behind it"))
    assert desk.refresh().unread == ()
    with desk.open() as store:
        assert matches(store, "behind") == 1
    assert same_as_new(desk, tmp_path)


HUGE = {
    "numbers": b'{"type":"assistant","message":{"id":"m","usage":{"input_tokens":1e400,"output_tokens":-5}}}\n',
    "long numbers": b'{"type":"assistant","message":{"id":"m","usage":{"output_tokens":' + b"9" * 400 + b"}}}\n",
    "times": b'{"type":"user","timestamp":"9999-12-31T23:59:59.999Z","message":{"content":"a"}}\n',
    "old times": b'{"type":"user","timestamp":"0001-01-01T00:00:00.000Z","message":{"content":"a"}}\n',
    "depth": b'{"type":"hm","x":' + b"[" * 5000 + b'"a"' + b"]" * 5000 + b"}\n",
    "zeros": b'{"type":"custom-title","customTitle":"a\\u0000b"}\n',
}


@pytest.mark.parametrize("what", HUGE)
def test_values_without_measure_do_no_harm(desk: Desk, tmp_path: Path, what: str) -> None:
    desk.write(main(), HUGE[what] + build_prompts("behind it"))
    assert desk.refresh().unread == ()
    with desk.open() as store:
        assert matches(store, "behind") == 1
    assert same_as_new(desk, tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_a_linked_session_is_read(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.jsonl").write_bytes(build_prompts("linked"))
    (desk.config / "projects" / SLUG).mkdir()
    (desk.config / main()).symlink_to(tmp_path / "elsewhere.jsonl")
    desk.refresh()
    with desk.open() as store:
        assert matches(store, "linked") == 1


def test_a_file_that_was_shown_before_the_last_refresh_is_not_indexed_again(desk: Desk, tmp_path: Path) -> None:
    build = Build()
    text = "line with oneword\n"
    build.call("c1", "Read", {"file_path": "/a"})
    read = {"filePath": "/a", "content": text, "startLine": 1, "numLines": 2, "totalLines": 2}
    build.result("c1", f"1\t{text}", toolUseResult={"type": "text", "file": read})
    desk.write(main(), start := build.data())
    desk.settle()
    desk.refresh()
    build.call("c2", "Edit", {"file_path": "/a", "old_string": "with", "new_string": "without"})
    edited = {"filePath": "/a", "oldString": "with", "newString": "without", "originalFile": text}
    build.result("c2", "The file has been updated.", toolUseResult=edited)
    desk.append(main(), build.data()[len(start) :])
    desk.refresh()
    with desk.open() as store:
        assert matches(store, "oneword") == 1
    assert same_as_new(desk, tmp_path)


def test_the_parts_of_identifiers_are_written_once(desk: Desk) -> None:
    desk.write(main(), build_prompts("getUserName toolu_01cDtnieWwVj6wNMPTJMKQ8Z"))
    desk.refresh()
    with desk.open() as store:
        assert store.db.execute("SELECT name FROM identifier").fetchall() == [("getUserName",)]
        store.db.execute("INSERT INTO hump (hump) VALUES ('delete-all')")
    desk.append(main(), build_prompts("getUserName setItem"))
    desk.refresh()
    with desk.open() as store:
        query = "SELECT name FROM identifier WHERE id IN (SELECT rowid FROM hump WHERE hump MATCH 'get OR set')"
        assert store.db.execute(query).fetchall() == [("setItem",)]


def test_pieces_are_merged_again_after_a_build_that_was_killed(desk: Desk) -> None:
    desk.write(main(), build_prompts("one"))
    desk.refresh()
    with desk.open() as store:
        set_piece_merging(store.db, is_on=False)
    desk.append(main(), build_prompts("two"))
    desk.refresh()
    with desk.open() as store:
        for table in FULL_TEXT_TABLES:
            assert store.db.execute(f"SELECT v FROM {table}_config WHERE k = 'automerge'").get == MAX_PIECES


def test_many_steps_leave_what_was_said_in_one_piece(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh_work, "MAX_STEP_BYTES", 100)
    names = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(12)]
    for name in names:
        desk.write(main(name), build_prompts(f"word{name[:8]}"))
    desk.refresh()
    with desk.open() as store:
        pieces = "SELECT count(DISTINCT segid) FROM {}_idx"
        assert store.db.execute(pieces.format("done")).get > store.db.execute(pieces.format("said")).get == 1
        assert all(matches(store, f"word{name[:8]}") == 1 for name in names)
