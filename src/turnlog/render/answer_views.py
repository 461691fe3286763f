"""Views of the model's messages: their blocks in the true order, each call with its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from turnlog.session.call_times import measure_call_ms
from turnlog.session.calls import Call, CallDetail, pair_calls, read_call_detail
from turnlog.session.lost_texts import count_lost_tokens
from turnlog.session.message_usage import compute_message_cost
from turnlog.session.messages import Message, join_messages, read_message_content
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineAgent, TimelineItem
from turnlog.work_progress import check_for_stop

_SERVER_CALL_TYPES = ("server_tool_use", "mcp_tool_use")
_RESULT_SUFFIX = "_tool_result"


class _BodyCache:
    """The bodies of one item's entries, each decoded only once no matter how many calls it contains."""

    def __init__(self, file: Transcript) -> None:
        self._file = file
        self._known: dict[int, Body] = {}

    def read_body(self, entry: Entry) -> Body:
        """Return the whole object of an entry."""
        if entry.index not in self._known:
            self._known[entry.index] = self._file.read_body(entry)
        return self._known[entry.index]

    def read_raw(self, entry: Entry) -> bytes:
        return self._file.read_raw(entry)

    def read_head(self, entry: Entry, size: int) -> bytes:
        return self._file.read_head(entry, size)


class AnswerViewBuilder:
    """Builds the views of messages, in timeline order."""

    def __init__(self, excerpt: Excerpt, helpers: Mapping[str, TimelineAgent]) -> None:
        self.excerpt = excerpt
        self.file = excerpt.session.file
        self._helpers = helpers
        self._earlier = EarlierCalls()

    def build_view(self, item: TimelineItem) -> AnswerView | None:
        """Build the view of a message; None if the item doesn't contain one."""
        lines = [entry for place in item.lines if (entry := self.excerpt.find_entry(place))]
        results = [entry for place in item.results if (entry := self.excerpt.find_entry(place))]
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
            count_lost_tokens(message),
        )

    def build_source(
        self, name: str, detail: CallDetail, call_id: str, cwd: str | None, pictures: tuple[Picture, ...]
    ) -> CardSource:
        """Build the source of a card, including information from outside the call's own lines."""
        named = pick_text(to_dict(detail.structured).get("agentId"), to_dict(detail.structured).get("agent_id"))
        helper = self._helpers.get(call_id) or self._helpers.get(named)
        return CardSource(name, detail, cwd, pictures, helper, self._earlier)


class _BlockBuilder:
    def __init__(self, builder: AnswerViewBuilder, message: Message, results: list[Entry]) -> None:
        self._builder = builder
        self._message = message
        # Only `read_body` and `read_raw` of a transcript are needed here.
        self._bodies = cast(Transcript, _BodyCache(builder.file))
        entries = sorted([*message.lines, *results], key=lambda entry: entry.index)
        self._calls = {call.id: call for call in pair_calls(entries, self._bodies).all}
        self._result_pictures: dict[int, list[OwnedPicture]] = {}
        """The pictures of results, by entry index."""
        self._nameless = [line for line in message.lines for block in _list_call_ids(line) if not block]
        self._advisors = iter_advisor_figures(message)
        self._pictures = [
            owned.picture
            for line in message.lines
            for owned in find_pictures(self._bodies.read_body(line), builder.excerpt.find_offset(line))
        ]

    def iter_blocks(self) -> Iterator[AnswerBlock]:
        """Yield the blocks in the true order, with results inside the message moved to their calls."""
        blocks = read_message_content(self._bodies, self._message)
        results = {pick_text(block.get("tool_use_id")): block for block in blocks if _is_result(block)}
        call_ids = {pick_text(block.get("id")) for block in blocks if block.get("type") in _SERVER_CALL_TYPES}
        for block in blocks:
            check_for_stop()
            kind = block.get("type")
            if kind in _SERVER_CALL_TYPES:
                yield AnswerCall(self._build_served_card(block, results.get(pick_text(block.get("id")))))
            elif not _is_result(block) or pick_text(block.get("tool_use_id")) not in call_ids:
                yield from self._iter_block(block, kind)

    def _iter_block(self, block: dict[str, Any], kind: Any) -> Iterator[AnswerBlock]:
        if kind == "text" and isinstance(text := block.get("text"), str):
            yield from (AnswerText(text),) if text.strip() else ()
        elif kind in ("thinking", "redacted_thinking"):
            yield AnswerThinking(pick_text(block.get("thinking")).strip())
        elif kind == "tool_use":
            yield AnswerCall(self._build_card(block))
        elif (picture := to_picture(block)) is not None:
            same = (known for known in self._pictures if (known.kind, known.data) == (picture.kind, picture.data))
            yield AnswerPicture(next(same, picture))
        else:
            yield AnswerOther(kind if isinstance(kind, str) else "", block)

    def _build_card(self, block: dict[str, Any]) -> Any:
        name, arguments = pick_text(block.get("name")), block.get("input")
        call = self._calls.get(pick_text(block.get("id")))
        if call is None:
            return self._build_unnamed_card(name, arguments)
        detail = read_call_detail(self._bodies, call)._replace(input=arguments)
        offset = self._builder.excerpt.find_offset
        source = self._builder.build_source(name, detail, call.id, call.line.cwd, self._list_result_pictures(call))
        run = (source.helper.started, source.helper.ended) if source.helper else None
        took = to_count(measure_call_ms(call, detail, run))
        place = CallPlace(call.id, offset(call.line), offset(call.result) if call.result else None, took)
        return build_card(source, place)

    def _build_unnamed_card(self, name: str, arguments: Any) -> Any:
        """Build the card of a call without an id, which can't have a result."""
        line = self._nameless.pop(0) if self._nameless else self._message.lines[0]
        offset = self._builder.excerpt.find_offset(line)
        detail = CallDetail(arguments, None, None, "unanswered", None, None)
        return build_card(self._builder.build_source(name, detail, "", line.cwd, ()), CallPlace(f"@{offset}", offset))

    def _list_result_pictures(self, call: Call) -> tuple[Picture, ...]:
        if call.result is None:
            return ()
        if call.result.index not in self._result_pictures:
            body, offset = self._bodies.read_body(call.result), self._builder.excerpt.find_offset(call.result)
            self._result_pictures[call.result.index] = find_pictures(body, offset)
        return tuple(item.picture for item in self._result_pictures[call.result.index] if item.owner == call.id)

    def _build_served_card(self, block: dict[str, Any], result: dict[str, Any] | None) -> Any:
        """Build the card of a call that the API executed; its result is in the same message."""
        answer = None if result is None else result.get("content")
        failed = result is not None and (result.get("is_error") is True or "error_code" in to_dict(answer))
        outcome = "unanswered" if result is None else "error" if failed else "answered"
        detail = CallDetail(block.get("input"), answer, None, outcome, None, None)
        call_id, name = pick_text(block.get("id")), pick_text(block.get("name")) or "server tool"
        offset = self._builder.excerpt.find_offset(self._message.lines[0])
        source = self._builder.build_source(name, detail, call_id, None, ())
        if name == ADVISOR_TOOL and result is not None:
            source = replace(source, request_figures=next(self._advisors, ()))
        return build_card(source, CallPlace(call_id or f"@{offset}", offset), is_served=True)


def _list_call_ids(line: Entry) -> list[str | None]:
    return [block.id for block in (line.message.blocks if line.message else []) if block.type == "tool_use"]


def _is_result(block: dict[str, Any]) -> bool:
    return pick_text(block.get("type")).endswith(_RESULT_SUFFIX)


def _build_tokens(message: Message) -> AnswerTokens | None:
    tokens = message.tokens
    if tokens is None:
        return None
    written = tokens.cache_write_5m + tokens.cache_write_1h
    return AnswerTokens(
        tokens.input, tokens.output, tokens.cache_read, written, compute_message_cost(message).usd, message.quality
    )
