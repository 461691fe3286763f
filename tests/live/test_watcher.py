"""The watcher: every event of every followed file once, whatever happens to the files."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.live.clock import ManualClock, build_now
from tests.live.session_moves import MOVES, agent_lines, agent_path, append, session_path, write_moves
from tests.session.build import SESSION, START, Build, encode_lines
from turnlog.live.events.event import AnyEvent, PermissionAwaited, WentIdle
from turnlog.live.events.file_events import iter_file_events
from turnlog.live.processes import NoProcesses
from turnlog.live.watcher import Watcher

NOW = START.timestamp()
"""The time of the sessions that are built here."""
OTHER = "22222222-2222-4333-8444-555555555555"


class FixedClock:
    """A time that passes only when a test says so: shortly after the sessions that are built here."""

    def __init__(self, seconds: float = 200) -> None:
        self.seconds = NOW + seconds

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


class Watch:
    """A watcher that checks everything in each poll, and what it has returned."""

    def __init__(self, config: Path, **options: object) -> None:
        self.clock = FixedClock()
        self.watcher = Watcher([config], **{"clock": self.clock, "processes": NoProcesses(), **options})  # type: ignore[arg-type]
        self.events: list[AnyEvent] = []
        self.poll()

    def poll(self) -> list[AnyEvent]:
        self._make_due()
        found = self.watcher.poll()
        self.events += found
        return found

    def _make_due(self) -> None:
        watcher, board = self.watcher, self.watcher.board
        watcher._polled_at = board._listed_at = board._folders_checked_at = float("-inf")
        for awake in watcher._awake.values():
            awake.next_check = 0.0
        for watched in board._watched.values():
            watched.next, watched.judged = 0.0, float("-inf")

    def release(self) -> None:
        """Let every stream rest."""
        for stream in self.watcher._streams.values():
            stream.release()

    def of_files(self) -> list[AnyEvent]:
        """The events that entries record."""
        return [event for event in self.events if event.entry is not None or event.offset is not None]

    def kinds(self, actor: str = "main") -> list[str]:
        return [tag(event) for event in self.events if event.actor == actor]


def tag(event: AnyEvent) -> str:
    return str(event.__struct_config__.tag)


def whole(path: Path, actor: str = "main") -> list[AnyEvent]:
    return list(iter_file_events(path, SESSION, actor))


def test_a_file_that_exists_is_followed_from_its_end_and_a_new_one_from_its_start(tmp_path: Path) -> None:
    old = Build(step=1)
    old.prompt("before")
    old.call("c1")
    path = session_path(tmp_path)
    path.write_bytes(old.data())
    watch = Watch(tmp_path)
    assert watch.events == []
    old.result("c1", "done")
    old.answer("finished")
    append(path, encode_lines(old.lines[2:]))
    new = Build(step=1)
    new.prompt("in another session")
    (path.parent / f"{OTHER}.jsonl").write_bytes(new.data())
    watch.poll()
    own = [event for event in watch.of_files() if event.session == SESSION]
    assert [tag(event) for event in own] == ["result", "text", "turn-finish"]
    assert [tag(event) for event in watch.events if event.session == OTHER] == ["session-start", "prompt"]


@given(moves=MOVES, cuts=st.lists(st.integers(0, 6000), max_size=8), rests=st.booleans())
def test_the_events_of_a_growing_file_are_those_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, moves: list[str], cuts: list[int], rests: bool
) -> None:
    config = tmp_path_factory.mktemp("grow")
    path = session_path(config)
    data = write_moves(moves)
    watch = Watch(config)
    start = 0
    for end in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        append(path, data[start:end])
        start = end
        watch.poll()
        if rests:
            watch.release()
    watch.poll()
    assert watch.of_files() == whole(path)
    shutil.rmtree(config)


@given(moves=MOVES, cut=st.integers(0, 6000), how=st.sampled_from(["replaced", "truncated", "rewritten", "deleted"]))
def test_whatever_happens_to_a_file_every_event_comes_once(
    tmp_path_factory: pytest.TempPathFactory, moves: list[str], cut: int, how: str
) -> None:
    config = tmp_path_factory.mktemp("reset")
    path = session_path(config)
    data = write_moves(moves)
    begin = data[: data.rfind(b"\n", 0, cut) + 1]
    watch = Watch(config)
    append(path, begin)
    watch.poll()
    match how:
        case "replaced":
            other = path.with_suffix(".new")
            other.write_bytes(data)
            other.replace(path)
        case "truncated":
            path.write_bytes(b"")
            watch.poll()
            path.write_bytes(data)
        case "rewritten":
            path.write_bytes(data)
        case "deleted":
            path.unlink()
            watch.poll()
            watch.poll()
            path.write_bytes(data)
    watch.poll()
    watch.poll()
    found = watch.of_files()
    keys = [(event.entry, tag(event), str(event)) for event in found]
    assert len(keys) == len(set(keys))
    if not {"broken", "note", "early", "result"}.intersection(moves):
        assert {event.entry for event in found} == {event.entry for event in whole(path)}
    shutil.rmtree(config)


def test_a_session_that_was_silent_and_is_replaced_tells_only_what_is_new(tmp_path: Path) -> None:
    build = Build(step=1)
    build.prompt("before")
    build.answer("long done " * 50)
    path = session_path(tmp_path)
    path.write_bytes(build.data())
    watch = Watch(tmp_path, clock=FixedClock(60))
    short = Build(step=1)
    short.prompt("before")
    short.wait(100)
    short.prompt("after")
    other = path.with_suffix(".new")
    other.write_bytes(short.data())
    other.replace(path)
    watch.poll()
    assert [getattr(event, "text", None) for event in watch.events] == ["after"]


def test_a_copied_history_is_not_told_again(tmp_path: Path) -> None:
    watch = Watch(tmp_path, clock=FixedClock(86400))
    build = Build(step=1)
    build.prompt("yesterday")
    build.wait(86400 - 30)
    build.prompt("today")
    session_path(tmp_path).write_bytes(build.data())
    watch.poll()
    assert [event.text for event in watch.events if tag(event) == "prompt"] == ["today"]  # type: ignore[union-attr]


@pytest.mark.parametrize("is_rewritten", [False, True])
def test_a_session_that_moves_to_another_project_is_not_told_again(tmp_path: Path, is_rewritten: bool) -> None:
    """`turnlog move` rewrites the lines, which a mere renaming of the folder does not."""
    build = Build()
    build.prompt("one", "u1")
    path = session_path(tmp_path)
    watch = Watch(tmp_path)
    append(path, build.data())
    assert watch.poll()
    build.answer("ONE", uuid="a1")
    append(path, encode_lines(build.lines[1:]))
    watch.poll()
    before = len(watch.events)
    goal = path.parent.with_name("-home-dana-elsewhere") / path.name
    goal.parent.mkdir()
    if is_rewritten:
        goal.write_bytes(path.read_bytes().replace(b"/home/dana/webshop", b"/home/dana/elsewhere"))
        path.unlink()
    else:
        path.rename(goal)
    for _ in range(3):
        watch.poll()
    assert len(watch.events) == before
    build.prompt("two", "u2")
    append(goal, encode_lines(build.lines[2:]))
    watch.poll()
    assert len(watch.events) > before


def test_since_returns_what_happened_before_the_start(tmp_path: Path) -> None:
    build = Build(step=60)
    for number in range(5):
        build.prompt(f"prompt {number}")
    session_path(tmp_path).write_bytes(build.data())
    watch = Watch(tmp_path, since=START + timedelta(seconds=200))
    assert [event.text for event in watch.events if tag(event) == "prompt"] == ["prompt 3", "prompt 4"]  # type: ignore[union-attr]


@pytest.mark.parametrize("layout", ["nested", "workflow", "loose", "beside"])
def test_sub_agents_are_followed_from_their_first_line_in_every_layout(tmp_path: Path, layout: str) -> None:
    build = Build(step=1)
    build.prompt("explore")
    path = session_path(tmp_path)
    path.write_bytes(build.data())
    watch = Watch(tmp_path, clock=FixedClock(0))
    build.call("a1", "Agent", {"description": "explore", "prompt": "look"})
    append(path, encode_lines(build.lines[1:]))
    lines = agent_lines("abc", 6)
    agent = agent_path(path, "abc", layout)
    append(agent, lines[:100])
    watch.poll()
    append(agent, lines[100:])
    watch.poll()
    watch.poll()
    assert [event for event in watch.events if event.actor == "abc"] == whole(agent, "abc")
    assert watch.kinds() == ["call", "agent-start"]


def test_chosen_sessions_are_followed_wherever_they_are_and_no_others(tmp_path: Path) -> None:
    config, elsewhere = tmp_path / "config", tmp_path / "elsewhere"
    elsewhere.mkdir()
    chosen = Build(step=1)
    chosen.prompt("one")
    path = chosen.write(elsewhere)
    other = session_path(config)
    other.write_bytes(chosen.data())
    watch = Watch(config, sessions=[path])
    for place in (path, other):
        more = Build(step=1)
        more.prompt("two", "second")
        append(place, more.data())
    watch.poll()
    assert watch.watcher.size == 1
    assert watch.kinds() == ["prompt"]
    assert [row.path for row in watch.watcher.list_rows()] == [str(path)]


def test_only_accepted_sessions_are_told(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    watch = Watch(tmp_path, accepts=lambda row: row.project.endswith("webshop"))
    build = Build(step=1)
    build.prompt("mine")
    append(path, build.data())
    strange = Build(step=1)
    strange.prompt("not mine", cwd="/home/dana/notes")
    (path.parent / f"{OTHER}.jsonl").write_bytes(strange.data())
    watch.poll()
    watch.poll()
    assert {event.session for event in watch.events} == {SESSION}
    assert watch.kinds() == ["session-start", "prompt"]


def test_states_that_nobody_writes_become_events_once(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    clock = ManualClock()
    build = build_now()
    build.prompt("hello")
    path.write_bytes(build.data())
    watch = Watch(tmp_path, clock=clock)
    build.answer("done")
    append(path, encode_lines(build.lines[1:]))
    for _ in range(3):
        clock.skip(5)
        watch.poll()
    assert watch.kinds() == ["text", "turn-finish", "idle"]
    idle = watch.events[-1]
    assert isinstance(idle, WentIdle)
    assert (idle.entry, idle.reason) != (None, "")
    for _ in range(3):
        clock.skip(3600)
        watch.poll()
    assert watch.kinds()[3:] == ["session-end"]


def test_a_call_that_waits_for_permission_is_told_once(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    clock = ManualClock()
    watch = Watch(tmp_path, clock=clock)
    build = build_now()
    build.prompt("hello")
    build.call("c1", "Write", {"file_path": "/tmp/x"})
    path.write_bytes(build.data())
    for _ in range(4):
        clock.skip(20)
        watch.poll()
    waits = [event for event in watch.events if isinstance(event, PermissionAwaited)]
    assert [(wait.tool, wait.confidence) for wait in waits] == [("Write", "inferred")]
    assert waits[0].reason


def test_a_deleted_session_has_ended(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    clock = ManualClock()
    build = build_now()
    build.prompt("hello")
    path.write_bytes(build.data())
    watch = Watch(tmp_path, clock=clock)
    path.unlink()
    for _ in range(3):
        clock.skip(20)
        watch.poll()
    assert watch.kinds() == ["session-end"]


def test_a_process_that_writes_line_by_line_is_followed_exactly(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    watch = Watch(tmp_path)
    writer = Path(__file__).parents[1] / "web" / "writer.py"
    with subprocess.Popen([sys.executable, str(writer), str(path), "60", "0.002"]) as process:
        while process.poll() is None:
            watch.poll()
    watch.poll()
    texts = [event.text for event in watch.events if tag(event) == "text"]  # type: ignore[union-attr]
    assert texts == [f"answer {number} of w" for number in range(60)]


def test_silent_files_are_not_opened_and_take_little_memory(tmp_path: Path) -> None:
    folder = session_path(tmp_path).parent
    build = Build(step=1)
    build.prompt("hello")
    build.answer("done " * 200)
    for number in range(700):
        build.write(folder, f"{number:08d}-2222-4333-8444-555555555555")
    watch = Watch(tmp_path)
    watch.poll()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        watch.watcher.poll()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000
    assert not any(stream.is_loaded for stream in watch.watcher._streams.values())
    last = folder / "00000699-2222-4333-8444-555555555555.jsonl"
    first = folder / "00000000-2222-4333-8444-555555555555.jsonl"
    more = Build(step=1)
    more.prompt("more", "another")
    for path in (last, first):
        append(path, more.data())
    for _ in range(4):  # those that are not among the latest files take turns
        watch.poll()
    assert sorted(event.session for event in watch.events) == sorted([first.stem, last.stem])


def test_streams_at_rest_are_released(tmp_path: Path) -> None:
    path = session_path(tmp_path)
    watch = Watch(tmp_path)
    build = Build(step=1)
    build.prompt("hello")
    append(path, build.data())
    watch.poll()
    loaded: Callable[[], list[bool]] = lambda: [one.is_loaded for one in watch.watcher._streams.values()]  # noqa: E731
    assert loaded() == [True]
    watch.clock.seconds += 3600
    watch.poll()
    assert loaded() == [False]
