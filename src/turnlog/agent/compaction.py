"""Makes room in the context window: clears old results first and, if that is not enough, summarises everything.

The summary request is the conversation plus one message, so the prompt cache can be used. If the API rejects the
request as too long, it is sent again with less of the conversation each time: first without results, then with only the
newer half, then with a quarter.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from turnlog.agent.conversation import AgentConversation
from turnlog.agent.events import ConversationCompacted, TurnEvent
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup
from turnlog.agent.spending_tally import SpendingTally, count_window_tokens
from turnlog.model.answer import ModelAnswer
from turnlog.model.cancel import Cancel
from turnlog.model.failures import ModelError, RequestCancelled, RequestRejected
from turnlog.model.request import ModelRequest
from turnlog.session.usage.prices import find_context_window

if TYPE_CHECKING:
    from turnlog.agent.hooks.session_hooks import SessionLifecycle

DEFAULT_WINDOW_TOKENS = 200_000
_MIN_KEPT_RESULTS = 5
"""The number of newest results that are never cleared."""
_MIN_FREED_SHARE = 0.1
"""The minimum share of the window that clearing must free; otherwise, a summary is better."""
_CHARS_PER_TOKEN = 4
"""An approximation."""
_CHARS_PER_PICTURE = 6000
"""The estimated size of a picture, in characters."""
_TOO_LONG_PATTERN = re.compile(
    r"(?:prompt|input) is too long|exceeds? (?:the )?context (?:limit|window)", re.IGNORECASE
)
_SUMMARY_PATTERN = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)

SUMMARY_INSTRUCTION = """\
The conversation is about to be replaced by a summary of it, written by you now and for yourself: you will
continue with nothing else in mind. Do not call any tool. First think it over between <analysis> and </analysis>; then
write between <summary> and </summary>, in this order:
1. What the user wants, in their own words where it matters, and how that changed.
2. What was decided and why; rules that the user laid down.
3. Files that were read, written or changed, with their full paths, and what matters in them, verbatim where needed.
4. Errors that came up and how they were solved; what was tried and does not work.
5. What the user said, message by message, as far as it still matters.
6. What is still to be done.
7. What was being done just now, and the very next step, with quotations that show where it was left off."""


TOO_LONG_HINT = (
    "The conversation exceeds the context window and could not be shortened: /clear starts a new session, /model "
    "switches to a model with a larger window, `turnlog clone {session}` makes a copy without old results"
)


def is_too_long_error(error: Exception) -> bool:
    """Return whether the API rejected a request because of its length."""
    return isinstance(error, RequestRejected) and (
        error.status == 413 or _TOO_LONG_PATTERN.search(str(error)) is not None
    )


def is_compaction_due(setup: AgentSetup, conversation: AgentConversation) -> bool:
    """Return whether the window is full enough that the conversation should be compacted."""
    return conversation.used + _estimate_added_tokens(conversation) >= setup.compact_at * get_window_tokens(setup)


def _estimate_added_tokens(conversation: AgentConversation) -> int:
    """Estimate the number of tokens added since the latest answer; the API has not counted these yet."""
    last = conversation.messages[-1] if conversation.messages else {"role": "assistant"}
    return sum(map(_count_block_chars, last["content"])) // _CHARS_PER_TOKEN if last["role"] == "user" else 0


def _count_block_chars(block: Any) -> int:
    if block.get("type") == "image":
        return _CHARS_PER_PICTURE
    content = block.get("text") or block.get("content") or ""
    return len(content) if isinstance(content, str) else sum(map(_count_block_chars, content))


def get_window_tokens(setup: AgentSetup) -> int:
    return setup.window or find_context_window(setup.name) or DEFAULT_WINDOW_TOKENS


class RequestBuilder(Protocol):
    def __call__(self, further: str = "", conversation: AgentConversation | None = None) -> ModelRequest:
        """Build the request; `further` is an extra question that does not become part of the conversation."""
        ...


class Compactor(NamedTuple):
    setup: AgentSetup
    record: SessionRecord
    conversation: AgentConversation
    spent: SpendingTally
    tell: Callable[[TurnEvent], None]
    build_request: RequestBuilder
    lifecycle: SessionLifecycle | None = None
    """The hooks of the session as a whole."""

    def clear_old_results(self) -> bool:
        """Clear old results; return whether that frees enough room to continue without a summary."""
        conversation = self.conversation
        old = conversation.list_uncleared_results()[:-_MIN_KEPT_RESULTS]
        freed = sum(map(_count_block_chars, old)) // _CHARS_PER_TOKEN
        if freed < _MIN_FREED_SHARE * get_window_tokens(self.setup):
            return False
        conversation.cleared.update(str(block.get("tool_use_id")) for block in old)
        before, conversation.used = conversation.used, max(conversation.used - freed, 0)
        self.tell(ConversationCompacted("micro", before))
        return True

    def replace_with_summary(self, trigger: str, instructions: str, cancel: Cancel) -> ConversationCompacted:
        began, before = time.monotonic(), self.conversation.used
        if self.lifecycle is not None:
            instructions = self.lifecycle.begin_compaction(trigger, instructions, cancel)
        prompt = (
            f"{SUMMARY_INSTRUCTION}\n\nThe user adds: {instructions}" if instructions.strip() else SUMMARY_INSTRUCTION
        )
        answer = self._request_summary(prompt, cancel)
        match = _SUMMARY_PATTERN.search(answer.text)
        summary = (match[1] if match else answer.text).strip()
        if not summary:
            raise ModelError("the model returned no summary; the conversation is unchanged")
        milliseconds = round((time.monotonic() - began) * 1000)
        self.spent.add_answer(answer, milliseconds)
        self.conversation.restart_from_summary(
            self.record.write_compaction(trigger, before or count_window_tokens(answer.usage), summary, milliseconds)
        )
        if self.lifecycle is not None:
            self.lifecycle.end_compaction(trigger, summary, cancel)
            self.conversation.add_user_content(self.lifecycle.take_context())
        return ConversationCompacted(trigger, before, summary)

    def _request_summary(self, prompt: str, cancel: Cancel) -> ModelAnswer:
        """Ask the model for a summary of the conversation, or of as much of it as fits in the window."""
        shortened = self.conversation.iterate_shorter()
        conversation: AgentConversation | None = self.conversation
        while True:
            try:
                return self.setup.model.complete(self.build_request(prompt, conversation), cancel)
            except RequestRejected as error:
                conversation = next(shortened, None) if is_too_long_error(error) else None
                if conversation is None:
                    raise

    def ask_with_more_room(self, ask: Callable[[], ModelAnswer], cancel: Cancel) -> ModelAnswer:
        """Clear old results or, if that is not enough, summarise; then repeat a request that was too long."""
        if self.clear_old_results():
            try:
                return ask()
            except RequestRejected as error:
                if not is_too_long_error(error):
                    raise
        with suppress(RequestCancelled):  # the repeated request notices the cancellation
            self.tell(self.replace_with_summary("auto", "", cancel))
        return ask()
