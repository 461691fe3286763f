"""Making room in the window: old results are cleared first; if that is not enough, a summary takes the place of all.

The request for the summary is the conversation itself with one more message, so that the prompt cache holds. Where the
API finds that too long, it is asked of ever less: without results, then of the newer half, of a quarter.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from turnlog.agent.conversation import Conversation
from turnlog.agent.events import Compacted
from turnlog.agent.setup import Setup
from turnlog.agent.spending import filled
from turnlog.model.answer import Answer
from turnlog.model.cancel import Cancel
from turnlog.model.failures import Cancelled, ModelError, Rejected
from turnlog.session.usage.prices import window

if TYPE_CHECKING:
    from turnlog.agent.loop import Loop

USUAL_WINDOW = 200_000
_KEPT_RESULTS = 5
"""So many of the newest results are never cleared."""
_WORTH = 0.1
"""Clearing must free so much of the window, or a summary is better."""
_CHARACTERS = 4
"""Characters of one token, about."""
_PICTURE = 6000
"""As many characters a picture is worth."""
_TOO_LONG = re.compile(r"(?:prompt|input) is too long|exceeds? (?:the )?context (?:limit|window)", re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)

INSTRUCTION = """The conversation is about to be replaced by a summary of it, written by you now and for yourself: you
will go on with nothing else in mind. Do not call any tool. First think it over between <analysis> and </analysis>; then
write between <summary> and </summary>, in this order:
1. What the user wants, in their own words where it matters, and how that changed.
2. What was decided and why; rules that the user laid down.
3. Files that were read, written or changed, with their full paths, and what matters in them, verbatim where needed.
4. Errors that came up and how they were solved; what was tried and does not work.
5. What the user said, message by message, as far as it still matters.
6. What is still to be done.
7. What was being done just now, and the very next step, with quotations that show where it was left off."""


HINT = (
    "It is longer than what the model can take at once, and could not be made shorter: /clear begins anew, /model "
    "takes a model with a larger window, `turnlog clone {session}` makes a copy without old results"
)


def is_too_long(error: Exception) -> bool:
    """Whether the API refused a request because of its length."""
    return isinstance(error, Rejected) and (error.status == 413 or _TOO_LONG.search(str(error)) is not None)


def is_due(setup: Setup, conversation: Conversation) -> bool:
    """Whether the window is so full that room must be made."""
    return conversation.used + _added(conversation) >= setup.compact_at * room(setup)


def _added(conversation: Conversation) -> int:
    """Tokens that were said since the last answer, about: the API has not counted them yet."""
    last = conversation.messages[-1] if conversation.messages else {"role": "assistant"}
    return sum(map(_length, last["content"])) // _CHARACTERS if last["role"] == "user" else 0


def _length(block: Any) -> int:
    if block.get("type") == "image":
        return _PICTURE
    content = block.get("text") or block.get("content") or ""
    return len(content) if isinstance(content, str) else sum(map(_length, content))


def room(setup: Setup) -> int:
    """How many tokens the window has."""
    return setup.window or window(setup.name) or USUAL_WINDOW


class Compaction:
    """Makes room in the conversation of a loop."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def cleared_enough(self) -> bool:
        """Clear old results; whether that frees enough to go on without a summary."""
        conversation, setup = self._loop.conversation, self._loop.setup
        old = conversation.calls()[:-_KEPT_RESULTS]
        freed = sum(map(_length, old)) // _CHARACTERS
        if freed < _WORTH * room(setup):
            return False
        conversation.cleared.update(str(block.get("tool_use_id")) for block in old)
        before, conversation.used = conversation.used, max(conversation.used - freed, 0)
        self._loop.tell(Compacted("micro", before))
        return True

    def summarised(self, trigger: str, instructions: str, cancel: Cancel) -> Compacted:
        """Replace all that was said by a summary."""
        loop, began = self._loop, time.monotonic()
        before = loop.conversation.used
        asked = f"{INSTRUCTION}\n\nThe user adds: {instructions}" if instructions.strip() else INSTRUCTION
        answer = self._summing_up(asked, cancel)
        found = _SUMMARY.search(answer.text)
        summary = (found[1] if found else answer.text).strip()
        if not summary:
            raise ModelError("the model gave no summary; the conversation stays as it is")
        took = round((time.monotonic() - began) * 1000)
        loop.spent.add(answer, took)
        loop.conversation.restart(loop.record.compacted(trigger, before or filled(answer.usage), summary, took))
        return Compacted(trigger, before, summary)

    def _summing_up(self, asked: str, cancel: Cancel) -> Answer:
        """Let the model sum up what was said, or as much of it as it can take."""
        loop = self._loop
        shortened = loop.conversation.shortened()
        conversation: Conversation | None = loop.conversation
        while True:
            try:
                return loop.setup.model.complete(loop.request(asked, conversation), cancel)
            except Rejected as error:
                conversation = next(shortened, None) if is_too_long(error) else None
                if conversation is None:
                    raise

    def rescued(self, ask: Callable[[], Answer], cancel: Cancel) -> Answer:
        """Ask again what was too long: with old results cleared, and if that is not enough, with a summary of all."""
        if self.cleared_enough():
            try:
                return ask()
            except Rejected as error:
                if not is_too_long(error):
                    raise
        with suppress(Cancelled):  # whoever stopped it is heard when it is asked
            self._loop.tell(self.summarised("auto", "", cancel))
        return ask()
