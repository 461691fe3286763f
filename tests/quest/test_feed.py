"""The live party: sessions that are really written, and the genuine ones that were recorded."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interop.live.replay import replay_quest
from tests.interop.live.state_recording import FOLDER, load_recording
from tests.live.clock import build_now
from tests.quest.stories import KINDS, tell
from tests.session.build import DATA, encode_lines
from turnlog.entries.clients import read_process_identity
from turnlog.live.board import BoardRow
from turnlog.live.verdicts import WORKING_KINDS
from turnlog.live.watcher import Watcher
from turnlog.quest.demo_script import build_demo
from turnlog.quest.feed import MAX_PARTY_HEROES, QuestFeed
from turnlog.quest.game_event import GAME_KINDS, GameEvent
from turnlog.quest.ledger import ProfileKeeper
from turnlog.quest.party_state import PartyState
from turnlog.quest.replay_script import build_replay_script
from turnlog.quest.translation import GameTranslator, HeroFacts
from turnlog.quest.world.world import create_world, step_world

RECORDED = sorted(DATA.glob("sessions/**/????????-*.jsonl"))


class LiveMachine:
    """A config folder with sessions whose clients are this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "projects").mkdir(parents=True)
        (folder / "sessions").mkdir()
        self.feed: QuestFeed | None = None
        self.events: list[GameEvent] = []

    def name(self, number: int) -> str:
        return f"{number:08d}-2222-4333-8444-555555555555"

    def path(self, number: int) -> Path:
        return self.folder / "projects" / f"-home-dana-p{number}" / f"{self.name(number)}.jsonl"

    def register(self, number: int, **fields: str) -> None:
        """Let a client say that it has a session open."""
        client = {"pid": os.getpid(), "sessionId": self.name(number), **fields, **read_process_identity(os.getpid())}
        path = self.folder / "sessions" / f"{number}.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(client))
        fresh.replace(path)

    def write(self, number: int, *, mode: str = "ab", **given: Any) -> None:
        """Append what a small builder makes."""
        build = build_now()
        for kind, values in given.items():
            getattr(build, kind)(**values)
        lines = [{**line, "sessionId": self.name(number), "uuid": f"{time.monotonic_ns()}"} for line in build.lines]
        self.path(number).parent.mkdir(parents=True, exist_ok=True)
        with self.path(number).open(mode) as file:
            file.write(encode_lines(lines))

    def open_feed(self, **options: Any) -> QuestFeed:
        self.feed = QuestFeed(Watcher([self.folder]), **options)
        return self.feed

    def poll_until(self, fits: Callable[[], bool]) -> list[GameEvent]:
        """Poll until something is true; return all events since the start."""
        assert self.feed is not None
        deadline = time.monotonic() + 60
        while not fits():
            assert time.monotonic() < deadline, [event.game for event in self.events]
            self.events += self.feed.poll()
            time.sleep(0.02)
        return self.events

    def names(self, number: int) -> list[str]:
        """The kinds of the events of a session."""
        return [event.game for event in self.events if event.session == self.name(number)]


@pytest.fixture
def machine(tmp_path: Path) -> LiveMachine:
    return LiveMachine(tmp_path / "claude")


def test_a_session_whose_file_is_empty_at_first_begins_its_quest_once(machine: LiveMachine) -> None:
    machine.open_feed()
    machine.register(1, status="busy")
    machine.write(1)
    machine.poll_until(lambda: "enter" in machine.names(1))
    machine.write(1, prompt={"content": "Fix the cart"})
    machine.poll_until(lambda: "quest" in machine.names(1))
    machine.write(1, answer={"id": "m1"}, result={"call": "none"})
    machine.write(1, call={"call": "c1", "name": "Read"})
    machine.poll_until(lambda: "read" in machine.names(1))
    assert machine.names(1).count("quest") == machine.names(1).count("enter") == 1


def test_a_session_that_appears_with_its_first_prompt_begins_its_quest_once(machine: LiveMachine) -> None:
    machine.open_feed()
    machine.register(1, status="busy")
    machine.write(1, prompt={"content": "Fix the cart"})
    machine.poll_until(lambda: "quest" in machine.names(1))
    machine.write(1, call={"call": "c1", "name": "Read"})
    machine.poll_until(lambda: "read" in machine.names(1))
    assert machine.names(1).count("quest") == machine.names(1).count("enter") == 1


def test_what_happened_before_is_in_the_snapshot_and_is_no_news(machine: LiveMachine) -> None:
    machine.register(1, status="busy")
    machine.write(1, prompt={"content": "Fix the cart"}, call={"call": "c1"})
    feed = machine.open_feed()
    (hero,) = feed.build_snapshot()["sessions"]
    assert (hero["quest"], hero["mode"], hero["project"]) == ("Fix the cart", "active", "/home/dana/webshop")
    machine.write(1, result={"call": "c1"})
    machine.poll_until(lambda: "result" in machine.names(1))
    assert machine.names(1) == ["result"]


def test_sub_agents_that_are_at_work_are_in_the_snapshot(machine: LiveMachine) -> None:
    machine.register(1, status="busy")
    machine.write(1, prompt={"content": "Explore"})
    folder = machine.path(1).with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    build = build_now()
    build.prompt("Look around", isSidechain=True, agentId="a1")
    build.call("c9", "Grep", isSidechain=True, agentId="a1")
    (folder / "agent-a1.jsonl").write_bytes(
        encode_lines([{**line, "sessionId": machine.name(1)} for line in build.lines])
    )
    (folder / "agent-a1.meta.json").write_text(json.dumps({"agentType": "Explore", "toolUseId": "t1"}))
    feed = machine.open_feed()
    (hero,) = feed.build_snapshot()["sessions"]
    assert [(agent["agent"], agent["agent_type"]) for agent in hero["agents"]] == [("t1", "Explore")]
    assert "agent_start" not in {event.game for event in machine.poll_until(lambda: True)}


def test_a_client_that_reports_a_permission_prompt_makes_its_hero_wait_until_it_is_answered(
    machine: LiveMachine,
) -> None:
    machine.register(1, status="busy")
    machine.write(1, prompt={"content": "Push"}, call={"call": "c1", "given": {"command": "git push"}})
    feed = machine.open_feed()
    machine.register(1, status="waiting", waitingFor="permission prompt")
    machine.poll_until(lambda: "permission" in machine.names(1))
    (hero,) = feed.build_snapshot()["sessions"]
    assert hero["waiting"]["kind"] == "permission"
    machine.register(1, status="busy")
    machine.write(1, result={"call": "c1"})
    machine.poll_until(lambda: "answered" in machine.names(1))
    (hero,) = feed.build_snapshot()["sessions"]
    assert hero["waiting"] is None


def test_a_party_has_eight_places_which_heroes_keep_until_one_that_is_idle_makes_room(machine: LiveMachine) -> None:
    for number in range(MAX_PARTY_HEROES):
        machine.register(number, status="busy")
        machine.write(number, prompt={"content": f"Task {number}"})
    feed = machine.open_feed()
    first = {hero["session"] for hero in feed.build_snapshot()["sessions"]}
    assert first == {machine.name(number) for number in range(MAX_PARTY_HEROES)}
    machine.register(20, status="busy")
    machine.write(20, prompt={"content": "Late"})
    machine.write(0, call={"call": "c1", "name": "Read"})
    machine.poll_until(lambda: "read" in machine.names(0))
    assert not machine.names(20), "all places are taken by sessions that work"
    machine.register(3, status="idle")
    machine.write(3, answer={"id": "done"})
    machine.poll_until(lambda: "enter" in machine.names(20))
    assert "leave" in machine.names(3), [event for event in machine.events if event.game == "leave"]
    assert len(feed.build_snapshot()["sessions"]) == MAX_PARTY_HEROES
    assert not any("leave" in machine.names(number) for number in range(MAX_PARTY_HEROES) if number != 3)


def test_a_session_that_waits_takes_the_place_of_one_that_works(machine: LiveMachine) -> None:
    for number in range(MAX_PARTY_HEROES):
        machine.register(number, status="busy")
        machine.write(number, prompt={"content": f"Task {number}"})
    feed = machine.open_feed()
    machine.register(20, status="waiting", waitingFor="permission prompt")
    machine.write(20, prompt={"content": "Late"}, call={"call": "c1", "given": {"command": "git push"}})
    machine.poll_until(lambda: "permission" in machine.names(20))
    heroes = feed.build_snapshot()["sessions"]
    assert len(heroes) == MAX_PARTY_HEROES
    assert [hero["session"] for hero in heroes if hero["waiting"]] == [machine.name(20)]
    assert [event.fields["reason"] for event in machine.events if event.game == "leave"] == [
        "makes room for a session that waits for you"
    ]


def test_a_hero_stands_after_an_error_of_the_api_and_works_when_its_client_does(machine: LiveMachine) -> None:
    machine.register(1, status="busy")
    machine.write(1, prompt={"content": "Fix the cart"})
    feed = machine.open_feed()

    def find_mode() -> str:
        return str(feed.build_snapshot()["sessions"][0]["mode"])

    machine.poll_until(lambda: find_mode() == "active")
    machine.register(1, status="idle")
    machine.write(1, answer={"content": "API Error: Overloaded", "isApiErrorMessage": True})
    machine.poll_until(lambda: find_mode() == "idle")
    assert [event.fields["reason"] for event in machine.events if event.game == "idle"][-1].startswith("error")
    machine.write(1, prompt={"content": "<bash-input>make</bash-input>"})
    machine.register(1, status="busy")
    machine.poll_until(lambda: find_mode() == "active")


@pytest.mark.parametrize("version", ["2.1.325", "2.1.328", "2.1.45"])
def test_heroes_do_what_the_board_says_in_recordings_of_real_clients(version: str) -> None:
    agreed = polls = 0
    wrong: Counter[tuple[str, str, str]] = Counter()
    for path in sorted(FOLDER.glob(f"{version}-*.jsonl.gz"))[::3]:
        for reading in replay_quest(load_recording(path)):
            for session, row in reading.rows.items():
                polls += 1
                hero = reading.heroes.get(session, "gone")
                if hero in list_right_poses(row):
                    agreed += 1
                else:
                    wrong[path.name, row.state.kind, hero] += 1
    assert agreed / polls > 0.985, wrong.most_common(10)
    assert max(wrong.values(), default=0) < 15, "a hero may be up to a second behind, and not more"


def list_right_poses(row: BoardRow) -> set[str]:
    """What a hero may do while its session is in a state."""
    if row.column == "ended":
        return {"gone"}
    if row.state.kind in ("waiting", "permission"):
        return {"waits"}
    if row.state.kind == "background":
        return {"works", "stands"}
    return {"rests"} if row.state.kind == "compacting" else {"works"} if row.state.kind in WORKING_KINDS else {"stands"}


def test_a_hero_leaves_when_its_file_is_deleted(machine: LiveMachine) -> None:
    machine.register(1, status="busy")
    machine.write(1, prompt={"content": "Fix"})
    feed = machine.open_feed()
    machine.path(1).unlink()
    (machine.folder / "sessions" / "1.json").unlink()
    machine.poll_until(lambda: "leave" in machine.names(1))
    assert feed.build_snapshot()["sessions"] == []


def test_while_the_profile_is_locked_the_party_goes_on_and_what_happens_is_counted_afterwards(
    machine: LiveMachine, tmp_path: Path
) -> None:
    keeper = ProfileKeeper(tmp_path, busy_timeout_ms=10)
    keeper.count_events(tell([]))
    feed = machine.open_feed(keeper=keeper)
    machine.register(1, status="busy")
    with keeper.file.write():
        machine.write(1, prompt={"content": "Fix"}, call={"call": "c1", "name": "Read"}, result={"call": "c1"})
        machine.poll_until(lambda: "result" in machine.names(1))
        assert "locked" in (feed.problem or "")
    machine.poll_until(lambda: feed.problem is None)
    assert keeper.read_profile().xp == 5


def test_the_party_goes_on_if_the_profile_cannot_be_written(machine: LiveMachine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    feed = machine.open_feed(keeper=ProfileKeeper(tmp_path / "file"))
    machine.register(1, status="busy")
    machine.write(1, prompt={"content": "Fix"}, call={"call": "c1", "name": "Read"}, result={"call": "c1"})
    machine.poll_until(lambda: "result" in machine.names(1))
    machine.poll_until(lambda: feed.problem is not None)
    assert "file" in (feed.problem or "")


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: "/".join(path.parts[-4:])[:60])
def test_a_genuine_session_plays_without_contradictions(path: Path) -> None:
    """Every companion that leaves had come, events have the fields of their kind, and times never go back."""
    script = build_replay_script(path, HeroFacts(path.stem, "/home/dana", "title"))
    companions: set[str] = set()
    world, party, before = create_world(), PartyState(), 0.0
    for event in script.events:
        assert tuple(event.fields) == GAME_KINDS[event.game].fields
        assert event.at >= before
        if event.game == "agent_start":
            assert event.fields["agent"] not in companions
            companions.add(event.fields["agent"])
        elif event.game == "agent_finish":
            companions.remove(event.fields["agent"])
        world = step_world(world, event.to_document(), min(event.at - before, 0.5))
        party.apply_event(event)
        before = event.at
    assert script.events[0].game == "enter" if script.events else True
    heroes = party.to_documents()
    assert len(heroes) == bool(script.events)
    assert {agent["agent"] for hero in heroes for agent in hero["agents"]} == companions


def test_recorded_sessions_show_all_that_they_are_recorded_for() -> None:
    games = {event.game for path in RECORDED for event in build_replay_script(path, HeroFacts(path.stem)).events}
    assert games >= {
        "enter", "quest", "read", "write", "bash", "result", "text", "agent_start", "agent_finish", "todos",
        "plan", "answered", "error", "turn_finish", "compact_start", "compact_end", "context",
    }  # fmt: skip


def test_the_translation_of_a_beginning_is_the_beginning_of_the_translation() -> None:
    story = tell(list(KINDS) * 3)
    hero = HeroFacts(story[0].session)
    events = story

    def translate(count: int) -> list[GameEvent]:
        translator = GameTranslator(hero)
        return [game for event in events[:count] for game in translator.translate(event)]

    whole = translate(len(events))
    assert len(whole) > 20
    for count in range(len(events)):
        part = translate(count)
        assert part == whole[: len(part)]


def test_a_snapshot_in_the_middle_leads_to_the_same_party_as_all_events() -> None:
    script = build_demo().script
    whole, _ = script.split_at(script.seconds + 1)
    for second in range(0, 90, 7):
        sessions, rest = script.split_at(second)
        world = step_world(create_world(), {"game": "snapshot", "sessions": sessions}, 0)
        for event in rest:
            world = step_world(world, event.to_document(), 0)
        world = step_world(world, None, 5)
        assert sorted(hero.session for hero in world.party) == sorted(hero["session"] for hero in whole)


def test_a_chosen_session_is_shown_even_if_it_is_not_active_and_joins_when_it_goes_on(machine: LiveMachine) -> None:
    machine.write(1, prompt={"content": "Old"})
    old = machine.path(1).read_bytes().replace(b"2026-", b"2024-")
    machine.path(1).write_bytes(old)
    os.utime(machine.path(1), (1_700_000_000, 1_700_000_000))
    machine.write(2, prompt={"content": "Another"})
    hero = HeroFacts(machine.name(1), "/home/dana/webshop", "Old work")
    machine.feed = QuestFeed(Watcher([machine.folder], [machine.path(1)]), None, hero)
    shown = machine.feed.build_snapshot()["sessions"]
    assert [(one["session"], one["title"], one["mode"]) for one in shown] == [(machine.name(1), "Old work", "idle")]
    machine.register(1, status="busy")
    machine.write(1, prompt={"content": "Go on"})
    machine.poll_until(lambda: "quest" in machine.names(1))
    assert machine.names(1).count("quest") == 1
    assert not machine.names(2)
