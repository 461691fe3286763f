"""Measure a real server in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

from .measure import BenchmarkError, build_environ

_RECORD_FRAMES = """(ms) => new Promise((done) => {
  const times = [], end = performance.now() + ms;
  const step = (now) => {
    times.push(now);
    if (STEP) window.scrollBy(0, STEP);
    now < end ? requestAnimationFrame(step) : done(times);
  };
  requestAnimationFrame(step);
})"""


_NOTE_FIRST_SIGHT = """() => {
  const look = () => {
    const element = document.querySelector(location.pathname.startsWith("/s/") ? "article.item.prompt" : "body");
    if (!element?.getBoundingClientRect().height) return void requestAnimationFrame(look);
    requestAnimationFrame(() => (window.benchSeen = performance.now()));
  };
  look();
}"""
"""Records when the awaited element was first painted, in ms from the start of the navigation."""


class Frames(NamedTuple):
    """The duration of frames, in ms."""

    p50: float
    p95: float


class Server:
    """A `turnlog web` process that serves one config folder and has its own data folder."""

    def __init__(self, process: subprocess.Popen[str], address: str, config: Path) -> None:
        self.process = process
        self.login_address = address
        self.root = re.sub(r"^(https?://[^/]+).*$", r"\1", address.strip())
        self.config = config

    @property
    def session(self) -> str:
        """The address of the only session."""
        return self.build_address(next((self.config / "projects").glob("*/*.jsonl")).stem)

    def build_address(self, session: str) -> str:
        return f"{self.root}/s/{session}"

    def measure_memory(self) -> float:
        """Return the resident memory of the server, in MB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+) kB", text)
        return int(match[1]) / 1000 if match else 0.0


@contextmanager
def run_server(config: Path) -> Iterator[Server]:
    """Run a server until the block ends."""
    # The process that builds the index may write for a moment after the server has ended.
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-", ignore_cleanup_errors=True) as home:
        environ = {**build_environ(), "TURNLOG_HOME": home, "CLAUDE_CONFIG_DIR": str(config)}
        command = [sys.executable, "-m", "turnlog", "web", "--no-open", "--port", "0"]
        process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            yield Server(process, _read_address(process), config)
        finally:
            process.terminate()
            process.wait(10)


def _read_address(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if match := re.search(r"http://\S+", line):
            return match[0]
    raise BenchmarkError("the server did not start")


class Browser:
    """Chromium with one page."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def __enter__(self) -> Self:
        try:
            from playwright.sync_api import sync_playwright
        except ImportError as error:
            raise BenchmarkError(str(error)) from None
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            raise BenchmarkError("no Chromium; scripts/install-browser installs it")
        self._playwright = sync_playwright().start()
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        self._chromium = self._playwright.chromium.launch(executable_path=program, args=arguments)
        self._page = self._chromium.new_page(viewport={"width": 1280, "height": 900})
        self._page.add_init_script(f"({_NOTE_FIRST_SIGHT})()")
        self.log_in(self.server)
        return self

    def __exit__(self, *_: object) -> None:
        self._chromium.close()
        self._playwright.stop()

    def log_in(self, server: Server) -> None:
        """Open the address that sets the cookie."""
        self._page.goto(server.login_address)

    def time_blank_page(self) -> float:
        """Return how long an empty page takes to appear, in ms."""
        return self._time_first_sight(f"{self.server.root}/api/state")

    def time_first_message(self, address: str) -> float:
        """Return how long the first message of a session takes to appear, in ms."""
        self._page.goto(f"{self.server.root}/api/state")
        return self._time_first_sight(address)

    def _time_first_sight(self, address: str) -> float:
        self._page.goto(address)
        for _ in range(600):
            if seen := self._page.evaluate("window.benchSeen ?? 0"):
                return float(seen)
            self._page.wait_for_timeout(20)
        raise BenchmarkError(f"{address}: nothing appeared")

    def visit_home(self) -> None:
        """Open the list of sessions first, as most users do."""
        self._page.goto(self.server.root, wait_until="networkidle")

    def wait_until_idle(self, address: str) -> None:
        """Wait until the server has read the whole session and is idle."""
        self.time_first_message(address)
        self._page.locator(".session:not([data-reading])").wait_for(timeout=120_000)
        for _ in range(600):
            if self._page.request.get(f"{self.server.root}/api/state").json()["phase"] == "idle":
                return
            time.sleep(0.1)

    def time_idle_frames(self) -> Frames:
        """Measure frames while the page does nothing."""
        self._page.goto(f"{self.server.root}/api/state")
        return self._record_frames(1, 0)

    def time_scroll_frames(self, seconds: float) -> Frames:
        """Measure frames while the page scrolls through a session."""
        self.time_first_message(self.server.session)
        self._page.wait_for_timeout(500)
        return self._record_frames(seconds, 60)

    def _record_frames(self, seconds: float, step: int) -> Frames:
        times: list[float] = self._page.evaluate(_RECORD_FRAMES.replace("STEP", str(step)), seconds * 1000)
        gaps = sorted(after - before for before, after in pairwise(times))
        return Frames(gaps[len(gaps) // 2], gaps[int(len(gaps) * 0.95)])

    def measure_heap(self) -> float:
        """Return the size of the page's heap after a garbage collection, in MB."""
        session = self._page.context.new_cdp_session(self._page)
        session.send("HeapProfiler.collectGarbage")
        used: dict[str, Any] = session.send("Runtime.getHeapUsage")
        return float(used["usedSize"]) / 1e6

    def can_reach_end(self, address: str) -> bool:
        """Return whether the End key brings the last message into view."""
        self.time_first_message(address)
        self._page.locator(".outline-list ol.windowed").wait_for(state="attached")  # from now on, the page handles keys
        self._page.keyboard.press("End")
        from playwright.sync_api import TimeoutError as PlaywrightTimeout

        last = self._page.locator("section.window").last.locator("article.item").last
        try:
            last.wait_for(timeout=5000)
        except PlaywrightTimeout as error:
            raise BenchmarkError(f"the end was not reached: {error}") from error
        return True
