"""The conversation as the model sees it: messages are only added at the end so that the prompt cache can be used.

Text from the client (project memory, reminders) is also part of the user messages: either before the first prompt
(`preface`) or after the latest message. Cache marks are added when the messages are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from turnlog.model.request import ConversationMessages

Object = Mapping[str, Any]
MessageBlock = dict[str, Any]
MessageContent = str | Sequence[Object]

CLEARED_RESULT_TEXT = "[Old tool result content cleared]"
LEFT_OUT_TEXT = "[Earlier messages and tool results are omitted here, because the whole conversation would be too long]"
_CACHE_MARK = {"type": "ephemeral"}
_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
_SERVER_CALL_TYPES = frozenset({"server_tool_use", "mcp_tool_use"})


class AgentConversation:
    """The messages of one actor."""

    def __init__(
        self,
        messages: Iterable[Object] = (),
        preface: Sequence[Object] = (),
        thought_by: Mapping[str, str] | None = None,
    ) -> None:
        self.preface = list(preface)
        self._thought_by = dict(thought_by or {})
        """The model that wrote each thinking block, by signature; other models reject the block."""
        self._messages: list[MessageBlock] = []
        self._settled: list[MessageBlock] = []
        """The oldest messages in the form in which they are sent, up to the first cache mark; append-only."""
        self._settled_for: tuple[object, ...] = ()
        self.cleared: set[str] = set()
        """Ids of calls whose results are no longer sent."""
        self.used = 0
        """The tokens in the last request and its answer, which show how full the window is."""
        for message in messages:
            self._append_content(str(message["role"]), to_blocks(message["content"]))

    @property
    def messages(self) -> Sequence[Object]:
        """All messages, without the preface and without cache marks."""
        return self._messages

    def add_user_content(self, content: MessageContent) -> None:
        """Add text from a person or the client; text directly after results is added to the same message."""
        self.drop_open_server_calls()
        self._append_content("user", to_blocks(content))

    def add_answer(self, content: Iterable[Object], model: str) -> None:
        """Add the model's answer without any thinking at its end, which the API would reject."""
        blocks = drop_final_thinking(dict(block) for block in content if not _is_empty_text(block))
        self._thought_by.update(
            {get_thinking_signature(block): model for block in blocks if block.get("type") in _THINKING_TYPES}
        )
        self._append_content("assistant", blocks)

    def add_results(self, results: Iterable[Object]) -> None:
        """Add the results of the calls in one answer, in call order."""
        self._append_content("user", [dict(block) for block in results])

    def drop_open_server_calls(self) -> None:
        """Drop calls to the server's own tools that have no result, since the answer will not continue."""
        last = self._messages[-1] if self._messages else {}
        if last.get("role") == "assistant" and (open_calls := find_open_server_calls(last["content"])):
            del self._messages[-1]
            self._append_content(
                "assistant", drop_final_thinking(block for block in last["content"] if block not in open_calls)
            )

    def replace_messages(self, messages: Iterable[Object], thought_by: Mapping[str, str], used: int) -> None:
        """Continue from an earlier state of the session."""
        self._messages, self._settled, self.used = [], [], used
        self._thought_by = dict(thought_by)
        self.cleared.clear()
        for message in messages:
            self._append_content(str(message["role"]), to_blocks(message["content"]))

    def restart_from_summary(self, summary: str) -> None:
        """Replace all messages with a summary."""
        self._messages = [{"role": "user", "content": to_blocks(summary)}]
        self._settled = []
        self.cleared.clear()
        self.used = 0

    def iterate_shorter(self) -> Iterator[AgentConversation]:
        """Yield shorter and shorter versions (without results, half, a quarter …), each with at least two messages."""
        results = self.cleared | {str(block.get("tool_use_id")) for block in self.list_uncleared_results()}
        answers = [place for place, message in enumerate(self._messages) if message["role"] == "assistant"]
        messages: list[MessageBlock] = self._messages
        while answers:
            shorter = AgentConversation(messages, self.preface, self._thought_by)
            shorter.cleared = results
            yield shorter
            answers = answers[(len(answers) + 1) // 2 :]
            messages = [{"role": "user", "content": LEFT_OUT_TEXT}, *self._messages[answers[0] if answers else 0 :]]

    def build_messages(self, model: str, further: str = "") -> ConversationMessages:
        """Return the messages for a model, with the preface, cache marks and a `further` question added."""
        self._freeze_old_messages(model)
        rest = [self._build_message(place, model) for place in range(len(self._settled), len(self._messages))]
        if further and rest and rest[-1]["role"] == "user":
            rest[-1]["content"] += to_blocks(further)
        elif further:
            rest.append({"role": "user", "content": to_blocks(further)})
        for message in [message for message in rest if message["role"] == "user"][-2:]:
            message["content"] = _add_cache_mark(message["content"])
        return ConversationMessages(self._settled, rest)

    def _freeze_old_messages(self, model: str) -> None:
        """Cache the messages whose form is final: all those before the last two user messages."""
        key = (model, len(self.cleared), len(self.preface))
        if key != self._settled_for:
            self._settled, self._settled_for = [], key
        begin = len(self._settled)
        users = [place for place in range(begin, len(self._messages)) if self._messages[place]["role"] == "user"]
        self._settled += [
            self._build_message(place, model) for place in range(begin, users[-2] if len(users) > 1 else begin)
        ]

    def _build_message(self, place: int, model: str) -> MessageBlock:
        """Return a message as it is sent, without a cache mark."""
        message, before = self._messages[place], self.preface if place == 0 else ()
        return {"role": message["role"], "content": [*before, *self._select_blocks(message["content"], model)]}

    def list_uncleared_results(self) -> list[MessageBlock]:
        """Return the results that are still sent in full, oldest first."""
        blocks = (block for message in self._messages for block in message["content"])
        return [block for block in blocks if block.get("type") == "tool_result" and self._is_uncleared(block)]

    def _is_uncleared(self, block: Object) -> bool:
        return block.get("tool_use_id") not in self.cleared

    def _select_blocks(self, content: Sequence[MessageBlock], model: str) -> list[MessageBlock]:
        content = [block for block in content if can_send_block(block, self._thought_by, model)]
        if not self.cleared:
            return content
        return [
            block
            if block.get("type") != "tool_result" or self._is_uncleared(block)
            else {**block, "content": CLEARED_RESULT_TEXT}
            for block in content
        ]

    def _append_content(self, role: str, content: list[MessageBlock]) -> None:
        if not content:
            return
        last = self._messages[-1] if self._messages else None
        if last is not None and last["role"] == role:
            last["content"] = [*last["content"], *content]
        else:
            self._messages.append({"role": role, "content": content})


def to_blocks(content: MessageContent) -> list[MessageBlock]:
    """Return content as blocks without empty text, which the API rejects."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    return [dict(block) for block in content if not _is_empty_text(block)]


def drop_final_thinking(content: Iterable[MessageBlock]) -> list[MessageBlock]:
    """Return an answer without any thinking at its end; the result may be empty."""
    blocks = list(content)
    while blocks and blocks[-1].get("type") in _THINKING_TYPES:
        blocks.pop()
    return blocks


def find_open_server_calls(content: Sequence[Object]) -> list[Object]:
    """Return the calls to the server's own tools that have no result in the answer."""
    answered = {block.get("tool_use_id") for block in content if str(block.get("type")).endswith("_tool_result")}
    return [block for block in content if block.get("type") in _SERVER_CALL_TYPES and block.get("id") not in answered]


def can_send_block(block: Object, thought_by: Mapping[str, str], model: str) -> bool:
    """Return whether a block may be sent to a model: a thinking block is valid only for the model that wrote it."""
    if block.get("type") not in _THINKING_TYPES:
        return True
    signer = thought_by.get(get_thinking_signature(block), model)
    if signer == model:
        return True
    from turnlog.session.usage.prices import parse_model_name  # only needed after a change of the model

    return parse_model_name(signer).key == parse_model_name(model).key


def get_thinking_signature(block: Object) -> str:
    return str(block.get("signature") or block.get("data") or "")


def build_reminder(text: str) -> MessageBlock:
    """Wrap text from the client in a system reminder."""
    return {"type": "text", "text": f"<system-reminder>\n{text}\n</system-reminder>"}


def _is_empty_text(block: Object) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _add_cache_mark(content: Sequence[MessageBlock]) -> list[MessageBlock]:
    """Mark the end of the content as a point up to which the API may cache the request."""
    if not content or content[-1].get("type") in _THINKING_TYPES:
        return list(content)
    return [*content[:-1], {**content[-1], "cache_control": _CACHE_MARK}]
