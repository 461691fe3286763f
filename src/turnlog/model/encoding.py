"""Requests -> bytes. A conversation is sent again with every request: what is settled of it is encoded once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from turnlog.model.request import Messages, Object

Piece = bytes | memoryview

_KEPT = 4
"""So many conversations are kept: that of the session, and those of sub-agents."""


def encoded(value: object) -> bytes:
    """A value as JSON; half of a surrogate pair becomes U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, TypeError, RecursionError):
        text = json.dumps(value, ensure_ascii=False)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


class Encoder:
    """Encodes the requests of one model; may be used by several threads at a time."""

    def __init__(self) -> None:
        self._idle: list[_Settled] = []
        self._lock = threading.Lock()

    @contextmanager
    def pieces(self, head: Mapping[str, Any], messages: Sequence[Object]) -> Iterator[list[Piece]]:
        """The bytes of a request, in pieces that hold good while this lasts."""
        if not isinstance(messages, Messages) or "messages" in head:
            yield [encoded(head if "messages" in head else {**head, "messages": list(messages)})]
            return
        known = self._taken(messages)
        known.follow(messages)
        begin, rest = encoded(head)[:-1] + b',"messages":[', b",".join(map(encoded, messages.rest)) + b"]}"
        with memoryview(known.data) as data:
            yield [begin, data, rest]
        with self._lock:  # one whose request went wrong is not kept
            self._idle = [*self._idle, known][-_KEPT:]

    def _taken(self, messages: Messages) -> _Settled:
        """What is known of a conversation, if nobody else is at it."""
        with self._lock:
            for place, known in enumerate(self._idle):
                if known.messages is messages.settled and known.taken <= messages.taken:
                    return self._idle.pop(place)
        return _Settled(messages.settled)


class _Settled:
    def __init__(self, messages: Sequence[Object]) -> None:
        self.messages = messages
        self.taken = 0
        self.data = bytearray()
        """The first messages, with a comma behind each."""

    def follow(self, messages: Messages) -> None:
        """Encode what was settled since the last time."""
        for message in self.messages[self.taken : messages.taken]:
            self.data += encoded(message)
            self.data += b","
        self.taken = messages.taken
