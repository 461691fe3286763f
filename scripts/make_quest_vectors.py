"""Write the test vectors that keep the world of the web page and its port in Python equal.

    python scripts/make_quest_vectors.py

The scenarios below are played by `world.js` in Chromium; each file in tests/quest/vectors holds a scenario and the
state that `world.js` comes to after each of its steps. The world tests play them again, in the page and in Python.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from quest_page import open_module_page

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "quest" / "vectors"
MODULE = "/web/static/quest/world.js"
A, B = "11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000002"

Event = Mapping[str, Any]
Step = Mapping[str, Any]

PLAY = """async ([module, options, steps]) => {
  const { createWorld, step } = await import(module);
  let state = createWorld(options);
  return steps.map(({ dt, event }) => (state = step(state, event ?? null, dt)));
}"""
"""Returns the state after each step."""


def wait(seconds: float) -> Step:
    return {"dt": seconds}


def send(game: str, dt: float = 0.25, session: str = A, actor: str = "main", **fields: Any) -> Step:
    return {"dt": dt, "event": {"game": game, "session": session, "actor": actor, **fields}}


def enter(session: str = A, biome: int = 3, dt: float = 0.25) -> Step:
    return send("enter", dt, session, project=f"shop-{biome}", title="Fix the till", biome=biome)


def build_turn() -> list[Step]:
    """A prompt, its tools, and the end of the turn."""
    return [
        enter(),
        wait(1.0),
        send("quest", text="Ultrathink about the discount", level="ultra"),
        send("think", level="ultra", text="First the tests.", xp=[{"amount": 45, "reason": "think"}]),
        wait(1.5),
        send("read", tool="Read", target="till.py", xp=[{"amount": 5, "reason": "read"}]),
        send("write", tool="Edit", target="till.py", xp=[{"amount": 10, "reason": "write"}]),
        send("bash", tool="Bash", target="pytest"),
        send("web", tool="WebFetch", target="example.org"),
        send("tool", tool="Agent", target="", category="agent"),
        send("tool", tool="Skill", target="", category="other"),
        wait(0.017),
        wait(0.016),
        wait(2.5),
        send("result", category="bash", outcome="ok", streak=3, xp=[{"amount": 15, "reason": "bash"}]),
        send("text", text="Done."),
        send("todos", items=[{"text": "Write a test", "status": "completed"}, {"text": "Fix", "status": "pending"}]),
        send("turn_finish", seconds=12.5),
        wait(0.5),
        send("ship", kind="push", url=None),
        wait(3.0),
        wait(2.0),
    ]


def build_burst() -> list[Step]:
    """More events at once than can be shown."""
    tools = ["read", "write", "bash"] * 4
    return [enter(), wait(1.0), *(send(tool, 0.0, tool="T", target="") for tool in tools), *[wait(0.5)] * 10]


def build_enemies() -> list[Step]:
    return [
        enter(),
        wait(1.0),
        send("agent_start", agent="a1", agent_type="Explore", description="Look"),
        wait(1.0),
        send("error", source="call", text="Exit code 1"),
        send("error", source="call", text="not found", actor="a1"),
        wait(0.5),
        wait(0.3),
        wait(1.0),
        send("error", source="api", text="Overloaded", attempt=1),
        wait(1.5),
        send("text", text="There again"),
        wait(1.0),
        send("context", used=170000, window=200000, share=0.85),
        wait(2.0),
        send("context", used=192000, window=200000, share=0.96),
        wait(1.0),
        send("compact_start", trigger="auto"),
        wait(3.0),
        send("compact_end"),
        send("context", used=30000, window=200000, share=0.15),
        wait(0.6),
        wait(2.0),
        send("context", used=40000, window=None, share=None),
        wait(1.0),
    ]


def build_waits() -> list[Step]:
    return [
        enter(),
        wait(1.0),
        send("quest", text="Go", level="none"),
        send("read", tool="Read", target="a"),
        send("permission", tool="Bash", title="rm -r build"),
        wait(2.0),
        send("context", used=1, window=200000, share=0.1),
        send("answered"),
        wait(0.5),
        send("question", text="Which one?"),
        wait(0.5),
        send("text", text="That one"),
        send("agent_start", agent="a1", agent_type="Plan", description=""),
        wait(1.0),
        send("permission", actor="a1", tool="Write", title=""),
        wait(1.0),
        send("read", actor="a1", tool="Read", target="b"),
        wait(1.0),
        send("plan", text="1. Look 2. Leap"),
        send("interrupt"),
        wait(1.0),
        send("bash", tool="Bash", target="ls"),
        wait(61.0),
        wait(1.0),
        send("idle", reason="silence"),
        wait(1.0),
    ]


def build_party() -> list[Step]:
    """Two sessions at once, their agents, and a feed that breaks off in between."""
    known = {"session": A, "project": "shop-3", "title": "Fix the till", "biome": 3, "mode": "active", "todos": []}
    agents = [{"agent": "a2", "agent_type": "Plan", "description": "", "waiting": None}]
    resting = {"session": B, "project": "b", "title": "Two", "biome": 1, "mode": "resting", "agents": []}
    profile = {"level": 3, "xp": 950, "next": 1600, "flow": 0.5, "worn": {"hat": "hat-wizard"}, "chests": []}
    return [
        enter(),
        enter(B, 1),
        send("agent_start", agent="a1", agent_type="Explore", description="Look"),
        send("agent_start", agent="a2", agent_type="Plan", description="Think"),
        send("read", session=B, tool="Grep", target="x"),
        wait(1.0),
        send("agent_finish", agent="a1", outcome="ok"),
        send("read", actor="a1", tool="Read", target="late"),
        send("bash", actor="a2", tool="Bash", target="ls"),
        wait(1.0),
        {"dt": 0.1, "event": {"game": "choose", "follow": B}},
        wait(2.0),
        send("enter", title="Fix the till again"),
        {
            "dt": 0.5,
            "event": {
                "game": "snapshot",
                "sessions": [{**known, "agents": agents, "waiting": {"kind": "question", "text": "Which?"}}, resting],
                "profile": profile,
            },
        },
        wait(1.0),
        {"dt": 0.5, "event": {"game": "snapshot", "sessions": [{**known, "agents": []}], "profile": profile}},
        wait(0.3),
        wait(1.0),
        send("leave", reason="ended"),
        send("read", tool="Read", target="late"),
        wait(0.2),
        enter(A, 4),
        wait(2.0),
        send("idle", session=B, reason="late"),
        wait(1.0),
    ]


def build_progress() -> list[Step]:
    return [
        enter(),
        {"dt": 0.1, "event": {"game": "choose", "biome": "time"}},
        {"dt": 0.1, "event": {"game": "clock", "minute": 1380}},
        wait(2.0),
        send("flow", meter=0.65),
        wait(0.4),
        send("level_up", level=2, chest={"id": "c1", "kind": "level"}),
        send("chest", chest={"id": "c2", "kind": "bonus"}, reason="flow", xp=[{"amount": 100, "reason": "flow"}]),
        wait(2.0),
        {"dt": 0.1, "event": {"game": "choose", "biome": "cycle"}},
        wait(25.0),
        {"dt": 0.1, "event": {"game": "choose", "biome": 4}},
        wait(0.5),
        wait(3600.0),
        send("compact_start", trigger="manual"),
        send("compact_end", 0.0),
        send("quest", 0.0, text="On", level="think"),
        send("read", 0.0, tool="Read", target="x"),
        wait(1.0),
        wait(1.5),
        send("unknown", anything=[1, 2]),
        wait(1.0),
    ]


SCENARIOS: Mapping[str, tuple[Mapping[str, Any], Sequence[Step]]] = {
    "turn": ({"seed": 7}, build_turn()),
    "burst": ({"seed": 8}, build_burst()),
    "enemies": ({"seed": 9}, build_enemies()),
    "waits": ({"seed": 10, "biome": 2}, build_waits()),
    "party": ({"seed": 11, "minute": 300}, build_party()),
    "progress": ({"seed": 12}, build_progress()),
}


def play_scenario(page: Page, options: Mapping[str, Any], steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Return the state after each step, as `world.js` computes it."""
    states: list[dict[str, Any]] = page.evaluate(PLAY, [MODULE, options, steps])
    return states


def join_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    return ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)


def main() -> int:
    """Write all vectors."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open_module_page() as page:
        for name, (options, steps) in SCENARIOS.items():
            states = play_scenario(page, options, steps)
            expect = [{"after": place, "state": state} for place, state in enumerate(states)]
            rows_text, states_text = join_rows(steps), join_rows(expect)
            text = f'{{"options":{json.dumps(options)},\n"steps":[\n{rows_text}\n],\n"expect":[\n{states_text}\n]}}\n'
            path = FOLDER / f"{name}.json"
            path.write_text(text, encoding="utf-8")
            print(f"{path.name}: {len(steps)} steps, {len(text) // 1000} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
