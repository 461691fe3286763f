"""The filter of the list of sessions."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.store.usage.usage_slices import UNKNOWN_MODEL
from turnlog.web.slices.slice_address import SliceAddress


class ListingFilter(NamedTuple):
    """Which sessions to show and in which order."""

    q: str = ""
    """Words that must all occur in a session's row."""
    project: str = ""
    """A project's path, or a part of its name."""
    sort: str = "time"
    is_turned: bool = False
    """Whether to reverse the usual order."""
    group: str = ""
    """`project`: group by project."""
    everything: bool = False
    """Whether to include files without a conversation."""
    page: int = 0
    since: str = ""
    """The first day (`2026-11-03`) on which the sessions must have used tokens."""
    until: str = ""
    """The last such day."""
    only: str = ""
    """`deleting`: only sessions that Claude Code will delete soon."""
    model: str = ""
    """A model, or a part of a name, that the sessions must have used."""
    tool: str = ""
    """A tool that they must have called."""
    outcome: str = ""
    """`failed`: only sessions in which a call, or a call to that tool, failed."""
    hour: str = ""
    """An hour of the week in which they must have used tokens: `Wed-14`."""
    block: str = ""
    """The first hour of such a five-hour block in UTC: `2026-11-03T14`."""

    @property
    def is_narrow(self) -> bool:
        """Whether some sessions may not match."""
        return bool(self.q or self.project or self.only or self.has_slice)

    @property
    def has_slice(self) -> bool:
        """Whether only sessions with usage in a part of all usage match."""
        return any((self.since, self.until, self.model, self.tool, self.outcome, self.hour, self.block))

    def to_slice_address(self) -> SliceAddress:
        return SliceAddress(
            since=self.since,
            until=self.until,
            model="" if self.model == UNKNOWN_MODEL else self.model,
            by_model=UNKNOWN_MODEL if self.model == UNKNOWN_MODEL else "",
            by_tool=self.tool,
            outcome=self.outcome,
            hour=self.hour,
            block=self.block,
        )
