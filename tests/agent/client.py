"""The whole client in this process: its settings, tools, permissions and record, at a server that looks at requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent.api import Api
from tests.agent.desk import Desk
from tests.model.server import endpoint
from turnlog.agent.events import ConversationCompacted, TurnEnded, TurnEvent, WarningIssued
from turnlog.agent.person import Nobody, Person
from turnlog.agent.resume.resume import load_resumable_session
from turnlog.agent.session_starter import SessionStarter
from turnlog.agent.slash_commands import run_slash_command
from turnlog.agent.start_options import StartOptions
from turnlog.agent.started_session import StartedSession
from turnlog.model.anthropic import connect_model
from turnlog.model.cancel import Cancel
from turnlog.model.retries import RetryPolicy
from turnlog.session.check import check
from turnlog.session.messages import FILLER_TEXT
from turnlog.session.session import Session

QUICK = RetryPolicy(attempts=3, first=0.001, longest=0.002)
Json = dict[str, Any]
FILLER: Json = {"role": "assistant", "content": [{"type": "text", "text": FILLER_TEXT}]}


class Client:
    """One session at work."""

    def __init__(self, desk: Desk, person: Person | None = None, **wishes: Any) -> None:
        self.desk = desk
        self.api: Api = desk.mock  # type: ignore[assignment]
        self.events: list[TurnEvent] = []
        self.model = connect_model(endpoint(desk.mock.url), QUICK)
        self.hear: Callable[[TurnEvent], None] = lambda _: None
        starting = SessionStarter(desk.cwd, desk.base / "data", desk.environ, self.model)
        self.begun: StartedSession = starting.begin_session(
            StartOptions(**{"model": "opus", **wishes}), self._watch, person or Nobody()
        )
        self.loop = self.begun.loop

    def _watch(self, event: TurnEvent) -> None:
        self.events.append(event)
        self.hear(event)

    def say(self, text: str = "go on", cancel: Cancel | None = None) -> TurnEnded:
        """One turn, after which what stands in memory stands on disk."""
        ended = self.loop.run_turn(text, cancel or Cancel())
        self.must_be_sound()
        return ended

    def command(self, text: str) -> list[str] | None:
        """A slash command."""
        return run_slash_command(self, text)

    def compact(self, instructions: str) -> bool:
        """Replace the conversation by a summary."""
        self.loop.compact(instructions, Cancel())
        return True

    def clear(self) -> None:
        """Not needed here."""

    def resume(self, name: str) -> bool:
        """Not needed here."""
        return False

    def rewind(self) -> tuple[str, ...]:
        """Not needed here."""
        return ()

    def edit_file(self, path: Path) -> None:
        """Not needed here."""

    def leave(self) -> None:
        """Not needed here."""

    @property
    def path(self) -> Path:
        """The file of the session."""
        return self.loop.record.path

    def must_be_sound(self) -> None:
        """Nothing was refused, and the file says what the memory says."""
        assert self.api.refused == [], self.api.refused
        sound(self.path)
        written, known = on_disk(self.path), in_memory(self.loop.conversation.messages)
        if known[-1:] == [FILLER] and load_resumable_session(self.path).is_unanswered:
            known.pop()  # made up when the session was resumed; it is written with the next prompt
        assert written == known, f"\n{json.dumps(written, indent=1)}\n{json.dumps(known, indent=1)}"

    def list_events(self, kind: type[ConversationCompacted] | type[WarningIssued]) -> list[Any]:
        """Events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.begun.close()


def sound(path: Path) -> None:
    """A session in which nothing is wrong; a process that was killed may leave a torn line and open calls."""
    with Session.open(path) as session:
        assert [finding.text for finding in check(session, requests=True) if finding.severity == "error"] == []


def on_disk(path: Path) -> list[Json]:
    """What a session that is taken up again would send, without what is made up at its end."""
    found = load_resumable_session(path)
    messages = [plain(message) for message in found.messages]
    if found.is_unanswered and messages[-1:] == [FILLER]:
        messages.pop()
    return messages


def in_memory(messages: Any) -> list[Json]:
    """Messages in plain values."""
    return [plain(message) for message in messages]


def plain(message: Any) -> Json:
    """A message as JSON has it."""
    made: Json = json.loads(json.dumps(message))
    return made
