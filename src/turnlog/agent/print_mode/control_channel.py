"""Requests to a program that runs turnlog: written to standard output, answered on standard input.

Several threads may ask at the same time, and each waits for its own answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from uuid import uuid4

from turnlog.model.cancel import Cancel

Object = Mapping[str, Any]


class ControlAnswer(NamedTuple):
    content: Object | None = None
    error: str = ""
    """Why there is no answer."""
    is_withdrawn: bool = False
    """Whether the question was withdrawn, because the turn is over."""


class ControlChannel:
    """Sends control requests and passes on the answers."""

    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        self._write = write
        self._lock = threading.Condition()
        self._waiting: dict[str, str] = {}
        """The subtypes of the requests that wait for an answer, by name."""
        self._answers: dict[str, ControlAnswer] = {}
        self.is_closed = False
        """Whether no more answers can arrive."""

    def send_request(
        self, request: dict[str, Any], seconds: float | None = None, cancel: Cancel | None = None
    ) -> ControlAnswer:
        """Send a request and wait for its answer; raise RequestCancelled if `cancel` is set first."""
        name = str(uuid4())
        with self._lock:
            self._waiting[name] = str(request.get("subtype"))
        self._write({"type": "control_request", "request_id": name, "request": request})
        if cancel is None:
            return self._wait_for_answer(name, seconds)
        try:
            with cancel.on_cancel(lambda: self._withdraw_request(name)):
                answer = self._wait_for_answer(name, seconds)
        finally:
            self._waiting.pop(name, None)
        cancel.check()
        return answer

    def _wait_for_answer(self, name: str, seconds: float | None) -> ControlAnswer:
        with self._lock:
            is_answered = self._lock.wait_for(lambda: name in self._answers or self.is_closed, seconds)
            self._waiting.pop(name, None)
            gone = "standard input was closed, so nobody can answer" if is_answered else "timed out"
            return self._answers.pop(name, ControlAnswer(error=gone))

    def _withdraw_request(self, name: str) -> None:
        with self._lock:
            if name not in self._waiting:
                return
            self._answers[name] = ControlAnswer(is_withdrawn=True)
            self._lock.notify_all()
        self._write({"type": "control_cancel_request", "request_id": name})

    def accept_response(self, response: Object) -> None:
        """Pass an answer from the program to the request that is waiting for it."""
        content = response.get("response") if response.get("subtype") == "success" else None
        failure = ControlAnswer(error=str(response.get("error") or "The program failed to answer."))
        with self._lock:
            if (name := str(response.get("request_id"))) in self._waiting:
                self._answers[name] = ControlAnswer(content) if isinstance(content, Mapping) else failure
                self._lock.notify_all()

    def withdraw_subtype(self, subtype: str) -> None:
        """End the waiting requests of one kind, whose answers would mean nothing any more."""
        with self._lock:
            names = [name for name, kind in self._waiting.items() if kind == subtype and name not in self._answers]
            self._answers |= {name: ControlAnswer(is_withdrawn=True) for name in names}
            self._lock.notify_all()
        for name in names:
            self._write({"type": "control_cancel_request", "request_id": name})

    def withdraw_requests(self) -> None:
        """End all waiting requests, since the turn is over."""
        with self._lock:
            self._answers |= {name: ControlAnswer(is_withdrawn=True) for name in self._waiting}
            self._lock.notify_all()

    def close(self) -> None:
        """End all waiting and later requests, since no more answers will arrive."""
        with self._lock:
            self.is_closed = True
            self._lock.notify_all()
