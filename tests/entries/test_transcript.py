"""A transcript: the entries of a file, found by uuid, growing with the file."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given

from tests.entries.strategies import BOM, assert_grows, assert_tiles, chunks, cuts, files, first_of, state
from turnlog.entries.entry import MISSING_PARENT, NO_PARENT, BlockHead
from turnlog.entries.reader import BytesSource, Transcript

ROW = b'{"parentUuid":null,"type":"user","uuid":"%s","sessionId":"s"}'
EMPTY_IDS = (ROW % b"" + b"\n") * 2 + b'{"type":"user"}'


@given(data=files, places=cuts)
@example(data=BOM + ROW % b"a" + b"\n", places=[1, 2, 3, 4])
@example(data=ROW % b"" + b"x\n", places=[len(ROW) - 2])
@example(data=EMPTY_IDS, places=[len(EMPTY_IDS)])
@example(data=ROW % b"a" + b"\n" + ROW % b"a" + ROW % b"a" + b"\n", places=[2 * len(ROW), 3 * len(ROW) - 6])
def test_any_split_into_appended_chunks_gives_the_same_as_reading_whole(data: bytes, places: list[int]) -> None:
    assert_grows(data, places)


@given(data=files, places=cuts)
def test_a_file_on_disk_may_grow_while_its_bodies_are_read(data: bytes, places: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.touch()
        file = Transcript.open(path)
        for chunk in chunks(data, places):
            with path.open("ab") as appended:
                appended.write(chunk)
            assert file.grow() is bool(chunk)
            for item in file.items:
                assert data[item.offset : item.end] == file.read_raw(item)
        assert state(file) == state(Transcript.from_bytes(data))
        file.close()


@given(data=files)
def test_the_items_of_a_file_tile_it_and_their_bytes_can_be_had_again(data: bytes) -> None:
    file = Transcript.from_bytes(data)
    assert_tiles(file.items, len(data))
    for item in file.items:
        assert file.read_raw(item) == data[item.offset : item.end]


def test_a_half_written_line_waits_for_its_other_half() -> None:
    line = ROW % b"b" + b"\n"
    source = BytesSource(ROW % b"a" + b"\n" + line[:20])
    file = Transcript(source)
    assert [(len(file.entries), scrap.kind) for scrap in file.scraps] == [(1, "torn")]
    source.data += line[20:]
    assert file.grow()
    assert ([entry.uuid for entry in file.entries], file.scraps) == (["a", "b"], [])
    assert not file.grow()


def test_an_entry_that_turns_out_to_be_unfinished_is_taken_back() -> None:
    source = BytesSource(ROW % b"a")
    file = Transcript(source)
    assert file.by_uuid == {"a": 0}
    source.data = b'{"x":' + source.data + b',"y'  # as if the line had begun otherwise
    file.grow()
    assert (file.by_uuid, file.entries, [scrap.kind for scrap in file.scraps]) == ({}, [], ["torn"])


def test_a_uuid_is_found_where_it_stands_first_and_its_other_places_are_listed() -> None:
    file = Transcript.from_bytes(b"\n".join(ROW % name for name in (b"a", b"b", b"a", b"a")))
    assert (file.by_uuid, file.repeated) == ({"a": 0, "b": 1}, {"a": [2, 3]})


def test_further_places_of_a_uuid_on_an_unfinished_line_are_taken_back() -> None:
    source = BytesSource(ROW % b"a" + b"\n" + ROW % b"a" + b" " + ROW % b"a")
    file = Transcript(source)
    assert file.repeated == {"a": [1, 2]}
    source.data = source.data[: len(ROW) - 1] + b"\n" + b"{"
    file.complete = len(ROW)
    file.grow()
    assert (file.by_uuid, file.repeated) == ({"a": 0}, {})


def test_equal_strings_are_kept_once() -> None:
    line = (
        b'{"type":"assistant","uuid":"%s","parentUuid":%s,"sessionId":"s-1","cwd":"/a/b","version":"2.1.0",'
        b'"gitBranch":"main","message":{"model":"opus-4"}}\n'
    )
    one, two = Transcript.from_bytes(line % (b"first", b"null") + line % (b"second", b'"first"')).entries
    for name in ("type", "session_id", "cwd", "version", "git_branch"):
        assert getattr(one, name) is getattr(two, name)
    assert one.message is not None
    assert two.message is not None
    assert one.message.model is two.message.model


LINK = b'{"type":"user","uuid":"%s","parentUuid":"%s"}\n'


def parents(data: bytes) -> list[int]:
    return [entry.parent for entry in Transcript.from_bytes(data).entries]


def test_parents_are_known_by_place_wherever_they_stand() -> None:
    assert parents(LINK % (b"a", b"") + LINK % (b"b", b"a") + LINK % (b"c", b"a")) == [NO_PARENT, 0, 0]
    assert parents(LINK % (b"a", b"b") + LINK % (b"b", b"b") + LINK % (b"c", b"gone")) == [1, 1, MISSING_PARENT]
    assert parents(LINK % (b"a", b"") + LINK % (b"a", b"a") + b'{"parentUuid":"a"}\n') == [NO_PARENT, 0, 0]
    assert parents(LINK % (b"", b"") * 2) == [NO_PARENT, NO_PARENT]


def test_parents_of_salvaged_entries_are_known_too() -> None:
    glued = LINK % (b"b", b"a") + (LINK % (b"c", b"b")).replace(b"\n", b"") + LINK % (b"d", b"c")
    assert parents(LINK % (b"a", b"") + glued) == [NO_PARENT, 0, 1, 2]


def test_a_parent_may_be_written_later_and_may_turn_out_to_be_unfinished() -> None:
    file = Transcript.from_bytes(LINK % (b"a", b"b"))
    assert isinstance(file.source, BytesSource)
    assert (file.entries[0].parent, file.is_in_order) == (MISSING_PARENT, True)
    file.source.data += ROW % b"b"
    file.grow()
    assert (file.entries[0].parent, file.is_in_order) == (1, False)
    file.source.data = LINK % (b"a", b"b") + ROW % b"c" + b"\n"
    file.grow()
    assert file.entries[0].parent == MISSING_PARENT


def test_a_file_cannot_say_what_only_the_reader_knows() -> None:
    line = b'{"@offset":5,"@size":5,"@index":5,"@parent":5,"@flaw":"behind","@kind":"x"}\n'
    entry = Transcript.from_bytes(line).entries[0]
    assert (entry.offset, entry.size, entry.index, entry.parent) == (0, len(line), 0, NO_PARENT)
    assert (entry.flaw, entry.kind) == (None, None)


def test_what_the_lines_of_one_message_repeat_is_kept_once() -> None:
    line = b'{"type":"assistant","message":{"id":"m%d","usage":{"output_tokens":%d}}}\n'
    file = Transcript.from_bytes(line % (1, 5) + line % (1, 5) + line % (1, 6) + line % (2, 6))
    heads = [entry.message for entry in file.entries if entry.message]
    assert [head.usage and head.usage.output_tokens for head in heads] == [5, 5, 6, 6]
    assert [head.id for head in heads] == ["m1", "m1", "m1", "m2"]
    assert heads[0].usage is heads[1].usage
    assert heads[0].id is heads[2].id


@pytest.mark.parametrize("name", ["attachment", "data"])
def test_the_kind_of_an_attachment_or_a_progress_report_is_told(name: str) -> None:
    file = Transcript.from_bytes(b'{"type":"x","%s":{"type":"hook_progress","command":"ls"}}\n' % name.encode())
    entry = first_of(file, "x")
    assert (entry.kind, entry.attachment, entry.data) == ("hook_progress", None, None)
    assert file.read_body(entry)[name]["command"] == "ls"


def test_an_attachment_without_a_type_has_no_kind() -> None:
    entry = first_of(Transcript.from_bytes(b'{"type":"x","attachment":{}}\n'), "x")
    assert (entry.kind, entry.attachment) == (None, None)


def test_content_and_blocks_without_names_are_kept() -> None:
    file = Transcript.from_bytes(
        b'{"message":{"content":"x"}}\n{"message":{"content":[{"type":"text"}]}}\n{"message":{}}\n'
    )
    assert [entry.message and entry.message.content for entry in file.entries] == ["x", [BlockHead("text")], None]


@pytest.mark.parametrize("enabled", [True, False])
def test_reading_leaves_the_garbage_collector_as_it_was(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        Transcript.from_bytes(ROW % b"a")
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_what_a_program_has_frozen_for_the_collector_stays_frozen() -> None:
    gc.freeze()
    try:
        Transcript.from_bytes(ROW % b"a")
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
