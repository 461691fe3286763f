"""Kept timelines: made once, made again when the files changed, and leading to any part of a session."""

from __future__ import annotations

import gc
import shutil
import threading
import warnings
from pathlib import Path

import pytest

from tests.session.build import DATA, SESSION, Build, find_recording
from turnlog.errors import NotFound, Unreadable
from turnlog.session.session import Session
from turnlog.session.timeline.timeline_builder import build_timeline
from turnlog.store.timelines.timelines import Timelines, prune_timelines


@pytest.fixture
def timelines(tmp_path: Path) -> Timelines:
    return Timelines(tmp_path / "timelines")


def build_fork() -> Build:
    """A session with two branches."""
    build = Build()
    build.prompt("1", "u1")
    build.answer("a", uuid="a1")
    build.prompt("2", "u2")
    build.answer("b", uuid="a2")
    build.prompt("3", "u3", parent="a1")
    build.call("c1", uuid="a3")
    build.result("c1", uuid="r3")
    return build


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_what_is_kept_is_the_timeline(version: str, timelines: Timelines) -> None:
    for path in sorted((DATA / "sessions" / version).rglob("????????-????-*.jsonl")):
        with Session.open(path) as session:
            made = build_timeline(session)
            kept = timelines.get_timeline(path)
            assert kept.head == made.head
            assert kept.read_steps() == made.steps
            for line in made.head.branches:
                own = [made.head.chapters[place] for place in line.chapters]
                items = [item for chapter in own for item in made.items[chapter.first : chapter.first + chapter.count]]
                assert kept.read_items(line.leaf, 0, 10**6) == items
                assert kept.count_items(line.leaf) == len(items)
                assert kept.read_items(line.leaf, 3, 5) == items[3:8]
            for agent in session.agents:
                inner = session.open_agent_session(agent)
                assert timelines.get_timeline(path, agent.agent_id).head == build_timeline(inner).head


def test_an_item_is_found_by_its_key_by_any_of_its_entries_and_by_its_place(
    tmp_path: Path, timelines: Timelines
) -> None:
    kept = timelines.get_timeline(build_fork().write(tmp_path))
    assert [item.key for item in kept.read_items(None, 0, 10)] == ["u1", "a1", "u3", "a3"]
    assert [kept.find_position(None, key) for key in ("u1", "a3", "r3", "u2", "nobody", "@x")] == [
        0,
        3,
        3,
        None,
        None,
        None,
    ]
    assert kept.find_position("a2", "u2") == 2
    for number, item in enumerate(kept.read_items(None, 0, 10)):
        assert (
            kept.find_position_at(None, item.lines[0].offset)
            == kept.find_position(None, f"@{item.lines[0].offset}")
            == number
        )
    assert kept.get_branch().leaf == "r3"
    with pytest.raises(NotFound):
        kept.get_branch("nobody")


def test_long_sessions_are_kept_in_pieces(tmp_path: Path, timelines: Timelines) -> None:
    build = Build()
    for number in range(400):
        build.prompt(f"p{number}", f"u{number}")
        build.answer("x", uuid=f"a{number}")
    kept = timelines.get_timeline(build.write(tmp_path))
    everything = [item.key for item in kept.read_items(None, 0, 1000)]
    assert everything == [f"{kind}{number}" for number in range(400) for kind in "ua"]
    for first in (0, 127, 128, 500, 799, 800):
        assert [item.key for item in kept.read_items(None, first, 130)] == everything[first : first + 130]
    assert kept.find_position(None, "a399") == 799
    excerpt = kept.read_excerpt(kept.read_items(None, 600, 2))
    assert [entry.uuid for entry in excerpt.session.entries] == ["u300", "a300"]


def test_a_timeline_is_made_again_when_the_session_or_a_sub_agent_changed(tmp_path: Path, timelines: Timelines) -> None:
    folder = tmp_path / "config"
    source = find_recording("2.1.325/agents")
    shutil.copytree(source.parent, folder)
    path = folder / source.name
    first = timelines.get_timeline(path)
    assert timelines.get_timeline(path) is first
    agent = next(folder.rglob("agent-*.jsonl"))
    with agent.open("ab") as file:
        file.write(b'{"type":"user","uuid":"new"}\n')
    second = timelines.get_timeline(path)
    assert second is not first
    with path.open("ab") as file:
        file.write(Build().data() + b'{"type":"user","uuid":"x","message":{"role":"user","content":"more"}}\n')
    third = timelines.get_timeline(path)
    assert third.head.items > second.head.items
    assert Timelines(timelines.folder).has(path)


def test_large_sessions_are_read_by_a_child_and_give_the_same(tmp_path: Path, timelines: Timelines) -> None:
    path = build_fork().write(tmp_path)
    by_child = Timelines(tmp_path / "other", large=0).get_timeline(path)
    assert by_child.head == timelines.get_timeline(path).head


def test_what_a_child_can_not_read_is_told(tmp_path: Path) -> None:
    path = build_fork().write(tmp_path)
    with pytest.raises(NotFound, match="no sub-agent nobody"):
        Timelines(tmp_path / "other", large=0).get_timeline(path, "nobody")


def test_what_is_not_there_is_told(tmp_path: Path, timelines: Timelines) -> None:
    with pytest.raises(Unreadable):
        timelines.get_timeline(tmp_path / "none.jsonl")
    with pytest.raises(NotFound):
        timelines.get_timeline(build_fork().write(tmp_path), "nobody")


@pytest.mark.parametrize("damage", [b"", b"xx", b"\xff" * 100, b"\x01" + b"\0" * 7 + b"\x00rest"])
def test_a_damaged_timeline_is_made_again(damage: bytes, tmp_path: Path, timelines: Timelines) -> None:
    path = build_fork().write(tmp_path)
    kept = timelines.get_timeline(path)
    (place,) = timelines.folder.iterdir()
    place.write_bytes(damage)
    again = Timelines(timelines.folder).get_timeline(path)
    assert again.head == kept.head


def test_timelines_of_sessions_that_are_gone_are_removed(tmp_path: Path, timelines: Timelines) -> None:
    path = build_fork().write(tmp_path)
    timelines.get_timeline(path)
    assert list(prune_timelines(timelines.folder)) == []
    path.unlink()
    assert len(list(prune_timelines(timelines.folder))) == 1
    assert list(timelines.folder.iterdir()) == []


def test_many_threads_may_ask_for_one_timeline(tmp_path: Path, timelines: Timelines) -> None:
    path = build_fork().write(tmp_path, SESSION)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(timelines.get_timeline(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_a_large_session_shows_its_beginning_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Build()
    for number in range(60):
        build.prompt(f"p{number}", f"u{number}")
    path = build.write(tmp_path)
    monkeypatch.setattr("turnlog.store.timelines.timelines.BEGINNING_BYTES", path.stat().st_size // 3)
    timelines = Timelines(tmp_path / "timelines", large=1000)
    begun = timelines.get_timeline_soon(path)
    assert not begun.is_whole
    assert [item.key for item in begun.read_items(None, 0, 3)] == ["u0", "u1", "u2"]
    assert 15 < begun.count_items() < 25
    whole = timelines.get_timeline(path)
    assert (whole.is_whole, whole.count_items()) == (True, 60)
    assert timelines.get_timeline_soon(path) is timelines.get_timeline(path)


def test_a_small_session_is_read_at_once(tmp_path: Path, timelines: Timelines) -> None:
    assert timelines.get_timeline_soon(build_fork().write(tmp_path)).is_whole
    with pytest.raises(Unreadable):
        timelines.get_timeline_soon(tmp_path / "none.jsonl")


def test_a_timeline_that_nobody_uses_closes_its_file_also_when_it_was_part_of_a_cycle(
    tmp_path: Path, timelines: Timelines
) -> None:
    cycle: list[object] = [timelines.get_timeline(build_fork().write(tmp_path))]
    cycle.append(cycle)
    timelines.close()
    with warnings.catch_warnings(record=True, action="always") as told:
        del cycle
        gc.collect()
    assert told == []
