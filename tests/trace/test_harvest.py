"""From a session to the outbox: each span once, however the file came to be as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.session.build import DATA, SESSION, Build
from tests.trace.recorder import decode_body
from turnlog.edit.clone import clone_session
from turnlog.trace.harvest import HarvestResult, harvest_session, preview_spans
from turnlog.trace.outbox.outbox import Outbox
from turnlog.trace.session_tail import TraceProgress, read_session_tail
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wire.otlp import decompress_body

TARGET = TraceTarget("box", "http://127.0.0.1:1/v1/traces")
OVER = SessionSignals(over=True)
RECORDED = [path for path in sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl")) if path.stat().st_size]


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox.open(tmp_path / "box" / "outbox.db") as found:
        yield found


def take_spans(outbox: Outbox) -> list[dict[str, Any]]:
    """All that was put since the last time, as a backend would read it."""
    found = []
    while pending := outbox.find_due_batch(TARGET.key, 0):
        assert outbox.begin(pending)
        found += decode_body(decompress_body(pending.batch.body)).spans
        outbox.mark_sent(pending)
    return found


def talk(turns: int, **fields: Any) -> Build:
    build = Build(**fields)
    for number in range(turns):
        build.prompt(f"do {number}", f"prompt-{number}")
        build.call(f"call-{number}")
        build.result(f"call-{number}")
        build.answer(f"did {number}", id=f"end-{number}")
    return build


def list_span_names(spans: list[dict[str, Any]]) -> list[str]:
    return [span["name"] for span in spans]


def lines_of(session: Path) -> Iterator[tuple[str, Path, bytes]]:
    """The lines of a session and its sub-agents with their times."""
    for path in (session, *sorted(session.with_suffix("").rglob("*.jsonl"))):
        last = ""
        for line in path.read_bytes().splitlines(keepends=True):
            try:
                found = json.loads(line).get("timestamp")
            except (ValueError, AttributeError):
                found = None
            last = found if isinstance(found, str) else last
            yield last, path, line


@pytest.mark.parametrize(
    "session", RECORDED, ids=lambda path: f"{path.parents[3].name}-{path.parents[2].name}-{path.stem[:8]}"
)
def test_a_recorded_session_written_line_by_line_gives_what_it_gives_as_a_whole(
    session: Path, tmp_path: Path, outbox: Outbox
) -> None:
    grown = tmp_path / "grown" / session.parent.name / session.name
    for meta in session.with_suffix("").rglob("*.meta.json"):
        place = grown.parent / meta.relative_to(session.parent)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(meta, place)
    for _, path, line in sorted(lines_of(session), key=lambda item: item[0]):
        place = grown.parent / path.relative_to(session.parent)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            file.write(line)
        if place == grown or grown.exists():
            harvest_session(grown, outbox, TARGET, SessionSignals())
    harvest_session(grown, outbox, TARGET, OVER)
    pieces = take_spans(outbox)
    with Outbox.open(tmp_path / "other" / "outbox.db") as other:
        harvest_session(grown, other, TARGET, OVER)
        whole = take_spans(other)
    assert {span["span"]: span for span in pieces} == {span["span"]: span for span in whole}
    assert len(pieces) == len(whole)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_stops_between_appends_change_nothing(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("stops")
    build = talk(data.draw(st.integers(1, 5)))
    path = folder / f"{SESSION}.jsonl"
    with Outbox.open(folder / "outbox.db") as outbox:
        for line in build.lines:
            with path.open("ab") as file:
                file.write(json.dumps(line).encode() + b"\n")
            done = line["type"] == "assistant" and line["message"]["stop_reason"] == "end_turn"
            if data.draw(st.booleans()):
                harvest_session(path, outbox, TARGET, SessionSignals(at_rest=done))
        harvest_session(path, outbox, TARGET, OVER)
        pieces = take_spans(outbox)
    with Outbox.open(folder / "other.db") as other:
        harvest_session(path, other, TARGET, OVER)
        whole = take_spans(other)
    assert sorted(pieces, key=lambda span: span["span"]) == sorted(whole, key=lambda span: span["span"])


def test_what_was_put_is_not_put_again(tmp_path: Path, outbox: Outbox) -> None:
    path = write_build(tmp_path, talk(3))
    first = harvest_session(path, outbox, TARGET, OVER)
    assert first == HarvestResult(put=12, waiting=0, known=0, scraps=0)
    assert harvest_session(path, outbox, TARGET, OVER) == HarvestResult(put=0, waiting=0, known=12, scraps=0)
    assert harvest_session(path, outbox, TARGET, SessionSignals()).put == 0


def write_build(folder: Path, build: Build, name: str = SESSION) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_bytes(build.data())
    return path


def test_only_the_end_of_a_long_session_is_read_again(tmp_path: Path, outbox: Outbox) -> None:
    build = talk(50)
    path = write_build(tmp_path, build)
    harvest_session(path, outbox, TARGET, SessionSignals(at_rest=True))
    take_spans(outbox)
    build.prompt("and now")
    build.answer("as you like")
    write_build(tmp_path, build)
    progress = TraceProgress.from_text(outbox.read_progress(TARGET.key, str(path)))
    reading = read_session_tail(path, progress)
    assert (reading.is_whole, len(reading.session.file.entries), reading.turns) == (False, 2, 50)
    reading.close()
    harvest_session(path, outbox, TARGET, SessionSignals(at_rest=True))
    new = take_spans(outbox)
    assert list_span_names(new) == ["invoke_agent claude-code", "chat claude-opus-5"]
    assert {span["attributes"]["langfuse.trace.metadata.turn_number"] for span in new} == {"51"}


def test_a_session_that_goes_on_from_an_older_turn_is_read_whole(tmp_path: Path, outbox: Outbox) -> None:
    build = talk(3)
    path = write_build(tmp_path, build)
    harvest_session(path, outbox, TARGET, SessionSignals(at_rest=True))
    take_spans(outbox)
    build.prompt("another way", parent="prompt-1")
    build.answer("so be it")
    write_build(tmp_path, build)
    harvest_session(path, outbox, TARGET, SessionSignals(at_rest=True))
    assert list_span_names(take_spans(outbox)) == ["invoke_agent claude-code", "chat claude-opus-5"]


def test_work_after_a_stop_is_a_part_of_the_same_trace(tmp_path: Path, outbox: Outbox) -> None:
    build = talk(1)
    path = write_build(tmp_path, build)
    harvest_session(path, outbox, TARGET, SessionSignals(at_rest=True))
    (first, *_) = take_spans(outbox)
    build.prompt("Stop hook feedback: tests are red", isMeta=True)
    build.answer("fixed", id="later")
    write_build(tmp_path, build)
    harvest_session(path, outbox, TARGET, SessionSignals(at_rest=True))
    later = take_spans(outbox)
    assert list_span_names(later) == ["invoke_agent claude-code", "chat claude-opus-5"]
    assert {span["trace"] for span in later} == {first["trace"]}
    assert later[0]["parent"] == first["span"]
    assert later[0]["attributes"]["claude_code.continued"] is True


@pytest.mark.parametrize("change", ["truncated", "replaced", "rewritten"])
def test_a_file_that_is_no_longer_the_same_is_read_anew_and_nothing_doubles(
    change: str, tmp_path: Path, outbox: Outbox
) -> None:
    build = talk(4)
    path = write_build(tmp_path, build)
    harvest_session(path, outbox, TARGET, SessionSignals(at_rest=True))
    take_spans(outbox)
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    if change == "truncated":
        path.write_bytes(b"".join(lines[:9]))
    elif change == "replaced":
        path.with_suffix(".new").write_bytes(b"".join(lines[4:]))
        path.with_suffix(".new").replace(path)
    else:
        path.write_bytes(data.replace(b"did 3", b"DID 3"))
    assert harvest_session(path, outbox, TARGET, OVER).put == 0
    build.prompt("more")
    build.answer("yes")
    path.write_bytes(path.read_bytes() + b"".join(json.dumps(line).encode() + b"\n" for line in build.lines[-2:]))
    harvest_session(path, outbox, TARGET, OVER)
    assert list_span_names(take_spans(outbox)) == ["invoke_agent claude-code", "chat claude-opus-5"]


def test_a_fork_with_the_same_uuids_brings_only_what_is_new(tmp_path: Path, outbox: Outbox) -> None:
    build = talk(3)
    harvest_session(write_build(tmp_path, build), outbox, TARGET, OVER)
    take_spans(outbox)
    build.prompt("on another way")
    build.answer("yes")
    found = harvest_session(write_build(tmp_path, build, SESSION.replace("1", "9")), outbox, TARGET, OVER)
    assert (found.put, found.known) == (2, 12)


def test_a_clone_with_new_uuids_brings_only_what_is_new(tmp_path: Path, outbox: Outbox) -> None:
    config = tmp_path / "claude" / "projects" / "-home-dana-webshop"
    config.mkdir(parents=True)
    path = write_build(config, talk(3))
    copy = clone_session(path).path
    assert b"prompt-1" not in copy.read_bytes()
    harvest_session(path, outbox, TARGET, OVER)
    take_spans(outbox)
    assert harvest_session(copy, outbox, TARGET, OVER).put == 0
    last = json.loads(copy.read_bytes().splitlines()[-1])
    more = Build()
    more.prompt("go on", "new-prompt", parent=last.get("uuid"))
    more.answer("gone on", id="new-answer")
    copy.write_bytes(copy.read_bytes() + more.data())
    harvest_session(copy, outbox, TARGET, OVER)
    assert list_span_names(take_spans(outbox)) == ["invoke_agent claude-code", "chat claude-opus-5"]


def test_what_would_be_sent_can_be_seen_without_putting_it(tmp_path: Path, outbox: Outbox) -> None:
    path = write_build(tmp_path, talk(1))
    assert len(list(preview_spans(path, outbox, TARGET, OVER))) == 4
    assert harvest_session(path, outbox, TARGET, OVER).put == 4
    assert list(preview_spans(path, outbox, TARGET, OVER)) == []


def test_lines_that_cannot_be_read_are_skipped_and_counted(tmp_path: Path, outbox: Outbox) -> None:
    path = write_build(tmp_path, talk(2))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b'{"type":"user", "mess\n', b"\x00\xff\n", *lines[4:]]))
    assert harvest_session(path, outbox, TARGET, OVER) == HarvestResult(put=8, waiting=0, known=0, scraps=2)


def test_a_turn_without_an_answer_waits(tmp_path: Path, outbox: Outbox) -> None:
    build = Build()
    build.prompt("hello")
    path = write_build(tmp_path, build)
    assert harvest_session(path, outbox, TARGET, OVER).put == 0
    build.answer("hi")
    write_build(tmp_path, build)
    assert harvest_session(path, outbox, TARGET, SessionSignals()).put == 0
    assert harvest_session(path, outbox, TARGET, SessionSignals(at_rest=True)).put == 2


def test_each_target_has_its_own_progress(tmp_path: Path, outbox: Outbox) -> None:
    path = write_build(tmp_path, talk(2))
    other = TraceTarget("other", "http://127.0.0.1:2/v1/traces")
    assert [harvest_session(path, outbox, target, OVER).put for target in (TARGET, other, TARGET, other)] == [
        8,
        8,
        0,
        0,
    ]


def test_a_server_on_this_machine_is_sent_the_same_as_another_but_not_made_small(outbox: Outbox) -> None:
    session = max(RECORDED, key=lambda path: path.stat().st_size)
    far = TraceTarget("far", "https://example.org/v1/traces")
    bodies = []
    for target in (TARGET, far):
        harvest_session(session, outbox, target, OVER)
        found = []
        while pending := outbox.find_due_batch(target.key, 0):
            found.append(pending.batch.body)
            outbox.mark_sent(pending)
        bodies.append(found)
    near, small = bodies
    assert near
    assert [*map(decompress_body, near)] == [*map(decompress_body, small)]
    assert sum(map(len, near)) > 2 * sum(map(len, small))
