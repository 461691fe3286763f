"""Making room in the window: old results are cleared first; if that is not enough, a summary takes the place of all.

The request for the summary is the conversation itself with one more message, so that the prompt cache holds.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from turnlog.agent.conversation import Conversation
from turnlog.agent.events import Compacted
from turnlog.agent.setup import Setup
from turnlog.agent.spending import filled
from turnlog.model.cancel import Cancel
from turnlog.model.failures import ModelError
from turnlog.session.prices import window

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
        freed = sum(len(str(block.get("content"))) for block in old) // _CHARACTERS
        if freed < _WORTH * room(setup):
            return False
        conversation.cleared.update(str(block.get("tool_use_id")) for block in old)
        before, conversation.used = conversation.used, max(conversation.used - freed, 0)
        self._loop.tell(Compacted("micro", before))
        return True

    def summarised(self, trigger: str, instructions: str, cancel: Cancel) -> Compacted:
        """Replace all that was said by a summary."""
        from turnlog.edit.compress.compact import summary_text  # knows all of a session; most come to their end without

        loop, began = self._loop, time.monotonic()
        before = loop.conversation.used
        asked = f"{INSTRUCTION}\n\nThe user adds: {instructions}" if instructions.strip() else INSTRUCTION
        answer = loop.setup.model.complete(loop.request(asked), cancel)
        found = _SUMMARY.search(answer.text)
        summary = (found[1] if found else answer.text).strip()
        if not summary:
            raise ModelError("the model gave no summary; the conversation stays as it is")
        took = round((time.monotonic() - began) * 1000)
        loop.spent.add(answer, took)
        loop.record.compacted(trigger, before or filled(answer.usage), summary, milliseconds=took)
        loop.conversation.restart(summary_text(summary, (), loop.record.path, kept=False))
        return Compacted(trigger, before, summary)
