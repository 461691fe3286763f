"""Views of the model's messages: their blocks in true order, each call with its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, cast

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.render.card import Picture
from turnlog.render.pictures import Held, held, pictured
from turnlog.render.tools import ADVISOR, Earlier, Placed, Work, card
from turnlog.render.tools.advisor import advisor_figures
from turnlog.render.values import fields, number, text
from turnlog.render.view import Answer, Block, Called, Odd, Said, Shot, Thought, Tokens
from turnlog.session.calls import Call, Detail, detail, pair
from turnlog.session.clock import milliseconds
from turnlog.session.messages import Message, content, join
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Helper, Item
from turnlog.session.usage.usage import cost_of

_SERVED = ("server_tool_use", "mcp_tool_use")
_RESULT = "_tool_result"


class _Bodies:
    """The bodies of the entries of one item: each is decoded once, however many calls it holds."""

    def __init__(self, file: Transcript) -> None:
        self._file = file
        self._known: dict[int, Body] = {}

    def body(self, entry: Entry) -> Body:
        """The whole object of an entry."""
        if entry.index not in self._known:
            self._known[entry.index] = self._file.body(entry)
        return self._known[entry.index]

    def raw(self, entry: Entry) -> bytes:
        """The bytes of an entry."""
        return self._file.raw(entry)


class Answers:
    """Makes the views of messages, in the order of a timeline."""

    def __init__(self, excerpt: Excerpt, helpers: Iterable[Helper]) -> None:
        self.excerpt = excerpt
        self.file = excerpt.session.file
        self._helpers = {name: helper for helper in helpers for name in (helper.agent_id, helper.call_id) if name}
        self._earlier = Earlier()

    def view(self, item: Item) -> Answer | None:
        """A message; None when no line of the item is part of one."""
        lines = [found for place in item.lines if (found := self.excerpt.entry(place))]
        results = [found for place in item.results if (found := self.excerpt.entry(place))]
        message = next(iter(join(lines)), None)
        if message is None:
            return None
        blocks = _Blocks(self, message, results)
        return Answer(
            item.key,
            item.turn,
            item.time,
            self.excerpt.offset(lines[0]),
            tuple(blocks.all()),
            message.model,
            _tokens(message),
            message.stop_reason,
            message.is_error,
            message.is_synthetic,
        )

    def work(self, name: str, found: Detail, call_id: str, cwd: str | None, pictures: tuple[Picture, ...]) -> Work:
        """A call to be shown, with what the session knows beside its own lines."""
        named = text(fields(found.structured).get("agentId"), fields(found.structured).get("agent_id"))
        helper = self._helpers.get(call_id) or self._helpers.get(named)
        return Work(name, found, cwd, pictures, helper, self._earlier)


class _Blocks:
    """The blocks of one message."""

    def __init__(self, maker: Answers, message: Message, results: list[Entry]) -> None:
        self._maker = maker
        self._message = message
        # Only `body` and `raw` are needed of a transcript here.
        self._bodies = cast(Transcript, _Bodies(maker.file))
        entries = sorted([*message.lines, *results], key=lambda entry: entry.index)
        self._calls = {call.id: call for call in pair(entries, self._bodies).all}
        self._shown: dict[int, list[Held]] = {}
        """The pictures of results, by the index of the entry."""
        self._nameless = [line for line in message.lines for block in _calls_of(line) if not block]
        self._advisors = advisor_figures(message)
        self._pictures = [
            found.picture
            for line in message.lines
            for found in held(self._bodies.body(line), maker.excerpt.offset(line))
        ]

    def all(self) -> Iterator[Block]:
        """The blocks in true order; results that stand in the message itself go to their calls."""
        blocks = content(self._bodies, self._message)
        served = {text(block.get("tool_use_id")): block for block in blocks if _is_result(block)}
        asked = {text(block.get("id")) for block in blocks if block.get("type") in _SERVED}
        for block in blocks:
            kind = block.get("type")
            if kind in _SERVED:
                yield Called(self._served(block, served.get(text(block.get("id")))))
            elif not _is_result(block) or text(block.get("tool_use_id")) not in asked:
                yield from self._block(block, kind)

    def _block(self, block: dict[str, Any], kind: Any) -> Iterator[Block]:
        if kind == "text" and isinstance(words := block.get("text"), str):
            yield from (Said(words),) if words.strip() else ()
        elif kind in ("thinking", "redacted_thinking"):
            yield Thought(text(block.get("thinking")).strip())
        elif kind == "tool_use":
            yield Called(self._called(block))
        elif (found := pictured(block)) is not None:
            same = (known for known in self._pictures if (known.kind, known.data) == (found.kind, found.data))
            yield Shot(next(same, found))
        else:
            yield Odd(kind if isinstance(kind, str) else "", block)

    def _called(self, block: dict[str, Any]) -> Any:
        name, given = text(block.get("name")), block.get("input")
        call = self._calls.get(text(block.get("id")))
        if call is None:
            return self._unnamed(name, given)
        found = detail(self._bodies, call)._replace(input=given)
        offset = self._maker.excerpt.offset
        work = self._maker.work(name, found, call.id, call.line.cwd, self._of_result(call))
        placed = Placed(call.id, offset(call.line), offset(call.result) if call.result else None, _took(call))
        return card(work, placed)

    def _unnamed(self, name: str, given: Any) -> Any:
        """A call without an id: no result can be its own."""
        line = self._nameless.pop(0) if self._nameless else self._message.lines[0]
        offset = self._maker.excerpt.offset(line)
        found = Detail(given, None, None, "unanswered", None, None)
        return card(self._maker.work(name, found, "", line.cwd, ()), Placed(f"@{offset}", offset))

    def _of_result(self, call: Call) -> tuple[Picture, ...]:
        if call.result is None:
            return ()
        if call.result.index not in self._shown:
            body, offset = self._bodies.body(call.result), self._maker.excerpt.offset(call.result)
            self._shown[call.result.index] = held(body, offset)
        return tuple(item.picture for item in self._shown[call.result.index] if item.owner == call.id)

    def _served(self, block: dict[str, Any], result: dict[str, Any] | None) -> Any:
        """A call that the API carried out; its result stands in the same message."""
        answer = None if result is None else result.get("content")
        failed = result is not None and (result.get("is_error") is True or "error_code" in fields(answer))
        outcome = "unanswered" if result is None else "error" if failed else "answered"
        found = Detail(block.get("input"), answer, None, outcome, None, None)
        call_id, name = text(block.get("id")), text(block.get("name")) or "server tool"
        offset = self._maker.excerpt.offset(self._message.lines[0])
        work = self._maker.work(name, found, call_id, None, ())
        if name == ADVISOR and result is not None:
            work = replace(work, request_figures=next(self._advisors, ()))
        return card(work, Placed(call_id or f"@{offset}", offset), is_served=True)


def _calls_of(line: Entry) -> list[str | None]:
    """The ids of the calls on a line."""
    return [block.id for block in (line.message.blocks if line.message else []) if block.type == "tool_use"]


def _is_result(block: dict[str, Any]) -> bool:
    return text(block.get("type")).endswith(_RESULT)


def _took(call: Call) -> int | None:
    began, ended = milliseconds(call.started), milliseconds(call.ended)
    return number(ended - began) if began is not None and ended is not None else None


def _tokens(message: Message) -> Tokens | None:
    used = message.tokens
    if used is None:
        return None
    written = used.cache_write_5m + used.cache_write_1h
    return Tokens(used.input, used.output, used.cache_read, written, cost_of(message).usd, message.quality)
