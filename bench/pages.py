"""Measure the pages of the app over thousands of sessions: a cold start, the palette, the live page, long tasks.

A long task blocks the page for more than 50 ms; nothing that somebody does should block it for 200.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from .browser import Server, run_server
from .corpora import generate_corpus
from .indexes import build_command, delete_index
from .measure import BenchmarkError, compare_programs
from .report import Goal, Part, Report, format_table

_HALF = 0.5
"""The collection `list` has 5,000 sessions; these pages are measured with 2,500."""
_WORDS = ("a", "th", "fix", "test", "read the", "error", "co", "server")
_FIRST_COMMANDS = {"ls": ("ls", "-n", "50"), "usage": ("usage", "--json"), "tree": ("tree", "--json")}
_TIMEOUT_MS = 120_000
_CROWD_SESSION = "cccccccc-0000-4000-8000-000000010000"
_CROWD_AGENTS = 10_000
_NOTE_TASKS = """() => {
  window.benchTasks = [];
  new PerformanceObserver((list) => window.benchTasks.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: "longtask", buffered: true });
}"""
_NOTE_ROWS = """() => {
  const look = () => {
    if (!document.querySelector("tr.session")) return void requestAnimationFrame(look);
    requestAnimationFrame(() => (window.benchRows = performance.now()));
  };
  look();
}"""
_ANSWER_PALETTE = """(word) => new Promise((done) => {
  const list = document.getElementById("palette-list"), field = document.querySelector("#palette input");
  const start = performance.now();
  const observer = new MutationObserver(() => {
    if (!performance.getEntriesByType("resource").some((entry) => entry.startTime >= start
        && entry.name.includes("/api/palette") && entry.responseEnd)) return;
    observer.disconnect();
    requestAnimationFrame(() => done(performance.now() - start));
  });
  observer.observe(list, { childList: true, subtree: true });
  performance.clearResourceTimings();
  field.value = word;
  field.dispatchEvent(new Event("input", { bubbles: true }));
})"""


def measure_app_pages(_runs: int, scale: float) -> Report:
    """The home, palette, live and insights pages over 2,500 sessions: the first visit, and long tasks."""
    config = generate_corpus("list", scale=_HALF * scale)
    files = [path.stat().st_size for path in (config / "projects").rglob("*.jsonl")]
    yield f"  {len(files):,} files, {sum(files) / 1e6:.0f} MB"
    with run_server(config) as server, _Pages(server) as pages:
        paint, rows = pages.visit_cold()
        yield f"  cold start: first paint {paint:.0f} ms, rows {rows:.0f} ms"
        yield Goal("ms from the first paint to rows, with an empty data folder", rows - paint, 1500)
        pages.wait_until_idle()
    with run_server(config) as server, _Pages(server) as pages:
        pages.wait_until_idle()
        yield Goal("ms until the live page appears, at its first visit", pages.time_live(), 1000)
        answers = pages.time_palette()
        yield f"  palette: {', '.join(f'{answer:.0f}' for answer in answers)} ms"
        yield Goal("ms until the palette answers, median", median(answers), 50)
        for name, act in pages.interactions.items():
            tasks = pages.record_tasks(act)
            yield f"  {name}: {len(tasks)} long tasks, {sum(tasks):.0f} ms in all"
            yield Goal(f"ms of the longest task: {name}", max(tasks, default=0), 200)
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as folder:
        _write_crowd(Path(folder))
        with run_server(Path(folder)) as server, _Pages(server) as pages:
            pages.wait_until_idle()
            for name, act in pages.crowd_interactions.items():
                tasks = pages.record_tasks(act)
                yield Goal(
                    f"ms of the longest task with {_CROWD_AGENTS:,} sub-agents: {name}", max(tasks, default=0), 200
                )


def measure_small_files(runs: int, scale: float) -> Report:
    """100,000 small files with an empty data folder: the first rows of home and `ls`, and a fifth of the files."""
    collections = {
        "": generate_corpus("tiny", scale=1.25 * scale),
        ", a fifth": generate_corpus("tiny", scale=scale / 4),
    }
    counts = {name: sum(1 for _ in (folder / "projects").rglob("*.jsonl")) for name, folder in collections.items()}

    def delete_all_indexes(folder: Path, *, is_paused: bool) -> None:
        for other in collections.values():  # their background processes would compete
            delete_index(other)
        delete_index(folder, is_paused=is_paused)

    programs = {
        f"{command}{name}": build_command(folder, *words)._replace(
            prepare=partial(delete_all_indexes, folder, is_paused=command == "tree"), discards_output=True
        )
        for command, words in _FIRST_COMMANDS.items()
        for name, folder in collections.items()
    }
    costs = compare_programs(programs, min(runs, 3))
    for folder in collections.values():
        delete_index(folder)
    yield f"  {', '.join(f'{count:,}' for count in counts.values())} files:"
    yield from format_table(costs, "ls, a fifth")
    for command in _FIRST_COMMANDS:
        ratio = costs[command].cpu / costs[f"{command}, a fifth"].cpu / (counts[""] / counts[", a fifth"])
        yield Goal(f"times the CPU for each file of a fifth: first {command}", ratio, 1.3)
    yield Goal("s until the first ls has printed its first page", costs["ls"].wall, 3)
    with run_server(collections[""]) as server, _Pages(server) as pages:
        yield Goal("ms until home has rows, with an empty data folder", pages.visit_cold()[1], 3000)


def _write_crowd(config: Path) -> None:
    """Write a session whose only turn starts thousands of sub-agents, one after the other."""
    project = config / "projects" / "-home-dana-crowd"
    agents = project / _CROWD_SESSION / "subagents"
    agents.mkdir(parents=True)
    common = {"sessionId": _CROWD_SESSION, "cwd": "/home/dana/crowd", "timestamp": "2026-01-01T10:00:00.000Z"}
    prompt = {"role": "user", "content": "Start many"}
    lines: list[dict[str, Any]] = [{**common, "type": "user", "uuid": "p", "parentUuid": None, "message": prompt}]
    for number in range(_CROWD_AGENTS):
        call, agent = f"call{number}", f"a{number:06}"
        use = {
            "type": "tool_use",
            "id": call,
            "name": "Agent",
            "input": {"description": f"Part {number}", "prompt": "Go."},
        }
        result = {"type": "tool_result", "tool_use_id": call, "content": "Done."}
        answer = {"id": f"m{number}", "role": "assistant", "model": "claude-opus-5", "content": [use]}
        parent = lines[-1]["uuid"]
        lines.append({**common, "type": "assistant", "uuid": f"c{number}", "parentUuid": parent, "message": answer})
        said = {"type": "user", "uuid": f"r{number}", "parentUuid": f"c{number}"}
        outcome = {"message": {"role": "user", "content": [result]}, "toolUseResult": {"agentId": agent}}
        lines.append({**common, **said, **outcome})
        task = {"uuid": f"t{number}", "parentUuid": None, "isSidechain": True, "agentId": agent, "message": prompt}
        (agents / f"agent-{agent}.jsonl").write_text(json.dumps({**common, "type": "user", **task}) + "\n")
    (project / f"{_CROWD_SESSION}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


class _Pages:
    """Chromium on the pages of one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.interactions: dict[str, Callable[[], Any]] = {
            "open the list": lambda: self._page.goto(f"{server.root}/"),
            "scroll to the end of the list": self._scroll_list,
            "filter the list": self._filter_list,
            "open the insights": self._open_insights,
            "open a session": lambda: self._page.goto(f"{server.root}/s/last"),
            "go to the end of the session": lambda: self._page.keyboard.press("End"),
        }

    @property
    def crowd_interactions(self) -> dict[str, Callable[[], Any]]:
        """What to do on the page of a session with thousands of sub-agents."""
        keyboard = self._page.keyboard
        return {
            "open": lambda: self._page.goto(f"{self.server.root}/s/{_CROWD_SESSION}"),
            "show steps": lambda: keyboard.press("v"),
            "show everything": lambda: keyboard.press("v"),
            "scroll": self._scroll_list,
            "list them": lambda: self._page.get_by_role("tab", name="Sub-agents").click(),
        }

    def __enter__(self) -> _Pages:
        import os
        import shutil

        from playwright.sync_api import sync_playwright

        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            raise BenchmarkError("no Chromium; scripts/install-browser installs it")
        self._playwright = sync_playwright().start()
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        self._chromium = self._playwright.chromium.launch(executable_path=program, args=arguments)
        self._page = self._chromium.new_page(viewport={"width": 1440, "height": 900})
        self._page.set_default_timeout(_TIMEOUT_MS)
        for script in (_NOTE_TASKS, _NOTE_ROWS):
            self._page.add_init_script(f"({script})()")
        return self

    def __exit__(self, *_: object) -> None:
        self._chromium.close()
        self._playwright.stop()

    def visit_cold(self) -> tuple[float, float]:
        """Open the list of a server that has no index; return when it was painted, and when it had rows, in ms."""
        self._page.goto(self.server.login_address)
        self._page.locator("tr.session").first.wait_for()
        self._page.wait_for_timeout(200)
        paint = self._page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
        return float(paint), float(self._page.evaluate("window.benchRows"))

    def wait_until_idle(self) -> None:
        """Wait until the index is complete."""
        if self._page.url == "about:blank":
            self._page.goto(self.server.login_address)
        end = time.monotonic() + _TIMEOUT_MS / 1000 * 5
        while self._page.request.get(f"{self.server.root}/api/state").json()["phase"] != "idle":
            if time.monotonic() > end:
                raise BenchmarkError("the index was not complete in time")
            time.sleep(0.2)

    def time_live(self) -> float:
        """Return how long the live page takes until it shows its columns, in ms."""
        start = time.perf_counter()
        self._page.goto(f"{self.server.root}/live", wait_until="commit")
        self._page.locator(".board .columns").wait_for(state="attached")
        return (time.perf_counter() - start) * 1000

    def time_palette(self) -> list[float]:
        """Return how long the palette takes to answer each of some words, in ms."""
        self._page.goto(f"{self.server.root}/")
        self._page.wait_for_load_state("networkidle")
        self._page.keyboard.press("Control+k")
        self._page.locator("#palette [role=option]").first.wait_for()
        self._page.wait_for_timeout(500)
        answers = []
        for word in _WORDS:
            answers.append(float(self._page.evaluate(_ANSWER_PALETTE, word)))
            self._page.wait_for_timeout(400)  # the search of the texts begins after a pause
        return answers

    def record_tasks(self, act: Callable[[], Any]) -> list[float]:
        """Return the duration of the long tasks of an interaction and the second after it, in ms."""
        if self._page.url != "about:blank":
            self._page.evaluate("window.benchTasks = []")
        act()
        self._page.wait_for_timeout(1000)
        return [float(task) for task in self._page.evaluate("window.benchTasks")]

    def _scroll_list(self) -> None:
        for _ in range(20):
            self._page.mouse.wheel(0, 20_000)
            self._page.wait_for_timeout(50)

    def _filter_list(self) -> None:
        self._page.locator("#filter").press_sequentially("test", delay=30)

    def _open_insights(self) -> None:
        self._page.goto(f"{self.server.root}/insights?range=all")
        self._page.locator(".part[aria-busy]").first.wait_for(state="detached")


PARTS: dict[str, Part] = {"app-pages": measure_app_pages, "small-files": measure_small_files}
