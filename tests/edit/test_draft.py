"""Drafts: values that edits take and give, byte for byte where nothing changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import DATA, Build
from turnlog.edit.draft import Draft
from turnlog.entries.patch import REMOVE_KEY
from turnlog.entries.reader import Transcript

FILES = sorted(path for path in DATA.rglob("*.jsonl") if "oracle" not in path.name)


def draft_of(build: Build) -> Draft:
    return Draft.from_transcript(build.session().file)


def rows(draft: Draft) -> list[dict[str, Any]]:
    return [json.loads(line) for line in draft.iterate_lines()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(DATA).as_posix())
def test_a_draft_without_edits_is_the_file(path: Path) -> None:
    file = Transcript.open(path)
    written, source = b"".join(Draft.from_transcript(file).iterate_lines()), path.read_bytes()
    file.close()
    assert written == source or written == source + b"\n"


@given(st.data())
def test_a_draft_without_edits_is_any_file(data: st.DataObject) -> None:
    pieces = st.sampled_from([b'{"type":"user"}', b"\n", b"\r\n", b"garbage", b'{"a":', b"\xff", b" ", b"\0\0", b"[1]"])
    raw = b"".join(data.draw(st.lists(pieces, max_size=12)))
    written = b"".join(Draft.from_transcript(Transcript.from_bytes(raw)).iterate_lines())
    assert written in (raw, raw + b"\n")


@given(st.data())
def test_the_bytes_of_any_draft_are_counted_as_they_are_written(data: st.DataObject) -> None:
    pieces = st.sampled_from(
        [b'{"type":"user","uuid":"a"}', b"\n", b"\n", b"\r\n", b"garbage", b'{"a":', b"\xff", b" "]
    )
    draft = Draft.from_transcript(Transcript.from_bytes(b"".join(data.draw(st.lists(pieces, max_size=12)))))
    places = st.sets(st.integers(0, len(draft.rows) - 1)) if draft.rows else st.just(set[int]())
    changed, removed = data.draw(places), data.draw(places)
    draft = draft.with_changes({at: {"cwd": "/new"} for at in changed if draft.rows[at].entry})
    draft = draft.without_rows(removed).with_added_lines({"type": "user"})
    assert draft.count_bytes() == sum(map(len, draft.iterate_lines()))


def test_references_in_a_line_with_unreadable_bytes_are_followed() -> None:
    raw = b"".join(
        b'{"type":"%s","uuid":"%s","parentUuid":null%s}\n' % row
        for row in (
            (b"user", b"a", b""),
            (b"user", b"b", b',"logicalParentUuid":"a","toolUseResult":"\xff"'),
            (b"user", b"c", b',"sourceToolAssistantUUID":"a","snapshot":{"messageId":"\\ud800"}'),
        )
    )
    b, c = Draft.from_transcript(Transcript.from_bytes(raw)).without_rows({0}).rows
    assert b.changed == {"logicalParentUuid": None}
    assert c.changed == {"sourceToolAssistantUUID": REMOVE_KEY}


def test_changes_are_seen_by_later_edits_and_in_what_is_written() -> None:
    build = Build()
    build.prompt("one", uuid="p")
    draft = draft_of(build).with_changes({0: {"cwd": "/new", "version": REMOVE_KEY}})
    again = draft.with_changes({0: {"note": 1}})
    assert again.get_value(again.rows[0], "cwd") == "/new"
    assert again.get_value(again.rows[0], "version") is None
    assert (again.get_uuid(again.rows[0]), again.get_value(again.rows[0], "uuid")) == ("p", "p")
    assert again.get_body(again.rows[0])["note"] == 1
    assert "version" not in again.get_body(again.rows[0])
    assert rows(again)[0] == again.get_body(again.rows[0])
    assert draft.get_value(draft.rows[0], "note") is None


def test_a_child_of_a_row_that_goes_hangs_on_its_own_ancestor_not_on_the_line_before() -> None:
    build = Build()
    build.prompt("one", uuid="p")
    build.answer("old", uuid="old")
    build.answer("other branch", uuid="other", parent="p")
    build.prompt("below old", uuid="child", parent="old")
    draft = draft_of(build)
    left = rows(draft.without_rows({1}))
    assert [(row["uuid"], row["parentUuid"]) for row in left] == [("p", None), ("other", "p"), ("child", "p")]


def test_references_to_rows_that_go_are_followed_and_those_to_nothing_go() -> None:
    build = Build()
    build.prompt("one", uuid="p")
    build.answer("two", uuid="a")
    build.note("last-prompt", lastPrompt="one", leafUuid="a")
    build.note("file-history-snapshot", messageId="a", snapshot={"messageId": "p", "trackedFileBackups": {}})
    draft = draft_of(build)
    left = rows(draft.without_rows({1}))
    assert [row.get("leafUuid") for row in left] == [None, "p", None]
    assert left[2]["messageId"] == "p"
    nothing = rows(draft.without_rows({0, 1}))
    assert "leafUuid" not in nothing[0]
    assert nothing[1]["snapshot"]["messageId"] is None


def test_a_uuid_that_is_written_twice_is_still_there_when_one_of_the_two_goes() -> None:
    build = Build()
    build.prompt("one", uuid="p")
    build.prompt("one again", uuid="p", parent=None)
    build.answer("two", uuid="a")
    assert rows(draft_of(build).without_rows({0}))[1]["parentUuid"] == "p"


def test_a_ring_of_rows_that_go_leaves_a_root() -> None:
    build = Build()
    build.prompt("one", uuid="p", parent="q")
    build.prompt("two", uuid="q", parent="p")
    build.answer("three", uuid="a")
    assert rows(draft_of(build).without_rows({0, 1}))[0]["parentUuid"] is None


@pytest.mark.parametrize("form", ["messages", "segment"])
def test_what_a_compaction_preserved_is_still_preserved_when_one_of_it_goes(form: str) -> None:
    build = Build()
    for uuid in "abc":
        build.prompt(uuid, uuid=uuid)
    facts: dict[str, Any] = {"trigger": "manual"}
    facts["preservedSegment"] = {"headUuid": "a", "anchorUuid": "s", "tailUuid": "c"}
    if form == "messages":
        facts["preservedMessages"] = {"anchorUuid": "s", "uuids": ["a", "b", "c"], "allUuids": ["a", "b", "c"]}
    build.row("system", "boundary", parent=None, subtype="compact_boundary", compactMetadata=facts)
    build.prompt("summary", uuid="s", isCompactSummary=True)
    left = rows(draft_of(build).without_rows({1}))
    kept = left[2]["compactMetadata"]
    assert kept["preservedMessages"]["uuids"] == ["a", "c"]
    assert kept["preservedMessages"]["anchorUuid"] == "s"
    assert "preservedSegment" not in kept
    assert kept["trigger"] == "manual"


def test_what_a_compaction_preserved_stays_as_it_is_when_others_go() -> None:
    build = Build()
    build.prompt("gone", uuid="g")
    build.prompt("kept", uuid="k")
    segment = {"headUuid": "k", "anchorUuid": "s", "tailUuid": "k"}
    build.row("system", "b", parent=None, subtype="compact_boundary", compactMetadata={"preservedSegment": segment})
    loose = {"headUuid": "x", "anchorUuid": "s", "tailUuid": "k"}
    build.row("system", "c", parent=None, subtype="compact_boundary", compactMetadata={"preservedSegment": loose})
    left = rows(draft_of(build).without_rows({0}))
    assert left[1]["compactMetadata"] == {"preservedSegment": segment}
    assert left[2]["compactMetadata"] == {"preservedSegment": loose}


def test_lines_that_were_glued_stand_alone_when_what_was_behind_goes() -> None:
    raw = b'{"type":"user","uuid":"a"}{"type":"user","uuid":"b"}\n{"type":"user","uuid":"c"}'
    draft = Draft.from_transcript(Transcript.from_bytes(raw))
    assert (
        b"".join(draft.without_rows({1}).iterate_lines()) == b'{"type":"user","uuid":"a"}\n{"type":"user","uuid":"c"}\n'
    )


def test_made_up_lines_come_last_and_are_read_like_others() -> None:
    build = Build()
    build.prompt("one", uuid="p")
    draft = draft_of(build).with_added_lines({"type": "user", "uuid": "new", "parentUuid": "p", "gone": REMOVE_KEY})
    assert draft.get_parent_uuid(draft.rows[-1]) == "p"
    assert draft.to_transcript().by_uuid == {"p": 0, "new": 1}
    assert rows(draft)[-1] == {"type": "user", "uuid": "new", "parentUuid": "p"}
    assert draft.map_entry_places() == {0: 0}


def test_a_scrap_has_no_values() -> None:
    draft = Draft.from_transcript(Transcript.from_bytes(b"garbage\n"))
    assert draft.get_value(draft.rows[0], "uuid") is None
    assert draft.get_body(draft.rows[0]) == {}
    assert draft.without_rows(()) is draft


def test_a_flawed_row_is_read_whole_for_its_values() -> None:
    flawed = Draft.from_transcript(Transcript.from_bytes(b'{"type":"user","uuid":5,"parentUuid":"\xff"}\n'))
    assert flawed.get_uuid(flawed.rows[0]) is None
    assert flawed.get_parent_uuid(flawed.rows[0]) == "�"
