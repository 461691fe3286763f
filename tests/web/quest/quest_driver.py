"""Drives the quest's page: lets sessions be written, and reads the world that the page shows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.live.clock import build_now, register_client
from tests.session.build import Build, encode_lines
from tests.web import writer
from tests.web.conftest import Folders

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE_SECONDS = 90.0

_RECORD = """() => {
  const root = document.querySelector(".quest");
  window.seen = [];
  root.addEventListener("quest:event", ({ detail: { event, state } }) => {
    const heroes = state.party.map((hero) => ({
      session: hero.session,
      playing: [hero.anim, ...hero.queue],
    }));
    window.seen.push({ game: event.game, session: event.session, actor: event.actor, biome: state.biome, heroes });
  });
}"""


class LiveStory:
    """A session that is written line by line, now."""

    def __init__(self, folders: Folders, name: str, slug: str) -> None:
        self.build: Build = build_now()
        self.name = name
        self._cwd = f"/home/dana/{slug}"
        self._done = 0
        self.build.prompt(f"begin {slug}", "first")
        self.path = folders.add(name, b"", f"-home-dana-{slug}")
        self.write()

    def write(self) -> None:
        """Append what was built since the last time."""
        lines = [{**line, "sessionId": self.name, "cwd": self._cwd} for line in self.build.lines[self._done :]]
        with self.path.open("ab") as file:
            file.write(encode_lines(lines))
        self._done = len(self.build.lines)

    def run_call(self, call: str, name: str, given: dict[str, Any], *, error: bool | None = None) -> None:
        self.build.call(call, name, given)
        self.build.result(call, "Exit code 1" if error else "done", error=error)
        self.write()

    def start_agent(self, agent: str, kind: str) -> Path:
        """A sub-agent's file with its first answer."""
        folder = self.path.with_suffix("") / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"agent-{agent}.meta.json").write_text(
            json.dumps({"agentType": kind, "description": f"task {agent}"})
        )
        file = folder / f"agent-{agent}.jsonl"
        file.write_bytes(
            writer.answer(f"{agent}-1", "looking", isSidechain=True, agentId=agent, sessionId=self.name, cwd=self._cwd)
        )
        return file


@contextmanager
def live_story(folders: Folders, name: str, slug: str) -> Iterator[LiveStory]:
    """A session that a client has open, for as long as the block lasts."""
    story = LiveStory(folders, name, slug)
    client = register_client(folders.config, name)
    try:
        yield story
    finally:
        client.unlink()


def open_quest(page: Page, address: str = "/quest") -> None:
    """Open a page of the quest, and record what happens in it."""
    page.goto(address)
    page.locator(".quest[data-ready=true]").wait_for(timeout=PATIENCE_SECONDS * 1000)
    page.evaluate(_RECORD)


def read_state(page: Page) -> Any:
    return page.evaluate("document.querySelector('.quest').quest.state")


def read_events(page: Page) -> list[dict[str, Any]]:
    """The events so far, with what each hero plays right after each."""
    found: list[dict[str, Any]] = page.evaluate("window.seen")
    return found


def wait_until(page: Page, check: Callable[[], Any], what: str) -> Any:
    """Ask again and again until something is true, and give it back."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (value := check()):
        assert time.monotonic() < end, f"{what}: {[(one['game'], one['session']) for one in read_events(page)][-12:]}"
        page.wait_for_timeout(60)
    return value


def wait_for_event(page: Page, game: str, **fields: Any) -> dict[str, Any]:
    """The first event of a kind."""
    wanted = {"game": game, **fields}
    found = wait_until(page, lambda: [one for one in read_events(page) if wanted.items() <= one.items()], str(wanted))
    assert isinstance(found, list)
    first: dict[str, Any] = found[0]
    return first


def send_event(page: Page, game: str, **fields: Any) -> None:
    """Let an event arrive that no session has caused."""
    page.evaluate("(event) => document.querySelector('.quest').quest.receive(event)", {"game": game, **fields})


def step_frames(page: Page, count: int) -> list[dict[str, Any]]:
    """Let some frames of a paused world pass; the state after each."""
    states: list[dict[str, Any]] = page.evaluate(
        """(count) => Array.from({ length: count }, () => {
          document.querySelector(".quest [data-act=step]").click();
          return document.querySelector(".quest").quest.state;
        })""",
        count,
    )
    return states
