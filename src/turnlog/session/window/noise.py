"""What is in a session file and neither sent to a model nor needed to resume."""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.entries.entry import Entry

NOISE_TYPES = frozenset(
    "progress file-history-snapshot file-history-delta attribution-snapshot"
    " api-request api-request-shape api-request-blob".split()
)
"""Entries that are never sent, and that no client needs to resume."""
REPEATED_TYPES = frozenset(
    "ai-title custom-title agent-name mode permission-mode last-prompt tools-used cost-state atis-latch".split()
)
"""Entries that are written again and again: only the last of each type counts."""
HOOK_OUTPUT_TYPES = frozenset(
    "hook_success hook_blocking_error hook_non_blocking_error hook_error_during_execution hook_cancelled"
    " hook_system_message".split()
)
"""Attachments that tell what a hook printed. What a hook gave the model as context is not among them."""


def list_noise_entries(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that can go, in the order of the file."""
    rows = [entry for entry in entries if not entry.is_lost]
    last = {entry.type: entry.index for entry in rows if entry.type in REPEATED_TYPES}
    return [entry for entry in rows if _is_noise(entry) or (entry.type in last and last[entry.type] != entry.index)]


def _is_noise(entry: Entry) -> bool:
    return entry.type in NOISE_TYPES or (entry.type == "attachment" and entry.kind in HOOK_OUTPUT_TYPES)
