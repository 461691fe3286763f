"""What the quest costs in a browser: a large party, compared with an empty canvas and a blank page of the same server.

The server has no sessions; the page gets the events of a made-up party. See bench/README.md.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from .browser import Browser, run_server
from .report import Goal, Part, Report

_HEROES, _COMPANIONS = 8, 20
_SECONDS = 12
_REPLAY_STEPS = 43_200
"""Two seconds of a day each; a replay compresses them to a quarter of a second."""
_EVENTS = (
    "read",
    "bash",
    "write",
    "web",
    "think",
    "tool",
    "text",
    "error",
    "context",
    "todos",
    "result",
    "turn_finish",
)

_BUILD_PARTY = """
const HEROES = %d, COMPANIONS = %d, NAMES = %s;
const TYPES = ["Explore", "Plan", "general-purpose"];
const agents = Array.from({ length: COMPANIONS }, (_, number) => ({
  agent: `a${number}`, agent_type: TYPES[number % 3], description: "", waiting: null,
}));
const sessions = Array.from({ length: HEROES }, (_, number) => ({
  session: `s${number}`, project: `/p/${number}`, title: `Session ${number}`, biome: number % 5, mode: "active",
  todos: [], waiting: null, context: { used: 50, window: 200, share: 0.25 },
  agents: agents.filter((_, place) => place % HEROES === number),
}));
const worn = { hat: "hat-wizard", face: "face-shades", aura: "aura-rainbow", trail: "trail-sparkle" };
const profile = { level: 7, xp: 5000, level_xp: 4900, next: 6400, flow: 0.5, unlocked: [], worn, chests: [] };
const nextEvent = (number) => {
  const hero = number % HEROES, game = NAMES[(number * 7 + (number >> 3)) % NAMES.length];
  return {
    game, session: `s${hero}`, actor: number % 3 ? "main" : `a${(hero + HEROES * (number % 2)) % COMPANIONS}`,
    text: `Number ${number % 50}: what is the answer to the question of this event, and why?`,
    tool: `Tool ${number % 9}`, target: "/x", category: "bash", outcome: "ok", source: "call", streak: 1,
    level: "none", seconds: 1, used: number % 200, window: 200, share: (number % 200) / 200,
    xp: [{ amount: 5, reason: "read" }],
    items: [{ text: "One", status: "completed" }, { text: "Two", status: "in_progress" }],
  };
};
"""
_BUILD_PARTY = _BUILD_PARTY.replace("%d", str(_HEROES), 1).replace("%d", str(_COMPANIONS), 1)
_BUILD_PARTY = _BUILD_PARTY.replace("%s", json.dumps(_EVENTS), 1)

_PLAY = (
    """async (ms) => {"""
    + _BUILD_PARTY
    + """
  const { quest } = document.querySelector(".quest");
  quest.receive({ game: "snapshot", sessions, profile });
  quest.receive({ game: "quest", session: "s0", actor: "main", text: "Ultrathink", level: "ultra" });
  await new Promise((done) => setTimeout(done, 2000));
  quest.screen.costs.length = 0;
  const times = [], end = performance.now() + ms;
  let number = 0;
  const timer = setInterval(() => quest.receive(nextEvent(number++)), 50);
  await new Promise((done) => {
    const step = (now) => (times.push(now), performance.now() < end ? requestAnimationFrame(step) : done());
    requestAnimationFrame(step);
  });
  clearInterval(timer);
  const party = quest.state.party;
  return {
    times, costs: [...quest.screen.costs], scale: quest.screen.scale,
    heroes: party.length, companions: party.reduce((sum, hero) => sum + hero.companions.length, 0),
  };
}"""
)
_EMPTY_CANVAS = """(ms) => new Promise((done) => {
  const canvas = document.createElement("canvas");
  canvas.width = 320;
  canvas.height = 200;
  canvas.style.cssText = "width: 640px; height: 400px; image-rendering: pixelated";
  document.body.append(canvas);
  const context = canvas.getContext("2d"), times = [], end = performance.now() + ms;
  let count = 0;
  const step = (now) => {
    times.push(now);
    context.fillStyle = count++ % 2 ? "#000" : "#111";
    context.fillRect(0, 0, 320, 200);
    now < end ? requestAnimationFrame(step) : done(times);
  };
  requestAnimationFrame(step);
})"""
_REPLAY_DAY = (
    """async ([from, to]) => {"""
    + _BUILD_PARTY
    + """
  const { createWorld, step } = await import("/static/quest/world.js");
  const { draw } = await import("/static/quest/draw.js");
  const { quest } = document.querySelector(".quest");
  window.day ??= step(createWorld({}), { game: "snapshot", sessions, profile }, 0);
  for (let number = from; number < to; number += 1) {
    window.day = step(window.day, nextEvent(number), 0.25);
    if (number % 20 === 0) draw(quest.screen.context, window.day, quest.art);
    if (number % 2000 === 0) await new Promise((done) => setTimeout(done));
  }
}"""
)
_WEIGH = """() => performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
  .filter((one) => !one.name.includes("/api/") && !one.name.includes("/quest/events"))
  .reduce((sum, one) => sum + one.encodedBodySize, 0)"""


class QuestBrowser(Browser):
    """Chromium with the quest's page, twice as large as its pixels."""

    def open_quest(self) -> float:
        """Open the page; return when its first frame was drawn, in ms from the start of the navigation."""
        self._page.goto(f"{self.server.root}/api/state")
        self._page.set_viewport_size({"width": 800, "height": 620})
        self._page.goto(f"{self.server.root}/quest")
        self._page.locator(".quest[data-ready=true]").wait_for()
        return float(self._page.evaluate("performance.getEntriesByName('quest-first-frame')[0].startTime"))

    def play_party(self) -> dict[str, Any]:
        found: dict[str, Any] = self._page.evaluate(_PLAY, _SECONDS * 1000)
        return found

    def time_empty_canvas(self) -> list[float]:
        self._page.goto(f"{self.server.root}/api/state")
        times: list[float] = self._page.evaluate(_EMPTY_CANVAS, _SECONDS * 500)
        return times

    def replay_hours(self, begin: int, end: int) -> float:
        """Play some hours of the day, and return the heap afterwards, in MB."""
        steps = _REPLAY_STEPS // 24
        self._page.evaluate(_REPLAY_DAY, [begin * steps, end * steps])
        return self.measure_heap()

    def weigh_page(self) -> float:
        """Return the size of everything that the page has loaded, as it was sent, in KB."""
        return float(self._page.evaluate(_WEIGH)) / 1000


def measure_quest(runs: int, scale: float) -> Report:
    """A party of 8 heroes with 20 companions: frames, first frame, weight, and the heap over a day."""
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as folder:
        (Path(folder) / "projects").mkdir()
        with run_server(Path(folder)) as server, QuestBrowser(server) as browser:
            blank, first = [], []
            cold = browser.open_quest()
            for _ in range(max(runs, 5)):
                blank.append(browser.time_blank_page())
                first.append(browser.open_quest())
            yield f"  blank page {_take_median(blank):.0f} ms, first frame {_take_median(first):.0f} ms"
            yield f"         with nothing cached, and a server that has just started: {cold:.0f} ms"
            yield Goal("ms from a blank page to the first frame", _take_median(first) - _take_median(blank), 300)
            empty = _sort_gaps(browser.time_empty_canvas())
            browser.open_quest()
            party = browser.play_party()
            yield Goal("KB sent for the page, the frame of every page included", browser.weigh_page(), 200)
            gaps, costs = _sort_gaps(party["times"]), sorted(party["costs"])
            crowd = f"{party['heroes']} heroes and {party['companions']} companions"
            yield f"  {crowd} at {party['scale']}x: {len(costs)} frames"
            yield f"         script and drawing: median {_take_median(costs):.1f} ms"
            yield Goal("ms of script and drawing, the slowest of 100 frames", _take_share(costs, 0.99), 8)
            yield Goal("times the frames of an empty canvas (median)", _take_median(gaps) / _take_median(empty), 1.5)
            yield Goal(
                "times the frames of an empty canvas (of 20)", _take_share(gaps, 0.95) / _take_share(empty, 0.95), 1.5
            )
            browser.open_quest()
            hours = max(6, int(24 * scale))
            early = browser.replay_hours(0, 6)
            yield f"         heap after 6 hours {early:.1f} MB"
            yield Goal(f"times the heap of 6 hours after {hours}", browser.replay_hours(6, hours) / early, 1.1)


def _sort_gaps(times: list[float]) -> list[float]:
    return sorted(after - before for before, after in pairwise(times))


def _take_median(values: list[float]) -> float:
    return _take_share(sorted(values), 0.5)


def _take_share(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


PARTS: Mapping[str, Part] = {"quest": measure_quest}
