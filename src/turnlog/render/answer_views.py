"""Views of the model's messages: their blocks in true order, each call with its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, cast

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.render.card import Picture
from turnlog.render.pictures import OwnedPicture, find_pictures, to_picture
from turnlog.render.tools import ADVISOR_TOOL, CallPlace, CardSource, EarlierCalls, build_card
from turnlog.render.tools.web import iter_advisor_figures
from turnlog.render.values import pick_text, to_count, to_dict
from turnlog.render.view import (
    AnswerBlock,
    AnswerCall,
    AnswerOther,
    AnswerPicture,
    AnswerText,
    AnswerThinking,
    AnswerTokens,
    AnswerView,
)
from turnlog.session.calls import Call, CallDetail, pair_calls, read_call_detail
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.message_usage import compute_message_cost
from turnlog.session.messages import Message, join_messages, read_message_content
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineAgent, TimelineItem

_SERVER_CALL_TYPES = ("server_tool_use", "mcp_tool_use")
_RESULT_SUFFIX = "_tool_result"


class _BodyCache:
    """The bodies of the entries of one item: each is decoded once, however many calls it holds."""

    def __init__(self, file: Transcript) -> None:
        self._file = file
        self._known: dict[int, Body] = {}

    def read_body(self, entry: Entry) -> Body:
        """The whole object of an entry."""
        if entry.index not in self._known:
            self._known[entry.index] = self._file.read_body(entry)
        return self._known[entry.index]

    def read_raw(self, entry: Entry) -> bytes:
        """The bytes of an entry."""
        return self._file.read_raw(entry)


class AnswerViewBuilder:
    """Makes the views of messages, in the order of a timeline."""

    def __init__(self, excerpt: Excerpt, helpers: Iterable[TimelineAgent]) -> None:
        self.excerpt = excerpt
        self.file = excerpt.session.file
        self._helpers = {name: helper for helper in helpers for name in (helper.agent_id, helper.call_id) if name}
        self._earlier = EarlierCalls()

    def build_view(self, item: TimelineItem) -> AnswerView | None:
        """A message; None when no line of the item is part of one."""
        lines = [found for place in item.lines if (found := self.excerpt.find_entry(place))]
        results = [found for place in item.results if (found := self.excerpt.find_entry(place))]
        message = next(iter(join_messages(lines)), None)
        if message is None:
            return None
        blocks = _BlockBuilder(self, message, results)
        return AnswerView(
            item.key,
            item.turn,
            item.time,
            self.excerpt.find_offset(lines[0]),
            tuple(blocks.iter_blocks()),
            message.model,
            _build_tokens(message),
            message.stop_reason,
            message.is_error,
            message.is_synthetic,
        )

    def build_source(
        self, name: str, found: CallDetail, call_id: str, cwd: str | None, pictures: tuple[Picture, ...]
    ) -> CardSource:
        """A call to be shown, with what the session knows beside its own lines."""
        named = pick_text(to_dict(found.structured).get("agentId"), to_dict(found.structured).get("agent_id"))
        helper = self._helpers.get(call_id) or self._helpers.get(named)
        return CardSource(name, found, cwd, pictures, helper, self._earlier)


class _BlockBuilder:
    """The blocks of one message."""

    def __init__(self, maker: AnswerViewBuilder, message: Message, results: list[Entry]) -> None:
        self._maker = maker
        self._message = message
        # Only `body` and `raw` are needed of a transcript here.
        self._bodies = cast(Transcript, _BodyCache(maker.file))
        entries = sorted([*message.lines, *results], key=lambda entry: entry.index)
        self._calls = {call.id: call for call in pair_calls(entries, self._bodies).all}
        self._shown: dict[int, list[OwnedPicture]] = {}
        """The pictures of results, by the index of the entry."""
        self._nameless = [line for line in message.lines for block in _list_call_ids(line) if not block]
        self._advisors = iter_advisor_figures(message)
        self._pictures = [
            found.picture
            for line in message.lines
            for found in find_pictures(self._bodies.read_body(line), maker.excerpt.find_offset(line))
        ]

    def iter_blocks(self) -> Iterator[AnswerBlock]:
        """The blocks in true order; results that stand in the message itself go to their calls."""
        blocks = read_message_content(self._bodies, self._message)
        served = {pick_text(block.get("tool_use_id")): block for block in blocks if _is_result(block)}
        asked = {pick_text(block.get("id")) for block in blocks if block.get("type") in _SERVER_CALL_TYPES}
        for block in blocks:
            kind = block.get("type")
            if kind in _SERVER_CALL_TYPES:
                yield AnswerCall(self._build_served_card(block, served.get(pick_text(block.get("id")))))
            elif not _is_result(block) or pick_text(block.get("tool_use_id")) not in asked:
                yield from self._iter_block(block, kind)

    def _iter_block(self, block: dict[str, Any], kind: Any) -> Iterator[AnswerBlock]:
        if kind == "text" and isinstance(words := block.get("text"), str):
            yield from (AnswerText(words),) if words.strip() else ()
        elif kind in ("thinking", "redacted_thinking"):
            yield AnswerThinking(pick_text(block.get("thinking")).strip())
        elif kind == "tool_use":
            yield AnswerCall(self._build_card(block))
        elif (found := to_picture(block)) is not None:
            same = (known for known in self._pictures if (known.kind, known.data) == (found.kind, found.data))
            yield AnswerPicture(next(same, found))
        else:
            yield AnswerOther(kind if isinstance(kind, str) else "", block)

    def _build_card(self, block: dict[str, Any]) -> Any:
        name, given = pick_text(block.get("name")), block.get("input")
        call = self._calls.get(pick_text(block.get("id")))
        if call is None:
            return self._build_unnamed_card(name, given)
        found = read_call_detail(self._bodies, call)._replace(input=given)
        offset = self._maker.excerpt.find_offset
        work = self._maker.build_source(name, found, call.id, call.line.cwd, self._list_result_pictures(call))
        placed = CallPlace(
            call.id, offset(call.line), offset(call.result) if call.result else None, _measure_duration(call)
        )
        return build_card(work, placed)

    def _build_unnamed_card(self, name: str, given: Any) -> Any:
        """A call without an id: no result can be its own."""
        line = self._nameless.pop(0) if self._nameless else self._message.lines[0]
        offset = self._maker.excerpt.find_offset(line)
        found = CallDetail(given, None, None, "unanswered", None, None)
        return build_card(self._maker.build_source(name, found, "", line.cwd, ()), CallPlace(f"@{offset}", offset))

    def _list_result_pictures(self, call: Call) -> tuple[Picture, ...]:
        if call.result is None:
            return ()
        if call.result.index not in self._shown:
            body, offset = self._bodies.read_body(call.result), self._maker.excerpt.find_offset(call.result)
            self._shown[call.result.index] = find_pictures(body, offset)
        return tuple(item.picture for item in self._shown[call.result.index] if item.owner == call.id)

    def _build_served_card(self, block: dict[str, Any], result: dict[str, Any] | None) -> Any:
        """A call that the API carried out; its result stands in the same message."""
        answer = None if result is None else result.get("content")
        failed = result is not None and (result.get("is_error") is True or "error_code" in to_dict(answer))
        outcome = "unanswered" if result is None else "error" if failed else "answered"
        found = CallDetail(block.get("input"), answer, None, outcome, None, None)
        call_id, name = pick_text(block.get("id")), pick_text(block.get("name")) or "server tool"
        offset = self._maker.excerpt.find_offset(self._message.lines[0])
        work = self._maker.build_source(name, found, call_id, None, ())
        if name == ADVISOR_TOOL and result is not None:
            work = replace(work, request_figures=next(self._advisors, ()))
        return build_card(work, CallPlace(call_id or f"@{offset}", offset), is_served=True)


def _list_call_ids(line: Entry) -> list[str | None]:
    """The ids of the calls on a line."""
    return [block.id for block in (line.message.blocks if line.message else []) if block.type == "tool_use"]


def _is_result(block: dict[str, Any]) -> bool:
    return pick_text(block.get("type")).endswith(_RESULT_SUFFIX)


def _measure_duration(call: Call) -> int | None:
    began, ended = to_epoch_milliseconds(call.started_at), to_epoch_milliseconds(call.ended_at)
    return to_count(ended - began) if began is not None and ended is not None else None


def _build_tokens(message: Message) -> AnswerTokens | None:
    used = message.tokens
    if used is None:
        return None
    written = used.cache_write_5m + used.cache_write_1h
    return AnswerTokens(
        used.input, used.output, used.cache_read, written, compute_message_cost(message).usd, message.quality
    )
