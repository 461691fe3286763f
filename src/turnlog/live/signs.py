"""What is known about a session besides its transcript: its client's own report, its processes, hooks, file times.

ClientWatch, SessionWatch  -->  SessionSigns  -->  states.judge_state
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from msgspec import Struct

from turnlog.live.activity import OpenCall
from turnlog.live.processes import ChildProcess
from turnlog.live.typed_commands import TypedCommand

Presence = Literal["open", "ended", "left", "unknown"]
"""Whether a client has the session open; left: its client continued with a different session."""
_TOOL_SHELL_MARKS = ("shell-snapshots", "pwd -P >|")
"""Found in the command line of every shell in which a client runs a command."""


ProcessKey = tuple[int, int]
"""A process: its id, and its start in clock ticks since boot, because ids are reused."""


def to_process_key(pid: int, start: str | None) -> ProcessKey | None:
    """Identify a process by its id and start; None if the start is unknown."""
    return (pid, int(start)) if start is not None and start.isdecimal() else None


class HookSign(NamedTuple):
    """The latest report of a hook about a session."""

    event: str
    """As Claude Code names it: `Stop`, `PermissionRequest`, …"""
    time: datetime
    detail: str = ""
    """What the event is about: the tool, the type and text of a notification, why a session started or ended."""
    agent: str = ""
    """The sub-agent that it is about; empty for the main agent."""
    processes: tuple[ProcessKey, ...] = ()
    """The processes that started it; empty if they are unknown."""


class ScreenSign(NamedTuple):
    """Whether a client keeps drawing on its screen, as it does while it works."""

    is_drawing: bool
    seconds: float = 60.0
    """For how long."""
    is_known: bool = True
    """Whether this client was ever seen drawing; otherwise it may have no spinner."""


class SessionSigns(Struct, frozen=True):
    """What is known besides the transcript; every sign may be missing."""

    written: datetime | None = None
    """When something last happened in the session's own file."""
    is_open: bool = False
    """Whether a running client has the session open."""
    status: str | None = None
    """What the client reports: busy, shell, idle or waiting."""
    waiting_for: str | None = None
    is_compacting: bool = False
    """Whether the newest file is the client's own summary."""
    status_time: datetime | None = None
    """When the client reported its status."""
    presence: Presence = "unknown"
    is_presence_sure: bool = False
    """Whether the client itself registered or removed its registration; otherwise it is inferred from processes."""
    agents_written: datetime | None = None
    """When something last happened in a sub-agent's file."""
    waiting_agent: str = ""
    """The call that a sub-agent may be waiting to get permission for."""
    children: tuple[ChildProcess, ...] | None = None
    """What the client runs at the moment; None if unknown."""
    childless_seconds: float = 0.0
    """For how long the client has not been running a command."""
    screen: ScreenSign | None = None
    client_started: datetime | None = None
    """When the client's process started; None if unknown."""
    client_process: ProcessKey | None = None
    """The client's process; None if unknown."""
    agent_calls: tuple[OpenCall, ...] | None = None
    """The calls of sub-agents that have no result yet; None if no sub-agent's file was read."""
    has_suggestion: bool = False
    """Whether the newest file is the client's suggestion for the next prompt, which it makes after a turn."""
    hook: HookSign | None = None
    typed: TypedCommand | None = None
    """What a person typed last."""

    @property
    def last_activity(self) -> datetime | None:
        """When something last happened in any of the session's files."""
        times = [time for time in (self.written, self.agents_written) if time is not None]
        return max(times, default=None)


NO_SIGNS = SessionSigns()


def is_tool_shell(child: ChildProcess) -> bool:
    """Return whether a process is a shell in which a client runs a command, for the model or for the user."""
    return any(mark in child.command for mark in _TOOL_SHELL_MARKS)


def matches_command(child: ChildProcess, command: str) -> bool:
    """Return whether a shell runs a certain command; quoting is ignored."""
    words = _squeeze(command)[:80]
    return bool(words) and words in _squeeze(child.command)


def _squeeze(text: str) -> str:
    return "".join(char for char in text if char.isalnum())
