"""Following a session: every entry once and in order, however it is written and wherever one comes back."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.live.scribe import Reader, scribe, whole, whole_file
from tests.live.session_moves import MOVES, agent_lines, agent_path, append, session_path, write_moves
from tests.session.build import Build, encode_lines, find_recording
from turnlog.live.cursor import MAX_CURSOR_FILES
from turnlog.live.follower import SessionFollower
from turnlog.live.page_updates import PageUpdate, build_catch_up, to_page_update
from turnlog.live.window_start import StartFinder
from turnlog.session.session import Session
from turnlog.store.timelines.timelines import Timelines

LAYOUTS = ("nested", "workflow", "loose", "beside")


def poll_updates(follow: SessionFollower) -> Iterator[PageUpdate]:
    """All that has happened, until nothing more does."""
    while True:
        follow._next.clear()
        found = [to_page_update(happening, follow.build_cursor(), scribe) for happening in follow.poll()]
        if not found:
            return
        yield from found


def open_follower(path: Path, kept: int = 160) -> SessionFollower:
    return SessionFollower(path, StartFinder(kept=kept))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 900)),
        st.tuples(st.just("agent"), st.integers(0, 2), st.integers(1, 900)),
        st.tuples(st.just("poll")),
        st.tuples(st.just("lost")),
        st.tuples(st.just("back")),
        st.tuples(st.just("restart")),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(moves=MOVES, layouts=st.lists(st.sampled_from(LAYOUTS), min_size=3, max_size=3), steps=STEPS)
def test_whoever_follows_has_every_entry_once_however_often_the_connection_or_the_server_is_lost(
    moves: list[str], layouts: list[str], steps: list[tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = session_path(Path(folder))
        path.touch()
        sources = [(path, write_moves(moves))]
        sources += [(agent_path(path, f"a{n}", layout), agent_lines(f"a{n}", 7)) for n, layout in enumerate(layouts)]
        done = [0] * len(sources)

        def write(place: int, size: int) -> None:
            target, data = sources[place]
            if done[place] < len(data):
                append(target, data[done[place] : done[place] + size])
                done[place] += size

        follow = open_follower(path)
        reader = Reader().take(build_catch_up(follow).iter_updates_since(None, scribe))
        connected = True
        for step, *sizes in steps:
            if step == "write":
                write(0, sizes[0])
            elif step == "agent":
                write(1 + sizes[0], sizes[1])
            elif step == "lost":
                connected = False
            elif step == "back":
                list(poll_updates(follow))
                reader.take(build_catch_up(follow).iter_updates_since(reader.cursor, scribe))
                connected = True
            elif step == "restart":
                follow.close()
                follow = open_follower(path)
                connected = False
            if step == "poll":
                events = list(poll_updates(follow))
                if connected:
                    reader.take(events)
                else:
                    reader.take(build_catch_up(follow).iter_updates_since(reader.cursor, scribe))
                    connected = True
        for place, (_, data) in enumerate(sources):
            write(place, len(data))
        list(poll_updates(follow)) if not connected else reader.take(poll_updates(follow))
        reader.take(build_catch_up(follow).iter_updates_since(reader.cursor, scribe))
        follow.close()
        assert reader.resets == ["start"]
        assert sorted(reader.agents) == ["a0", "a1", "a2"]
        for name, (target, _) in zip(["", "a0", "a1", "a2"], sources, strict=True):
            assert reader.streams.get(name, []) == whole_file(target)


def read_at_once(path: Path, follow: SessionFollower) -> Reader:
    return Reader().take(build_catch_up(follow).iter_updates_since(None, scribe, frozenset(follow.streams)))


@pytest.mark.parametrize(
    "name", ["1.0.128/agents", "2.0.76/agents", "2.1.29/tools", "2.1.45/agents", "2.1.325/agents", "2.1.325/tui_edge"]
)
def test_recorded_sessions_that_are_written_line_by_line_give_the_items_of_the_whole(name: str, tmp_path: Path) -> None:
    source = find_recording(name)
    shutil.copytree(source.parent, tmp_path / "p")
    path = tmp_path / "p" / source.name
    files = {path: path.read_bytes()} | {file: file.read_bytes() for file in path.parent.rglob("agent-*.jsonl")}
    for file in files:
        file.write_bytes(b"")
    follow = open_follower(path)
    reader = Reader().take(build_catch_up(follow).iter_updates_since(None, scribe))
    for file, data in files.items():
        for line in data.splitlines(keepends=True):
            append(file, line)
            reader.take(poll_updates(follow))
    with Session.open(path) as session:
        assert reader.streams[""] == whole(session)
        for agent in session.agents:
            if agent.kind in ("subagent", "workflow", "inline"):
                assert reader.streams[agent.agent_id] == whole(session.open_agent_session(agent))
    follow.close()


def long_session(turns: int, calls: int) -> Build:
    build = Build(step=1)
    for turn in range(turns):
        build.prompt(f"turn {turn}", f"p{turn}")
        for call in range(calls):
            name = f"{turn}-{call}"
            build.call(f"c{name}", uuid=f"call{name}", id=f"m{name}")
            build.result(f"c{name}", uuid=f"result{name}")
        build.answer("done", uuid=f"done{turn}", id=f"d{turn}")
    return build


@pytest.mark.parametrize("kept", [2, 5, 40])
def test_a_window_forgets_its_beginning_and_goes_on_as_if_it_had_not(tmp_path: Path, kept: int) -> None:
    path = session_path(tmp_path)
    lines = long_session(6, 20).lines
    path.write_bytes(b"")
    follow = open_follower(path, kept)
    reader = Reader().take(build_catch_up(follow).iter_updates_since(None, scribe))
    for line in lines:
        append(path, encode_lines([line]))
        reader.take(poll_updates(follow))
        assert len(follow.streams[""].open_window().items) <= 2 * kept + 1
    assert reader.streams[""] == whole_file(path)
    follow.close()


def test_a_long_session_is_opened_near_its_end_with_the_numbers_that_its_turns_have(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    lines = long_session(30, 10).lines
    path.write_bytes(encode_lines(lines[:-15]))
    opening = StartFinder(Timelines(tmp_path / "timelines"), kept=7, small=100)
    follow = SessionFollower(path, opening)
    reader = read_at_once(path, follow)
    assert follow.streams[""].open_window().source.start.offset > 0
    for line in lines[-15:]:
        append(path, encode_lines([line]))
        reader.take(poll_updates(follow))
    shown, truth = reader.streams[""], whole_file(path)
    assert shown[0]["kind"] == "prompt"  # of the turn in whose midst the window begins
    assert shown[1:] == truth[len(truth) - len(shown) + 1 :]
    assert shown[0] in truth
    follow.close()
    again = SessionFollower(path, StartFinder(Timelines(tmp_path / "timelines"), kept=7, small=100))
    assert Reader().take(build_catch_up(again).iter_updates_since(reader.cursor, scribe)).streams == {}
    again.close()


def test_a_long_session_that_was_replaced_is_opened_where_the_new_one_has_its_end(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.write_bytes(long_session(30, 10).data())
    follow = SessionFollower(path, StartFinder(Timelines(tmp_path / "timelines"), kept=7, small=100))
    reader = read_at_once(path, follow)
    new = path.with_suffix(".new")
    new.write_bytes(long_session(31, 9).data())
    new.replace(path)
    reader.take(poll_updates(follow))
    shown, truth = reader.streams[""], whole_file(path)
    assert shown[1:] == truth[len(truth) - len(shown) + 1 :]
    follow.close()


def test_a_line_of_many_megabytes_is_one_line_whenever_it_is_looked_at(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.touch()
    follow = open_follower(path)
    reader = Reader().take(build_catch_up(follow).iter_updates_since(None, scribe))
    build = Build()
    build.prompt("x" * 12_000_000, "long")
    build.answer("short", uuid="short")
    data = build.data()
    for start in range(0, len(data), 3_000_000):
        append(path, data[start : start + 3_000_000])
        reader.take(poll_updates(follow))
    assert reader.keys() == ["long", "short"]
    follow.close()


def test_a_file_that_was_replaced_cut_or_deleted_is_said_and_followed_on(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    build = long_session(2, 1)
    path.write_bytes(build.data())
    follow = open_follower(path)
    reader = read_at_once(path, follow)
    new = path.with_suffix(".new")
    new.write_bytes(encode_lines(build.lines[:2]))
    new.replace(path)
    reader.take(poll_updates(follow))
    assert reader.streams[""] == whole_file(path)
    os.truncate(path, len(encode_lines(build.lines[:1])))
    reader.take(poll_updates(follow))
    assert reader.streams[""] == whole_file(path)
    path.unlink()
    reader.take(poll_updates(follow))
    assert reader.gone == [""]
    path.write_bytes(build.data())
    reader.take(poll_updates(follow))
    append(path, encode_lines(long_session(3, 1).lines[len(build.lines) :]))
    reader.take(poll_updates(follow))
    assert reader.streams[""] == whole_file(path)
    assert reader.resets == ["start", "replaced", "truncated", "replaced"]
    follow.close()


def test_a_cursor_of_a_file_that_was_replaced_meanwhile_starts_again(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.write_bytes(long_session(2, 1).data())
    follow = open_follower(path)
    reader = read_at_once(path, follow)
    follow.close()
    new = path.with_suffix(".new")
    new.write_bytes(long_session(1, 1).data())
    new.replace(path)
    follow = open_follower(path)
    reader.take(build_catch_up(follow).iter_updates_since(reader.cursor, scribe))
    assert reader.resets == ["start", "cursor"]
    assert reader.streams[""] == whole_file(path)
    follow.close()


def test_a_cursor_of_another_session_starts_again(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    other = path.with_name("99999999-2222-4333-8444-555555555555.jsonl")
    for file in (path, other):
        file.write_bytes(long_session(1, 1).data())
    first, second = open_follower(path), open_follower(other)
    reader = Reader().take(build_catch_up(second).iter_updates_since(first.build_cursor(), scribe))
    assert reader.resets == ["cursor"]
    first.close()
    second.close()


def test_more_sub_agents_than_a_cursor_can_name_are_followed_all_the_same(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.write_bytes(long_session(1, 1).data())
    many = MAX_CURSOR_FILES + 20
    agents = [agent_path(path, f"a{number:03d}", "nested") for number in range(many)]
    for number, agent in enumerate(agents):
        agent.write_bytes(agent_lines(f"a{number:03d}", 2))
        os.utime(agent, (1e9 + number, 1e9 + number))
    follow = open_follower(path)
    reader = read_at_once(path, follow)
    assert len(reader.agents) == many
    follow.close()
    append(agents[3], agent_lines("a003", 4)[len(agent_lines("a003", 2)) :])  # one that the cursor does not name
    append(agents[-1], agent_lines(f"a{many - 1:03d}", 4)[len(agent_lines(f"a{many - 1:03d}", 2)) :])
    follow = open_follower(path)
    again = Reader()
    again.streams, again._delivered, again.cursor = reader.streams, reader._delivered, reader.cursor
    again.take(build_catch_up(follow).iter_updates_since(reader.cursor, scribe))
    for number, agent in enumerate(agents):
        assert again.streams[f"a{number:03d}"] == whole_file(agent)
    assert again.resets == ["replaced"]
    follow.close()


def test_the_name_of_a_sub_agent_comes_when_its_description_does(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.touch()
    follow = open_follower(path)
    reader = Reader().take(build_catch_up(follow).iter_updates_since(None, scribe))
    agent = agent_path(path, "a1", "nested")
    agent.write_bytes(agent_lines("a1", 1))
    reader.take(poll_updates(follow))
    assert (reader.agents["a1"]["description"], reader.keys("a1")) == ("", ["a1-0"])
    agent.with_suffix(".meta.json").write_text(json.dumps({"agentType": 7, "description": "Look around"}))
    reader.take(poll_updates(follow))
    assert (reader.agents["a1"]["description"], reader.agents["a1"]["type"]) == ("Look around", "")
    follow.close()


def test_the_clients_own_side_work_is_no_sub_agent(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.touch()
    follow = open_follower(path)
    agent_path(path, "acompact-12ab", "nested").write_bytes(agent_lines("x", 2))
    reader = Reader().take(build_catch_up(follow).iter_updates_since(None, scribe)).take(poll_updates(follow))
    assert reader.agents == {}
    follow.close()


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="needs names that are no text")
def test_a_sub_agent_whose_name_is_no_text_is_left_out(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    path.touch()
    folder = agent_path(path, "a1", "nested").parent
    (Path(os.fsdecode(os.fsencode(folder) + b"/agent-\xff.jsonl"))).write_bytes(b"{}\n")
    follow = open_follower(path)
    assert Reader().take(build_catch_up(follow).iter_updates_since(None, scribe)).agents == {}
    follow.close()


def test_a_session_of_which_there_is_no_file_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_follower(tmp_path / "none.jsonl")
