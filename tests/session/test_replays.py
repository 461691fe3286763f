"""History that the client wrote again at a compaction is there once, in every view."""

from __future__ import annotations

from pathlib import Path

from tests.session.build import Build, encode_lines
from tests.session.replays import build_replays
from turnlog.entries.reader import Transcript
from turnlog.entries.replays import LineReplays, is_replay
from turnlog.session.session import Session
from turnlog.session.texts.lines import PlacedLine, read_text_lines
from turnlog.session.timeline.timeline_builder import build_timeline


def read_placed_lines(path: Path) -> list[PlacedLine]:
    with path.open("rb") as file:
        return [placed for placed in read_text_lines(file) if placed is not None]


def find_replay_offsets(path: Path, start: int) -> set[int]:
    """Where the replays from `start` on are, if the lines before were read in an earlier run."""
    before = [line.line.timestamp for line in read_placed_lines(path) if line.offset < start]
    replays = LineReplays(str(path), start, max(filter(None, before), default=None))
    return {
        line.offset
        for line in read_placed_lines(path)
        if line.offset >= start and replays.is_replay(line.line.uuid, line.line.timestamp, line.offset, line.raw)
    }


def strip_replays(build: Build) -> Session:
    """The same session as a client writes it that replays nothing."""
    unique = {line["uuid"]: line for line in reversed(build.lines)}
    return Session.from_bytes(encode_lines(sorted(unique.values(), key=lambda line: line["timestamp"])))


def test_a_session_with_replayed_history_reads_like_one_without() -> None:
    build = build_replays(4)
    found, plain = build.session(), strip_replays(build)
    assert len(found.replays) == 4 + 8 + 12
    assert [row.uuid for row in found.entries] == [row.uuid for row in plain.entries]
    assert (found.prompts, found.usage) == (plain.prompts, plain.usage)
    assert [(turn.text, turn.ended_at) for turn in found.turns] == [(turn.text, turn.ended_at) for turn in plain.turns]
    items = [[(item.key, item.kind) for item in build_timeline(session).items] for session in (found, plain)]
    assert items[0] == items[1]


def test_an_entry_with_the_uuid_of_another_is_no_replay() -> None:
    build = build_replays(1)
    twin = {**build.lines[0], "message": {"role": "user", "content": "other text"}}
    elsewhere = {**build.lines[1], "parentUuid": None}
    build.lines += [twin, elsewhere]
    assert build.session().replays == []
    assert len(build.session().entries) == len(build.lines)


def test_a_later_version_of_the_client_may_replay() -> None:
    build = build_replays(2)
    changed = next(line for line in reversed(build.lines) if line["uuid"] == build.lines[0]["uuid"])
    changed |= {"version": "2.1.259", "gitBranch": "dev"}
    assert len(build.session().replays) == 4


def test_a_line_that_is_no_json_is_no_replay() -> None:
    assert is_replay(b'{"a":1}', b'{"a":1}\n')
    assert not is_replay(b'{"a":1}', b'{"a":')
    assert not is_replay(b"{", b"[")


def test_replays_of_a_sub_agent_in_the_same_file_are_left_out() -> None:
    build = Build("1.0.128")
    build.prompt("main")
    build.prompt("side", isSidechain=True, parent=None)
    build.answer("side answer", isSidechain=True)
    build.lines += [dict(line) for line in build.lines]
    session = build.session()
    inner = session.open_agent_session(session.agents[0])
    assert (len(session.entries), len(inner.entries)) == (1, 2)


def test_a_replay_that_is_still_being_written_is_judged_anew(tmp_path: Path) -> None:
    first = build_replays(1).data()
    copied, rest = first.split(b"\n", 1)
    path = tmp_path / "a.jsonl"
    path.write_bytes(first + copied)  # the line end is missing
    file = Transcript.open(path)
    assert file.list_replays() == {8}
    with path.open("ab") as out:
        out.write(b"\n" + rest)
    file.grow()
    assert file.list_replays() == Transcript.from_bytes(first * 2).list_replays() == set(range(8, 16))
    file.close()


def test_lines_are_compared_with_those_of_an_earlier_run(tmp_path: Path) -> None:
    lines = build_replays(3).data().splitlines(keepends=True)
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b"".join(lines[:3])
        + b'no JSON\n[]\n{"type":"mode"}\n{"uuid":"glued"}{"uuid":"second"}{"type":"mode"}\n'
        + b"".join(lines[3:])
    )
    whole = find_replay_offsets(path, 0)
    assert len(whole) == 12
    for line in read_placed_lines(path):
        assert find_replay_offsets(path, line.offset) == {offset for offset in whole if offset >= line.offset}


def test_a_file_that_became_shorter_has_no_earlier_lines(tmp_path: Path) -> None:
    path = build_replays(1).write(tmp_path)
    line = read_placed_lines(path)[0]
    replays = LineReplays(str(path), 1 << 30, line.line.timestamp)
    assert not replays.is_replay(line.line.uuid, line.line.timestamp, line.offset, line.raw)
