"""The scripted API, which also knows what the client is waiting for at this moment."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Mapping

from tests.interop.classify import Object, classify, first_user_text
from tests.interop.mock_anthropic import Handler, MockAnthropic


class _WatchedHandler(Handler):
    mock: WatchedServer

    def answer(self, body: Object) -> None:
        kind = classify(body, {key.lower(): value for key, value in self.headers.items()})
        self.mock.begin_request(kind, first_user_text(body))
        try:
            with contextlib.suppress(OSError):  # the client hung up: an interrupt, or it was killed
                super().answer(body)
        finally:
            self.mock.end_request()

    def send_error_reply(self, error: Object, extra: Mapping[str, str]) -> None:
        self.mock.note_reply("error")
        super().send_error_reply(error, extra)

    def stream(self, reply: Object, message: Object, extra: Mapping[str, str]) -> None:
        self.mock.note_reply(message["stop_reason"])
        super().stream(reply, message, extra)


class WatchedServer(MockAnthropic):
    """Knows which requests are open and which sub-agents are still at it."""

    handler = _WatchedHandler

    def __init__(self, conversations: list[Object], salt: str) -> None:
        super().__init__({"conversations": conversations}, salt=salt)
        self._guard = threading.Lock()
        self._open: Counter[str] = Counter()
        self._request = threading.local()
        self._agents: set[str] = set()
        self.main_stop_reason = ""
        """How the latest main answer ends: tool_use, end_turn or error."""

    def begin_request(self, kind: str, first_text: str) -> None:
        self._request.kind, self._request.agent, self._request.stop_reason = kind, first_text, ""
        with self._guard:
            self._open[kind] += 1
            if kind == "agent":
                self._agents.add(first_text)

    def note_reply(self, stop_reason: str) -> None:
        self._request.stop_reason = stop_reason
        if self._request.kind == "main":
            self.main_stop_reason = stop_reason

    def end_request(self) -> None:
        with self._guard:
            self._open[self._request.kind] -= 1
            if self._request.kind == "agent" and self._request.stop_reason != "tool_use":
                self._agents.discard(self._request.agent)

    def is_answering(self, kind: str) -> bool:
        """Return whether a request of this kind is open."""
        return self._open[kind] > 0

    @property
    def has_agents(self) -> bool:
        """Whether a sub-agent has not given its final answer."""
        return bool(self._agents)
