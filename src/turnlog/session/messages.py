"""Assistant messages: all lines that share a `message.id` are joined, and their usage is counted once.

The client writes one line for each content block and repeats the message's id and usage on every line, so neither lines
nor usage may be summed. Which numbers are final depends on the client's version; see `quality`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import inf
from typing import Any, NamedTuple

from msgspec import Struct

from turnlog.entries.entry import Entry, LineUsage
from turnlog.entries.old_names import OldName
from turnlog.entries.reader import Transcript, pause_garbage_collector
from turnlog.session.usage.iterations import (
    Iterations,
    SeparateRequest,
    find_cache_writes,
    split_iterations,
    take_largest_counts,
)
from turnlog.session.usage.message_counts import MAX_MESSAGE_TOKENS, MAX_WEB_SEARCHES, Quality, judge_usage_quality
from turnlog.session.usage.prices import SYNTHETIC_MODEL, PricedTokens

FILLER_TEXT = "No response requested."
"""The placeholder answer that the client writes when it continues without an answer."""


class PriceTerms(NamedTuple):
    """The conditions that affect the price of a request."""

    speed: str | None
    service_tier: str | None
    geo: str | None


_make_terms = cache(PriceTerms)


class Message(Struct, gc=False):
    """An assistant message joined from its lines."""

    key: str
    """`message.id`, or the uuid of a line that has none."""
    lines: list[Entry]
    """Its entries in file order."""
    model: str | None = None
    request_id: str | None = None
    stop_reason: str | None = None
    tokens: PricedTokens | None = None
    """Its token counts: for each field, the largest value on any of its lines."""
    quality: Quality = "missing"
    terms: PriceTerms | None = None
    is_error: bool = False
    """Whether it is an API error that the client recorded as an answer."""
    own_requests: tuple[PricedTokens, ...] = ()
    """The tokens of each request to its own model, if there were several; they add up to `tokens`."""
    separate_requests: tuple[SeparateRequest, ...] = ()
    """Requests billed in addition to `tokens`: an advisor's, or one that another model answered instead."""

    @property
    def is_synthetic(self) -> bool:
        """Whether the client wrote the message without a model."""
        return self.model == SYNTHETIC_MODEL

    @property
    def started_at(self) -> str | None:
        """The timestamp of the first line."""
        return self.lines[0].timestamp

    @property
    def ended_at(self) -> str | None:
        """The timestamp of the last line."""
        return self.lines[-1].timestamp

    started = OldName("started_at")
    ended = OldName("ended_at")


@pause_garbage_collector()
def join_messages(entries: Iterable[Entry]) -> list[Message]:
    """Join entries into assistant messages, ordered by their first lines."""
    found: dict[str, Message] = {}
    for entry in entries:
        if entry.type != "assistant" or (head := entry.message) is None:
            continue
        key = head.id or entry.uuid or f"@{entry.offset}"
        message = found.get(key)
        if message is None:
            message = found[key] = Message(key, [entry], head.model, entry.request_id)
        else:
            message.lines.append(entry)
            # If two messages share an id, a model's answer takes precedence.
            if message.model == SYNTHETIC_MODEL and head.model:
                message.model = head.model
        if head.stop_reason is not None:
            message.stop_reason = head.stop_reason
        if entry.is_api_error_message:
            message.is_error = True
    for message in found.values():
        _count_tokens(message)
    return list(found.values())


def _count_tokens(message: Message) -> None:
    """Take the largest value of each field across the lines, and determine how reliable the counts are."""
    last: LineUsage | None = None
    prompt = output = read = written = long = searches = 0
    lowest = inf
    for line in message.lines:
        usage = line.message.usage if line.message else None
        if usage is None or usage is last:  # the reader shares one object between lines that repeat it
            continue
        last = usage
        if prompt < (count := usage.input_tokens or 0) <= MAX_MESSAGE_TOKENS:
            prompt = count
        if output < (count := usage.output_tokens or 0) <= MAX_MESSAGE_TOKENS:
            output = count
        if count < lowest:
            lowest = count
        if read < (count := usage.cache_read_input_tokens or 0) <= MAX_MESSAGE_TOKENS:
            read = count
        count = usage.cache_creation_input_tokens or 0
        split = find_cache_writes(usage, _take_iterations(message, usage)) if usage.iterations else usage.cache_creation
        if split is not None:
            hour = split.ephemeral_1h_input_tokens or 0
            if long < hour <= MAX_MESSAGE_TOKENS:
                long = hour
                written = max(written, hour)
            if count < (both := hour + (split.ephemeral_5m_input_tokens or 0)):
                count = both
        if written < count <= MAX_MESSAGE_TOKENS:
            written = count
        if (tools := usage.server_tool_use) is not None and searches < (count := tools.web_search_requests or 0):
            searches = min(count, MAX_WEB_SEARCHES)
    if last is not None:
        message.tokens = PricedTokens(prompt, output, read, written - long, long, searches)
        message.terms = _make_terms(last.speed, last.service_tier, last.inference_geo)
        line = message.lines[-1]
        message.quality = judge_usage_quality(
            stopped=message.stop_reason is not None or message.is_synthetic,
            grew=output > lowest,
            version=line.version,
            sidechain=bool(line.is_sidechain),
        )


def _take_iterations(message: Message, usage: LineUsage) -> Iterations:
    """Store the requests that one line lists; for a separate request, keep the largest value of each field."""
    found = split_iterations(usage, message.model)
    if len(found.own) > 1:
        message.own_requests = found.own
    if found.separate:
        known = {request.place: request for request in message.separate_requests}
        for request in found.separate:
            before = known.get(request.place, request)
            known[request.place] = before._replace(tokens=take_largest_counts(before.tokens, request.tokens))
        message.separate_requests = tuple(known[place] for place in sorted(known))
    return found


def read_message_content(file: Transcript, message: Message) -> list[dict[str, Any]]:
    """Read the blocks of a message in their true order, without blocks repeated from an earlier line."""
    blocks: list[dict[str, Any]] = []
    earlier = _EarlierBlocks()
    for line in message.lines:
        body = file.read_body(line)
        found = (body.get("message") or {}).get("content")
        if isinstance(found, str):
            found = [{"type": "text", "text": found}]
        place = body.get("apiBlockIndex")
        dicts = (block for block in (found if isinstance(found, list) else []) if isinstance(block, dict))
        new = [block for block in dicts if not earlier.has_block(block, place)]
        earlier.add_blocks(new, place)
        blocks += new
    return blocks


class _EarlierBlocks:
    """The blocks of a message's earlier lines, found by the texts in them."""

    def __init__(self) -> None:
        self._known: dict[object, list[dict[str, Any]]] = {}

    def add_blocks(self, blocks: list[dict[str, Any]], place: object) -> None:
        for block in blocks:
            key = _list_texts(block)
            self._known.setdefault((key, repr(place)), []).append(block)
            self._known.setdefault(key, []).append(block)

    def has_block(self, block: dict[str, Any], place: object) -> bool:
        """Return whether an earlier line has the same block or call, at the same place if the line names one."""
        key = _list_texts(block)
        alike = self._known.get(key if place is None else (key, repr(place)), ())
        if block.get("type") == "tool_use":
            return any(other.get("id") == block.get("id") for other in alike)
        return any(other == block for other in alike)


def _list_texts(block: dict[str, Any]) -> object:
    """Return what equal blocks have in common, and others rarely have: their texts; of a call, only its id."""
    if block.get("type") == "tool_use":
        name = block.get("id")
        return "tool_use", name if isinstance(name, str) else None
    inner = (value for value in block.values() if isinstance(value, dict))
    return frozenset((key, value) for part in (block, *inner) for key, value in part.items() if isinstance(value, str))


def is_filler(file: Transcript, message: Message) -> bool:
    """Return whether a message is the placeholder that the client writes when it continues without an answer."""
    if not message.is_synthetic or message.is_error:
        return False
    return [block.get("text") for block in read_message_content(file, message)] == [FILLER_TEXT]
