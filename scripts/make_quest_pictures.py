"""Take the pictures of the quest for the documentation (`make screenshots`): landscapes, frames, and the README's.

They are drawn by the modules of the page, from made-up events.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from make_quest_vectors import send, wait
from playwright.sync_api import Page
from quest_page import open_module_page

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
STRIPS = "idle enter walk casting attack writing thinking hurt victory pose rest waiting poof".split()
STRIP_FRAMES = 10
OUTFITS = (
    {"hat": "hat-wizard", "face": None, "aura": None, "trail": "trail-sparkle"},
    {"hat": "hat-horned", "face": "face-beard", "aura": None, "trail": None},
    {"hat": "hat-halo", "face": None, "aura": None, "trail": None},
    {"hat": "hat-crown", "face": "face-shades", "aura": "aura-rainbow", "trail": None},
)

PREPARE = """async () => {
  const load = (name) => import(`/web/static/quest/${name}.js`);
  const [world, draw, art] = await Promise.all(["world", "draw", "art"].map(load));
  window.tools = { ...world, ...draw, createCanvas: art.createCanvas, art: await art.loadArt("/quest/sheets") };
  await tools.art.loadAll();
}"""
SCENE = """([options, steps, scale]) => {
  let state = tools.createWorld(options);
  for (const { dt, event } of steps) state = tools.step(state, event ?? null, dt);
  const canvas = tools.createCanvas(320, 200);
  tools.draw(canvas.getContext("2d"), state, tools.art);
  const large = tools.createCanvas(320 * scale, 200 * scale);
  const context = large.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(canvas, 0, 0, large.width, large.height);
  return large.toDataURL();
}"""
STRIP = """([anim, count, scale]) => {
  const { art } = tools;
  const { frames } = art.layout.sheets.hero.rows[anim];
  const canvas = tools.createCanvas(count * 36, 54);
  const context = canvas.getContext("2d");
  context.fillStyle = "#2f4a52";
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (let number = 0; number < count; number += 1) {
    const frame = Math.floor((number * frames) / count);
    art.drawFrame(context, "hero", anim, frame, number * 36 + 2, 2);
    art.drawFrame(context, "companion", anim, frame, number * 36 + 10, 36);
  }
  const large = tools.createCanvas(canvas.width * scale, canvas.height * scale);
  const target = large.getContext("2d");
  target.imageSmoothingEnabled = false;
  target.drawImage(canvas, 0, 0, large.width, large.height);
  return large.toDataURL();
}"""


def build_start(title: str, worn: Mapping[str, str | None], session: str = "s0", share: float = 0.3) -> list[Any]:
    """A hero that has entered, and the profile."""
    bounds = {"level": 7, "xp": 5700, "level_xp": 4900, "next": 6400, "flow": 0.7, "chests": []}
    return [
        send("enter", 0, session, project="/p", title=title, biome=0),
        send("context", 0, session, used=60, window=200, share=share),
        send("profile", 0, profile={**bounds, "worn": worn}),
        wait(1.2),
    ]


TODOS = [
    {"text": "Find the rounding", "status": "completed"},
    {"text": "Fix it", "status": "in_progress"},
    {"text": "Test it", "status": "pending"},
]
FOREST_STEPS = [
    *build_start("Fix the rounding", OUTFITS[0]),
    send("agent_start", 0, "s0", agent="a1", agent_type="Explore", description=""),
    send("agent_start", 0, "s0", agent="a2", agent_type="Plan", description=""),
    send("todos", 0, "s0", items=TODOS),
    wait(1.2),
    send("quest", 0.1, "s0", text="Totals are off by a cent. Find out where they are rounded.", level="hard"),
    wait(0.7),
    send("read", 0.1, "s0", tool="Grep"),
    send("read", 0.3, "s0", tool="Read", xp=[{"amount": 5, "reason": "read"}]),
    wait(0.3),
]
MOUNTAIN_STEPS = [
    *build_start("Forecast the tides", OUTFITS[1], share=0.78),
    wait(2),
    send("error", 0, "s0", source="api", text="529 Overloaded", attempt=2),
    wait(0.3),
    send("error", 0, "s0", source="call", text="Exit code 1: two tests failed"),
    wait(0.55),
]
MIDNIGHT_STEPS = [
    *build_start("Translate the manual", OUTFITS[2], share=0.94),
    send("agent_start", 0, "s0", agent="a1", agent_type="general-purpose", description=""),
    wait(1),
    send("compact_start", 0, "s0"),
    wait(2.2),
]
KINGDOM_STEPS = [
    *build_start("Release 2.0", OUTFITS[3], share=0.1),
    send("text", 0, "s0", text="Pushed."),
    wait(0.4),
    send("ship", 0, "s0", kind="push", url=None),
    wait(0.5),
]
LIBRARY_STEPS = [
    *build_start("Choose a database", OUTFITS[0], share=0.55),
    send("todos", 0, "s0", items=TODOS),
    send("think", 0, "s0", text="The index would be larger than the table. A covering index may do.", level="hard"),
    wait(1.1),
]
PARTY_STEPS = [
    *build_start("Fix the rounding", OUTFITS[0]),
    *build_start("Release 2.0", OUTFITS[0], "s1", 0.8),
    *build_start("Translate", OUTFITS[0], "s2", 0.2),
    *[
        send("agent_start", 0, "s0", agent=f"a{n}", agent_type=kind, description="")
        for n, kind in enumerate(["Explore"])
    ],
    send("agent_start", 0, "s2", agent="b1", agent_type="Plan", description=""),
    send("todos", 0, "s0", items=TODOS),
    wait(1.2),
    send("permission", 0.1, "s1", tool="Bash", title="git push --tags"),
    send("error", 0.1, "s2", source="call", text=""),
    wait(0.45),
    send("bash", 0, "s0", tool="Bash"),
    wait(0.3),
]
SCENES: Mapping[str, tuple[Mapping[str, Any], Sequence[Any], int]] = {
    "quest-forest": ({"biome": 0, "minute": 600, "seed": 3}, FOREST_STEPS, 2),
    "quest-mountain": ({"biome": 1, "minute": 900, "seed": 4}, MOUNTAIN_STEPS, 2),
    "quest-midnight": ({"biome": 2, "minute": 1400, "seed": 5}, MIDNIGHT_STEPS, 2),
    "quest-kingdom": ({"biome": 3, "minute": 720, "seed": 6}, KINGDOM_STEPS, 2),
    "quest-library": ({"biome": 4, "minute": 1130, "seed": 7}, LIBRARY_STEPS, 2),
    "quest": ({"biome": 3, "minute": 640, "seed": 8}, PARTY_STEPS, 3),
}


def save_picture(name: str, address: str) -> None:
    path = IMAGES / f"{name}.png"
    path.write_bytes(base64.b64decode(address.partition(",")[2]))
    print(f"{path.name}: {path.stat().st_size // 1000} KB")


def take_pictures(page: Page) -> None:
    page.evaluate(PREPARE)
    for name, (options, steps, scale) in SCENES.items():
        save_picture(name, page.evaluate(SCENE, [options, steps, scale]))
    for name in STRIPS:
        save_picture(f"quest-strip-{name}", page.evaluate(STRIP, [name, STRIP_FRAMES, 2]))


def main() -> int:
    """Take all pictures."""
    with open_module_page() as page:
        take_pictures(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
