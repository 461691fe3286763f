"""Take the screenshots of the web app for the documentation (`make screenshots`).

They show the bundled demo sessions as if they were the user's own, in the Chromium that the tests use.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, StorageState, sync_playwright

from turnlog.demo import config_dir
from turnlog.entries.clients import read_process_identity

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SESSION = "22161731-8bcf-4128-85af-0e07ad0577f4"
OTHER = "bee7dbd3-a71b-48ef-8c53-70ecb3f99f59"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Shot(NamedTuple):
    """One screenshot."""

    name: str
    address: str
    open: tuple[str, ...] = ()
    """Selectors of the elements to click first."""
    at: str = ""
    """Selector of the element to scroll to."""
    width: int = 1280
    height: int = 820


SHOTS = (
    Shot("home", "/"),
    Shot("session", f"/s/{SESSION}"),
    Shot("cards", f"/s/{SESSION}", at="details.card.family-writing"),
    Shot("search", "/search?q=discount"),
    Shot("insights", "/insights?range=all"),
    Shot("live", "/live"),
    Shot("phone", f"/s/{SESSION}", width=390, height=780),
)


def main() -> int:
    """Take all screenshots, in light and dark mode."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("make_screenshots: no Chromium; scripts/install-browser installs it", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with run_server() as address, sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        first = browser.new_context()
        first.new_page().goto(address)
        cookies, root = first.storage_state(), re.sub(r"^(http://[^/]+).*", r"\1", address)
        for shot in SHOTS:
            for scheme in ("light", "dark"):
                take_screenshot(browser, root, cookies, shot, scheme)
        browser.close()
    return 0


def take_screenshot(browser: Browser, root: str, cookies: StorageState, shot: Shot, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if scheme == "dark" else "light",
        storage_state=cookies,
        reduced_motion="reduce",
        timezone_id="UTC",
        locale="en-GB",
    )
    page = context.new_page()
    page.goto(root + shot.address)
    page.wait_for_load_state("networkidle") if shot.name != "live" else page.wait_for_timeout(1000)
    for selector in shot.open:
        page.locator(selector).first.click()
    if shot.at:
        page.locator(shot.at).first.evaluate("element => element.scrollIntoView({block: 'center'})")
    page.wait_for_timeout(700)
    path = IMAGES / f"{shot.name}-{scheme}.png"
    page.screenshot(path=path)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} KB")
    context.close()


def set_file_times(config: Path) -> None:
    """Set the time of each file to its latest entry."""
    for path in config.rglob("*.jsonl"):
        if times := _TIME.findall(path.read_text("utf-8")):
            then = datetime.fromisoformat(max(times)).timestamp()
            os.utime(path, (then, then))


def add_active_sessions(config: Path) -> Mapping[str, str]:
    """Add two active sessions: one waits for an answer, and one runs the tests; return the state of each."""
    states = {}
    active = ((SESSION, '"name":"AskUserQuestion"', "waiting"), (OTHER, '"name":"Bash"', "busy"))
    for number, (session, until, state) in enumerate(active):
        source = next(config.glob(f"projects/*/{session}.jsonl"))
        lines = source.read_text("utf-8").splitlines(keepends=True)
        end = next(place for place, line in enumerate(lines) if until in line)
        name = f"{number}{session[1:]}"
        text = "".join(lines[: end + 1]).replace(session, name)
        last = datetime.fromisoformat(max(_TIME.findall(text)))
        shift = datetime.now(UTC) - timedelta(seconds=2 + number) - last
        source.with_name(f"{name}.jsonl").write_text(shift_times(text, shift), "utf-8")
        states[name] = state
    return states


@contextmanager
def run_client(config: Path, session: str, state: str) -> Iterator[None]:
    """Run a process that is registered as the client of a session."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        registration = {"pid": process.pid, "sessionId": session, "status": state}
        folder = config / "sessions"
        folder.mkdir(exist_ok=True)
        text = json.dumps(registration | dict(read_process_identity(process.pid)))
        (folder / f"{process.pid}.json").write_text(text, "utf-8")
        try:
            yield
        finally:
            process.kill()


def shift_times(text: str, shift: timedelta) -> str:
    """Shift every time in a transcript."""

    def shift_time(match: re.Match[str]) -> str:
        return (datetime.fromisoformat(match[0]) + shift).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    return _TIME.sub(shift_time, text)


@contextmanager
def run_server() -> Iterator[str]:
    """Serve a copy of the demo sessions, and yield the address with the login token."""
    with tempfile.TemporaryDirectory(prefix="turnlog-pictures-") as folder, ExitStack() as clients:
        config = Path(folder) / "claude"
        shutil.copytree(config_dir(), config)
        set_file_times(config)
        for session, state in add_active_sessions(config).items():
            clients.enter_context(run_client(config, session, state))
        environ = {**os.environ, "TURNLOG_HOME": str(Path(folder) / "home"), "CLAUDE_CONFIG_DIR": str(config)}
        command = [sys.executable, "-m", "turnlog", "web", "--no-open", "--port", "0"]
        process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
        try:
            yield next(match[0] for line in process.stdout or () if (match := re.search(r"http://\S+", line)))
        finally:
            process.terminate()
            process.wait(10)


if __name__ == "__main__":
    sys.exit(main())
