"""Checks that messages have the shape that the Messages API requires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from turnlog.session.resume.refusals import THINKING_TYPES

Json = dict[str, Any]

SHAPE_RULES: dict[str, str] = {
    "api-first": "the first message is not from the user",
    "api-empty": "a message has no content, or an empty text",
    "api-unanswered": "a call is not directly followed by its result",
    "api-orphan": "a result does not directly follow its call",
    "api-ids": "two calls have the same id",
    "api-last-thinking": "the last block of an answer is thinking",
    "api-late-thinking": "thinking follows a call",
    "api-same-role": "two messages of the same role follow each other; the API joins them",
}
"""The rules by name, each with the text that reports a breach."""


class Breach(NamedTuple):
    rule: str
    message: int
    """The index of the message, starting at 0."""


def find_breaches(messages: list[Json]) -> list[Breach]:
    """List anything that the API would reject, in message order; system messages are ignored."""
    spoken = [(number, message) for number, message in enumerate(messages) if message["role"] != "system"]
    found: list[Breach] = []
    if spoken and spoken[0][1]["role"] != "user":
        found.append(Breach("api-first", spoken[0][0]))
    before: Json | None = None
    for number, message in spoken:
        found += [Breach(rule, number) for rule in _check_pair(before, message)]
        found += [Breach(rule, number) for rule in _check_message(message)]
        before = message
    counts = Counter(identity for _, message in spoken for identity in _list_ids(message, "tool_use"))
    found += [
        Breach("api-ids", n) for n, message in spoken if any(counts[i] > 1 for i in _list_ids(message, "tool_use"))
    ]
    return found


def _check_pair(before: Json | None, message: Json) -> Iterator[str]:
    """Yield the rules that two consecutive messages break."""
    calls = _list_ids(before, "tool_use") if before and before["role"] == "assistant" else []
    results = _list_ids(message, "tool_result") if message["role"] == "user" else []
    if before is not None and before["role"] == message["role"]:
        yield "api-same-role"
    yield from ("api-unanswered" for identity in calls if identity not in results)
    yield from ("api-orphan" for identity in results if identity not in calls)


def _check_message(message: Json) -> Iterator[str]:
    """Yield the rules that a single message breaks."""
    kinds = [block["type"] for block in message["content"]]
    if not kinds or any(kind == "text" and not _read_text(block) for kind, block in _pair_with_kinds(kinds, message)):
        yield "api-empty"
    if message["role"] == "assistant" and kinds:
        if kinds[-1] in THINKING_TYPES:
            yield "api-last-thinking"
        first_call = kinds.index("tool_use") if "tool_use" in kinds else len(kinds)
        if any(kind in THINKING_TYPES for kind in kinds[first_call:-1]):
            yield "api-late-thinking"


def _pair_with_kinds(kinds: list[str], message: Json) -> Iterator[tuple[str, Json]]:
    return zip(kinds, message["content"], strict=True)


def _read_text(block: Json) -> str:
    text = block.get("text")
    return text.strip() if isinstance(text, str) else ""


def _list_ids(message: Json, kind: str) -> list[str]:
    """List the ids of the calls in a message, or of the calls that its results answer."""
    key = "id" if kind == "tool_use" else "tool_use_id"
    return [str(block.get(key)) for block in message["content"] if block["type"] == kind]
