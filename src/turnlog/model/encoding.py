"""Requests -> bytes. A conversation is sent again with every request: what is settled of it is encoded once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from turnlog.model.request import ConversationMessages, JsonObject

BytesPiece = bytes | memoryview

_MAX_IDLE_CONVERSATIONS = 4
"""So many conversations are kept: that of the session, and those of sub-agents."""


def encode_request_json(value: object) -> bytes:
    """A value as JSON; half of a surrogate pair becomes U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, TypeError, RecursionError):
        text = json.dumps(value, ensure_ascii=False)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


class RequestEncoder:
    """Encodes the requests of one model; may be used by several threads at a time."""

    def __init__(self) -> None:
        self._idle: list[_SettledMessages] = []
        self._lock = threading.Lock()

    @contextmanager
    def encode_pieces(self, head: Mapping[str, Any], messages: Sequence[JsonObject]) -> Iterator[list[BytesPiece]]:
        """The bytes of a request, in pieces that hold good while this lasts."""
        if not isinstance(messages, ConversationMessages) or "messages" in head:
            yield [encode_request_json(head if "messages" in head else {**head, "messages": list(messages)})]
            return
        known = self._take_settled(messages)
        known.encode_new(messages)
        begin, rest = (
            encode_request_json(head)[:-1] + b',"messages":[',
            b",".join(map(encode_request_json, messages.rest)) + b"]}",
        )
        with memoryview(known.data) as data:
            yield [begin, data, rest]
        with self._lock:  # one whose request went wrong is not kept
            self._idle = [*self._idle, known][-_MAX_IDLE_CONVERSATIONS:]

    def _take_settled(self, messages: ConversationMessages) -> _SettledMessages:
        """What is known of a conversation, if nobody else is at it."""
        with self._lock:
            for place, known in enumerate(self._idle):
                if known.messages is messages.settled and known.taken <= messages.taken:
                    return self._idle.pop(place)
        return _SettledMessages(messages.settled)


class _SettledMessages:
    def __init__(self, messages: Sequence[JsonObject]) -> None:
        self.messages = messages
        self.taken = 0
        self.data = bytearray()
        """The first messages, with a comma behind each."""

    def encode_new(self, messages: ConversationMessages) -> None:
        """Encode what was settled since the last time."""
        for message in self.messages[self.taken : messages.taken]:
            self.data += encode_request_json(message)
            self.data += b","
        self.taken = messages.taken
