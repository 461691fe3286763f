"""What sessions that are being written have cost so far, sub-agents included, at list prices.

A session is read once from its start, a limited number of bytes at a time, and then as it grows. Only the latest
messages are kept: a message's lines are written close together, so earlier messages are final.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from turnlog.entries.agents import list_agent_files
from turnlog.entries.entry import Entry
from turnlog.entries.file_ends import split_lines
from turnlog.entries.reader import scan_lines
from turnlog.entries.tail import Checkpoint, read_tail
from turnlog.session.usage.message_counts import MessageCounts, count_line
from turnlog.session.usage.prices import PICO_PER_DOLLAR, compute_cost

POLL_BUDGET_BYTES = 4 << 20
"""How much is read in one poll, so that large sessions delay nothing else."""
_CHUNK_BYTES = 1 << 20
_MARKER = b'"assistant"'
"""Every line that costs something contains it."""
_MAX_OPEN_MESSAGES = 64
_MAX_KNOWN_MESSAGES = 500_000
_AGENT_LIST_SECONDS = 5.0


class SessionCost:
    """The cost of the part of a session that has been read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[Path, Checkpoint] = {path: Checkpoint()}
        self._listed_at = float("-inf")
        self._open: dict[str, MessageCounts] = {}
        self._known: set[int] = set()
        self._pico = 0
        self.usd: float | None = None
        """The cost in US dollars; None until the session was read once."""
        self.written = 0.0
        """When the session was last written, as it was read."""

    def read(self, budget: int) -> int:
        """Read what was added, up to about `budget` bytes; return how many were read."""
        self._list_agents()
        used = 0
        for path in list(self._files):
            while used < budget:
                count = self._read_chunk(path)
                used += count
                if count == 0:
                    break
        if self.usd is None and used >= budget:
            return used
        if used or self.usd is None:
            self.usd = (self._pico + sum(map(_price, self._open.values()))) / PICO_PER_DOLLAR
        return used

    def _list_agents(self) -> None:
        if time.monotonic() - self._listed_at > _AGENT_LIST_SECONDS:
            self._listed_at = time.monotonic()
            for agent in list_agent_files(self._path):
                self._files.setdefault(agent.path, Checkpoint())

    def _read_chunk(self, path: Path) -> int:
        try:
            tail = read_tail(path, self._files[path], _CHUNK_BYTES)
        except OSError:
            return 0
        if tail.reset == "missing":
            return 0
        if tail.reset and path == self._path:  # messages that are still there must not count twice
            self._open.clear()
            self._known.clear()
            self._pico, self.usd = 0, None
            self._files = {other: Checkpoint() for other in self._files}
        self._files[path] = tail.checkpoint
        lines = (line for line in split_lines(tail.data) if _MARKER in line)
        for item, _ in scan_lines(lines):
            if isinstance(item, Entry):
                self._count(item)
        return len(tail.data)

    def _count(self, entry: Entry) -> None:
        head = entry.message
        if head is None or entry.type != "assistant":
            return
        if head.id is not None and head.id not in self._open and hash(head.id) in self._known:
            return
        count_line(self._open, entry, str(self._path), entry.offset)
        while len(self._open) > _MAX_OPEN_MESSAGES:
            key = next(iter(self._open))
            self._pico += _price(self._open.pop(key))
            if len(self._known) < _MAX_KNOWN_MESSAGES:
                self._known.add(hash(key))


def _price(counts: MessageCounts) -> int:
    speed, tier, geo = (counts.terms or "||").split("|", 2)
    cost = compute_cost(
        counts.model, counts.tokens, speed=speed or None, service_tier=tier or None, geo=geo or None, at=counts.first
    )
    return cost.pico or 0


class CostBook:
    """The costs of several sessions, which are read in turns."""

    def __init__(self, budget: int = POLL_BUDGET_BYTES) -> None:
        self._budget = budget
        self._costs: dict[str, SessionCost] = {}

    def read(self, files: Mapping[str, float]) -> None:
        """Continue reading the given sessions (with the time each was last written), and forget all others."""
        self._costs = {file: self._costs.get(file) or SessionCost(Path(file)) for file in files}
        left = self._budget
        for file, cost in self._costs.items():
            if cost.usd is None or cost.written != files[file]:
                left -= cost.read(left)
                cost.written = files[file] if left > 0 else 0.0
            if left <= 0:
                return

    def get(self, file: str) -> float | None:
        """Return what a session has cost so far; None if that is unknown."""
        cost = self._costs.get(file)
        return cost.usd if cost is not None else None

    @property
    def is_complete(self) -> bool:
        """Whether every session was read once."""
        return all(cost.usd is not None for cost in self._costs.values())
