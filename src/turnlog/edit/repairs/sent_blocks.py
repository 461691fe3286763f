"""What the client would send of a session, block by block, so that no repair takes any of it away by itself.

A repair may change how blocks are ordered, add blocks, and bring hidden ones back. Only two things may go unasked: the
thinking and the pictures that the API refuses, because no request that holds them gets an answer.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Any

from turnlog.entries.patch import encode_json_line
from turnlog.errors import Refused
from turnlog.session.session import Session

REFUSED_BLOCK_TYPES = {
    "bad-thinking": frozenset({"thinking", "redacted_thinking"}),
    "bad-image": frozenset({"image", "document", "tool_result"}),
}
"""The types of blocks that the repair of a kind is meant to take out. A result may hold pictures."""
SentBlocks = Counter[tuple[str, bytes]]
"""How often each block is sent, by its type and a hash of what it says."""


def count_sent_blocks(session: Session) -> SentBlocks:
    """The blocks that the newest client would send; none if it would not resume the session."""
    try:
        messages = session.conversation().messages
    except Refused:
        return Counter()
    return Counter(_fingerprint_block(message["role"], block) for message in messages for block in message["content"])


def find_sent_loss(before: SentBlocks, after: SentBlocks, kind: str) -> str | None:
    """What a repair would take out of what is sent, in words; None if it takes nothing that it must not."""
    exempt = REFUSED_BLOCK_TYPES.get(kind, frozenset())
    lost = Counter(name for name, _ in (before - after).elements() if name not in exempt)
    if not lost:
        return None
    blocks = ", ".join(f"{number:,} {name}" for name, number in sorted(lost.items()))
    return f"the client sends blocks that would go ({blocks}); `--only {kind}` does it all the same"


def explain_sent_entries(number: int, kind: str) -> str:
    """Why some entries stay: the client sends them."""
    return f"{number:,} stay because the client sends them; `--only {kind}` takes them out"


def _fingerprint_block(role: str, block: dict[str, Any]) -> tuple[str, bytes]:
    """A block without what a repair may change in it: the name of a tool, and what only a cache needs."""
    said = {key: value for key, value in block.items() if key not in ("name", "cache_control")}
    digest = blake2b(encode_json_line({"role": role, **said}), digest_size=16).digest()
    return str(block.get("type")), digest
