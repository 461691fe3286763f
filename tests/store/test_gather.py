"""What a piece of a file adds to the index: texts, calls, answers, names; and how files are heaped into steps."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.session.build import Build
from tests.store.index_build import ONE, SLUG, Desk, build_prompts, main
from turnlog.entries.tail import Checkpoint
from turnlog.session.texts.outline import TranscriptOutline
from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.index import batch_reader, refresh_work
from turnlog.store.index.batch_reader import IndexBatch, ReadTask, read_batches
from turnlog.store.index.batch_writer import count_cut_texts
from turnlog.store.index.file_changes import ChangedFile
from turnlog.store.index.name_numbers import NameNumbers, NameRow
from turnlog.store.index.refresh_work import plan_refresh_steps
from turnlog.store.index.upkeep import empty_index


def task(path: Path, kind: str = "session", **fields: Any) -> ReadTask:
    given: dict[str, Any] = {
        "checkpoint": Checkpoint(),
        "outline": TranscriptOutline(),
        "calls": {},
        "files": set(),
    } | fields
    return ReadTask(file=1, path=str(path), kind=kind, session=2, project=3, **given)


def batch(path: Path, kind: str = "session") -> IndexBatch:
    (found,) = read_batches(task(path, kind), NameNumbers([]), itertools.count(1))
    return found


def put(folder: Path, build: Build) -> Path:
    return build.write(folder)


def test_texts_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    build = Build()
    build.prompt("one")
    build.answer("two", {"type": "thinking", "thinking": "three"})
    found = batch(put(tmp_path, build))
    kinds = [list(TEXT_KINDS)[kind] for _, _, _, kind, _ in found.places]
    assert kinds == ["prompt", "other", "answer", "thinking"]
    assert [number for number, *_ in found.places] == [1, 2, 3, 4]
    assert {number: words for number, words, *_ in found.said} == {1: "one", 3: "two"}
    assert {number for number, *_ in found.done} == {2, 4}
    assert found.size == found.checkpoint.offset == len(build.data())


def test_a_call_is_noted_with_its_result(tmp_path: Path) -> None:
    build = Build()
    build.call("c1", "Read", {"file_path": "/a"})
    build.result("c1", "content", error=True)
    build.result("c1", "again")
    build.result("c2", "of no call")
    found = batch(put(tmp_path, build))
    call = found.calls["c1"]
    assert (call.tool, call.failed, call.got, call.path) == (found.names[-1].id, True, len("content"), "/a")
    assert (call.started, call.ended) == (build.lines[0]["timestamp"], build.lines[1]["timestamp"])
    assert (found.calls["c2"].tool, found.calls["c2"].got) == (None, len("of no call"))
    assert NameRow(found.names[-1].id, "tool", "Read") in found.names


def test_a_batch_can_be_sent_to_another_process(tmp_path: Path) -> None:
    build = Build()
    build.prompt("one")
    build.call("c1", "Read", {"file_path": "/a"})
    build.answer("x", usage={"output_tokens": 5})
    found = batch(put(tmp_path, build))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=IndexBatch) == found


def test_a_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Build()
    for number in range(20):
        build.prompt(f"word{number}")
    path = put(tmp_path, build)
    whole = batch(path)
    monkeypatch.setattr(batch_reader, "PIECE_BYTES", 600)
    found = list(read_batches(task(path), NameNumbers([]), itertools.count(1)))
    assert len(found) > 5
    assert [row for item in found for row in item.said] == whole.said
    assert found[-1].outline == whole.outline
    assert sum(item.size for item in found) == whole.size


def test_a_file_that_cannot_be_read_is_a_batch_that_says_so(tmp_path: Path) -> None:
    found = batch(tmp_path)
    assert found.failure is not None
    assert found.failure.startswith(f"{tmp_path}: ")


def test_a_file_that_is_gone_gives_nothing(tmp_path: Path) -> None:
    assert list(read_batches(task(tmp_path / "gone"), NameNumbers([]), itertools.count(1))) == []


def test_an_empty_file_gives_its_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    found = batch(tmp_path / "empty")
    assert (found.size, found.said, found.done, found.checkpoint.offset) == (0, [], [], 0)
    assert batch(tmp_path / "empty", "output").done == []


def test_an_output_is_one_text_of_any_bytes(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"one\ntwo \xff\nthree")
    found = list(read_batches(task(tmp_path / "out", "output"), NameNumbers([]), itertools.count(1)))
    assert "".join(words for item in found for _, words, *_ in item.done) == "one\ntwo \ufffd\nthree"


def test_names_are_numbered_once() -> None:
    names = NameNumbers([NameRow(4, "tool", "Bash")])
    assert names.get_number("tool", "Bash") == 4
    assert names.get_number("model", "Bash") == 5
    names.learn([NameRow(9, "tool", "Read")], [])
    assert (names.get_number("tool", "Read"), names.get_number("tool", "Write")) == (9, 10)
    assert names.take_new_names() == [NameRow(5, "model", "Bash"), NameRow(10, "tool", "Write")]
    assert names.take_new_names() == []


def test_identifiers_are_asked_for_once() -> None:
    names = NameNumbers([])
    assert names.select_unknown({b"getName", b"aB"}) == ["aB", "getName"]
    names.learn([], ["learnt"])
    assert names.select_unknown({b"getName", b"learnt", b"other"}) == ["other"]


def test_newer_files_are_read_first_and_have_higher_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh_work, "MAX_STEP_BYTES", 1000)
    files = [ChangedFile(number, 100 - number, 600, 600) for number in range(7)]
    found = list(plan_refresh_steps(files, 50))
    assert len(found) > 2
    order = [file for step in found for file in reversed(step.files)]
    assert order == sorted(order), "the newest first"
    bounds = [(step.first, step.end) for step in reversed(found)]
    assert bounds[0][0] == 50
    assert all(end == first for (_, end), (first, _) in itertools.pairwise(bounds))


def test_texts_that_are_cut_are_counted_as_long_as_they_are_there(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_reader, "MAX_TEXT_CHARS", 50)
    path = desk.write(main(), build_prompts("short", "long " * 20, "longer " * 20))
    desk.write(f"projects/{SLUG}/{ONE}/tool-results/a.txt", b"output " * 20)
    desk.refresh()
    with desk.open() as store:
        assert count_cut_texts(store.db) == 3
    path.write_bytes(build_prompts("other", "long " * 20))
    desk.refresh()
    with desk.open() as store:
        assert count_cut_texts(store.db) == 2
        empty_index(store.db, [desk.config])
        assert count_cut_texts(store.db) == 0
