"""Waits in print mode for what runs in the background."""

from __future__ import annotations

import time

from turnlog.agent.loop import AgentLoop
from turnlog.model.cancel import Cancel

_DEFAULT_MAX_MS = 600_000
"""How long print mode waits for background tasks after its last turn, as in Claude Code."""
_POLL_SECONDS = 0.2


def wait_for_notice(loop: AgentLoop, cancel: Cancel) -> bool:
    """Wait for the end of a background task; return False if none is running, or if the wait is over."""
    shared = loop.shared
    until = time.monotonic() + _read_max_ms(loop.setup.environ.get("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS")) / 1000
    while not cancel.is_set:
        is_settled = shared.tasks.is_settled()  # before the look at the notices, which come first
        if shared.notices.list_waiting():
            return True
        if is_settled or time.monotonic() >= until:
            return False
        shared.notices.wait(_POLL_SECONDS)
    return False


def _read_max_ms(given: str | None) -> int:
    return int(given) if given and given.isdecimal() else _DEFAULT_MAX_MS
