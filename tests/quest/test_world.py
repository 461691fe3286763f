"""The world in Python comes to the same states as `world.js`, whose vectors `scripts/make_quest_vectors.py` writes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnlog.quest.demo_script import build_demo
from turnlog.quest.game_event import GAME_KINDS
from turnlog.quest.world.actors import ANIMATIONS, MAX_QUEUED_ANIMATIONS, find_frame
from turnlog.quest.world.figures import WorldState
from turnlog.quest.world.happenings import WORLD_GAMES
from turnlog.quest.world.world import create_world, find_focus, list_waits, step_world

VECTORS = sorted((Path(__file__).parent / "vectors").glob("*.json"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_the_world_comes_to_the_states_of_the_page(path: Path) -> None:
    vector = json.loads(path.read_bytes())
    state = create_world(vector["options"])
    expected = {item["after"]: item["state"] for item in vector["expect"]}
    assert expected
    for number, step in enumerate(vector["steps"]):
        state = step_world(state, step.get("event"), step["dt"])
        if number in expected:
            assert json.loads(msgspec.json.encode(state)) == expected[number], (path.stem, number)


def test_there_are_vectors() -> None:
    assert len(VECTORS) >= 6


def test_the_world_knows_every_game_event() -> None:
    assert set(WORLD_GAMES) == set(GAME_KINDS)


@cache
def play_demo(pause: float = 0.25) -> list[WorldState]:
    events = [event.to_document() for event in build_demo().script.events]
    states, now = [create_world()], 0.0
    while now < 95:
        due = [event for event in events if now <= event["at"] < now + pause]
        state = step_world(states[-1], None, pause)
        for event in due:
            state = step_world(state, event, 0)
        states.append(state)
        now += pause
    return states


def test_the_demo_shows_every_animation_and_every_wait() -> None:
    states = play_demo()
    shown = {actor.anim for state in states for hero in state.party for actor in (hero, *hero.companions)}
    assert shown == ANIMATIONS.keys()
    assert {wait["kind"] for state in states for wait in list_waits(state)} == {"question", "plan", "permission"}
    assert any(state.banner for state in states)
    assert any(state.celebration for state in states)
    assert max(state.storm for state in states) > 100
    assert {hero.session for hero in states[-1].party} == {"demo-webshop", "demo-tides"}


def test_a_step_leaves_the_state_before_as_it_was() -> None:
    states = play_demo()
    before = [msgspec.json.encode(state) for state in states[:80]]
    for state in states[:80]:
        step_world(state, {"game": "leave", "session": "demo-webshop", "actor": "main"}, 3)
    assert [msgspec.json.encode(state) for state in states[:80]] == before


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(WORLD_GAMES)), st.sampled_from(["s1", "s2"]), st.floats(0, 1.5)), max_size=40
    )
)
def test_no_order_of_events_breaks_the_world(events: list[tuple[str, str, float]]) -> None:
    defaults: dict[str, Any] = {
        "text": "t", "level": 2, "tool": "Bash", "target": "x", "category": "agent", "agent": "a1", "items": [],
        "meter": 0.5, "used": 10, "window": 100, "share": 0.96, "kind": "push", "source": "api", "outcome": "ok",
        "actor": "main", "xp": [{"amount": 5, "reason": "read"}],
    }  # fmt: skip
    state = create_world()
    for game, session, pause in events:
        state = step_world(state, {**defaults, "game": game, "session": session}, pause)
        for hero in state.party:
            for actor in (hero, *hero.companions):
                assert 0 <= find_frame(actor) < ANIMATIONS[actor.anim].frames
                assert len(actor.queue) <= MAX_QUEUED_ANIMATIONS
            assert 0 <= hero.mana <= 1000
    assert len(state.party) <= 4
    assert find_focus(state) is None or state.party
