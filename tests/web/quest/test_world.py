"""The world of the quest, in the page: what each event leads to, and what never changes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from make_quest_vectors import PLAY, enter, send, wait

from tests.web.conftest import DATA

if TYPE_CHECKING:
    from playwright.sync_api import Page

MODULE = "/web/static/quest/world.js"
VECTORS = sorted((DATA.parent / "quest" / "vectors").glob("*.json"))

FREEZING = """async ([module, options, steps]) => {
  const { createWorld, step } = await import(module);
  const freeze = (value) => {
    if (value && typeof value === "object") Object.values(Object.freeze(value)).forEach(freeze);
    return value;
  };
  let state = freeze(createWorld(options));
  for (const { dt, event } of steps) state = freeze(step(state, event ? freeze(event) : null, dt));
  return state;
}"""
"""Plays steps on states that can't be changed; modules are strict, so an attempt throws."""


def play(page: Page, steps: list[Any], **options: Any) -> list[dict[str, Any]]:
    states: list[dict[str, Any]] = page.evaluate(PLAY, [MODULE, {"seed": 1, **options}, steps])
    return states


def last_hero(page: Page, *steps: Any) -> dict[str, Any]:
    """The only hero after a second in the party and some steps."""
    (hero,) = play(page, [enter(), wait(1), *steps])[-1]["party"]
    assert isinstance(hero, dict)
    return hero


@pytest.mark.parametrize("path", VECTORS, ids=[path.stem for path in VECTORS])
def test_the_shared_vectors_are_what_the_world_of_the_page_computes(module_page: Page, path: Path) -> None:
    vector = json.loads(path.read_text("utf-8"))
    states = module_page.evaluate(PLAY, [MODULE, vector["options"], vector["steps"]])
    assert len(vector["expect"]) == len(states)
    for expected in vector["expect"]:
        assert states[expected["after"]] == expected["state"]


@pytest.mark.parametrize("path", VECTORS, ids=[path.stem for path in VECTORS])
def test_a_step_changes_neither_the_state_nor_the_event_it_is_given(module_page: Page, path: Path) -> None:
    vector = json.loads(path.read_text("utf-8"))
    state = module_page.evaluate(FREEZING, [MODULE, vector["options"], vector["steps"]])
    assert state == vector["expect"][-1]["state"]


@pytest.mark.parametrize("path", VECTORS, ids=[path.stem for path in VECTORS])
def test_it_makes_no_difference_how_time_is_cut_into_frames(module_page: Page, path: Path) -> None:
    vector = json.loads(path.read_text("utf-8"))
    frames = []
    for step in vector["steps"]:
        ms = min(round(step["dt"] * 1000), 20_000)
        frames.append([ms, step.get("event")])
    whole = [{"dt": ms / 1000, "event": event} for ms, event in frames]
    cut = [
        part for ms, event in frames for part in (*[{"dt": 0.017}] * (ms // 17), {"dt": ms % 17 / 1000, "event": event})
    ]
    assert play(module_page, whole)[-1] == play(module_page, cut)[-1]


@pytest.mark.parametrize(
    ("game", "fields", "animation"),
    [
        ("read", {"tool": "Read"}, "casting"),
        ("web", {"tool": "WebFetch"}, "casting"),
        ("write", {"tool": "Edit"}, "writing"),
        ("bash", {"tool": "Bash"}, "attack"),
        ("tool", {"tool": "Agent", "category": "agent"}, "casting"),
        ("think", {"level": "none", "text": "Hm"}, "thinking"),
        ("turn_finish", {"seconds": 2}, "victory"),
        ("ship", {"kind": "push", "url": None}, "pose"),
        ("level_up", {"level": 2, "chest": None}, "victory"),
        ("question", {"text": "Which?"}, "waiting"),
        ("plan", {"text": "1. Look"}, "waiting"),
        ("permission", {"tool": "Bash", "title": "rm"}, "waiting"),
        ("compact_start", {}, "rest"),
        ("leave", {"reason": "ended"}, "poof"),
    ],
)
def test_an_event_leads_to_its_animation(module_page: Page, game: str, fields: dict[str, Any], animation: str) -> None:
    assert last_hero(module_page, send(game, **fields))["anim"] == animation


@pytest.mark.parametrize("game", ["quest", "text"])
def test_a_hero_walks_once_it_is_awake(module_page: Page, game: str) -> None:
    assert last_hero(module_page, send(game, text="Go"), wait(0.05))["anim"] == "walk"


def test_a_hero_is_hurt_only_when_the_enemy_arrives(module_page: Page) -> None:
    error = send("error", source="call", text="Exit code 1")
    assert last_hero(module_page, error, wait(0.8))["anim"] == "idle"
    assert last_hero(module_page, error, wait(1.0))["anim"] == "hurt"


def test_a_hero_walks_until_a_minute_has_passed_in_silence(module_page: Page) -> None:
    assert last_hero(module_page, send("text", text="On"), wait(59))["anim"] == "walk"
    assert last_hero(module_page, send("text", text="On"), wait(59), wait(1.5))["anim"] == "idle"


def test_only_the_finished_companion_goes(module_page: Page) -> None:
    agents = [send("agent_start", agent=f"a{number}", agent_type="Explore", description="") for number in range(3)]
    hero = last_hero(module_page, *agents, wait(1), send("agent_finish", agent="a1", outcome="ok"), wait(1))
    assert [one["agent"] for one in hero["companions"]] == ["a0", "a2"]


def test_a_known_hero_never_enters_again(module_page: Page) -> None:
    hero = last_hero(module_page, enter(), enter())
    assert (hero["anim"], hero["queue"]) == ("idle", [])


def test_the_results_of_other_calls_and_meters_do_not_end_a_wait(module_page: Page) -> None:
    waits = send("permission", tool="Bash", title="rm")
    others = [
        send("result", category="read", outcome="ok"),
        send("context", used=1, window=2, share=0.5),
        send("flow", meter=0.5),
        send("todos", items=[]),
    ]
    assert last_hero(module_page, waits, *others)["waiting"] == {"kind": "permission", "text": "rm"}
    assert last_hero(module_page, waits, send("answered"))["waiting"] is None


def test_an_unknown_window_leaves_the_mana_unknown(module_page: Page) -> None:
    assert last_hero(module_page, send("context", used=5000, window=None, share=None))["goal"] is None


def test_a_storm_lasts_from_an_api_error_to_the_next_answer(module_page: Page) -> None:
    steps = [enter(), send("error", source="api", text="529"), wait(1), send("text", text="Back"), wait(3)]
    assert [state["storm"] > 0 for state in play(module_page, steps)] == [False, False, True, True, False]


def test_the_party_keeps_its_order_and_its_biome_whichever_session_is_active(module_page: Page) -> None:
    other = "22222222-0000-4000-8000-000000000002"
    steps = [enter(), enter(other, 1), wait(1)]
    for _ in range(10):
        steps += [send("read", session=other, tool="Read"), wait(0.4), send("bash", tool="Bash"), wait(0.4)]
    states = play(module_page, steps)[2:]
    assert {tuple(hero["session"] for hero in state["party"]) for state in states} == {
        (steps[0]["event"]["session"], other)
    }
    assert {state["biome"] for state in states} == {3}


@pytest.mark.parametrize(("level", "rockets"), [("none", 0), ("think", 2), ("hard", 4), ("harder", 7), ("ultra", 12)])
def test_fireworks_grow_with_the_think_level(module_page: Page, level: str, rockets: int) -> None:
    state = play(module_page, [enter(), send("quest", text="Go", level=level)])[-1]
    assert len(state["fireworks"]) == rockets
