"""Finds answers whose text the client lost: the API billed it, but the file has only what stands around it.

Two separate blocks of thinking never follow one another: the model said something in between. An answer that ended by
itself and contains only thinking has lost its text too. In 188 published files, the first rule finds 12 answers in one
file, of 208 to 1,401 billed tokens; an answer with one block of thinking and calls says nothing, because models often
call a tool without a word.
"""

from __future__ import annotations

from itertools import pairwise

from turnlog.session.messages import Message

MIN_LOST_TOKENS = 100
"""With fewer billed tokens, little can be missing."""
_THINKING_TYPES = ("thinking", "redacted_thinking")
_ENDS_OF_SPEECH = ("end_turn", "stop_sequence")


def count_lost_tokens(message: Message) -> int | None:
    """Return how many output tokens were billed for an answer whose text is missing; None if none is missing."""
    tokens = message.tokens
    if tokens is None or tokens.output < MIN_LOST_TOKENS or message.quality != "final":
        return None
    if message.is_synthetic or not (message.model or "").startswith("claude"):
        return None  # other providers write thinking in pieces
    types = [block.type for line in message.lines if line.message for block in line.message.blocks]
    if "text" in types:
        return None
    is_silent = message.stop_reason in _ENDS_OF_SPEECH and all(kind in _THINKING_TYPES for kind in types)
    has_gap = any(one in _THINKING_TYPES and other in _THINKING_TYPES for one, other in pairwise(types))
    return tokens.output if types and (is_silent or has_gap) else None


def describe_lost_text(tokens: int | None) -> str:
    """Say that the text of an answer is missing; empty if none is."""
    return f"an answer's text is missing here ({tokens:,} tokens billed)" if tokens else ""
