"""Reads what the hook reports about sessions (`trace.hook` with `--for live`), as it is written.

    <data>/hook-reports/<day>.jsonl         one report a line, appended by many short processes
    <data>/hook-reports/<day>-<ns>.jsonl    a full file

A report is certain, but only for a while: nothing reports that a person has allowed a call or has stopped a turn.
`states` ignores a report when the transcript or the client's own status is newer. A sub-agent's request counts until
the sub-agent stops or writes to its own file. A report with a time in the future does not count, because the clock was
changed.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from turnlog.entries.layout import scan_folder
from turnlog.entries.tail import Checkpoint, read_tail
from turnlog.live.signs import HookSign, ProcessKey

ReportedEvent = Literal[
    "Notification", "PermissionRequest", "PreCompact", "SessionEnd", "SessionStart", "Stop", "SubagentStop",
    "UserPromptSubmit",
]  # fmt: skip

SPOOL_FOLDER_NAME = "hook-reports"
_SPOOL_NAME = re.compile(r"\d{4}-\d\d-\d\d(-\d+)?\.jsonl", re.ASCII)
_AGENT_ID = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)
_MAX_SPOOL_BYTES = 8 << 20
"""The hook starts a new file far earlier, so a larger one is not from it."""
_MAX_LINE_BYTES = 4096
"""The hook writes shorter lines."""
_MAX_SESSIONS = 2000
_MAX_AGENT_REQUESTS = 100
_KEPT_SECONDS = 7 * 86400.0
_MAX_CLOCK_LEAD_SECONDS = 2.0
_REMINDER_SECONDS = 15.0
"""A notification that follows a request for permission this soon is about that request."""
_AGENT_WRITE_SECONDS = 1.0
"""How much later than its request a sub-agent may write the call that the request is about."""
_DECIDING_NOTICES = ("permission", "waiting for your input", "idle_prompt", "needs_input", "elicitation_dialog")
"""Found in the type or the text of a notification that says what a session is doing."""


class HookReport(msgspec.Struct, frozen=True):
    """What the hook reported: an event, and a few facts about it."""

    event: ReportedEvent
    time: float
    """When the hook ran, in seconds since 1970."""
    session_id: str
    agent_id: str = ""
    """The sub-agent that it is about; empty for the main agent."""
    tool_name: str = ""
    """The tool that needs permission."""
    notification_type: str = ""
    message: str = ""
    """The start of a notification."""
    source: str = ""
    """Why a session started: startup, resume, clear or compact."""
    reason: str = ""
    """Why a session ended."""
    trigger: str = ""
    """Why a conversation is compacted: manual or auto."""
    background: int | None = None
    """How many background tasks were running, if the client said so."""
    processes: tuple[ProcessKey, ...] = ()
    """The processes that started the hook, the nearest first; one is the client. Empty if they are unknown."""
    process_space: int | None = None
    """The namespace of these processes; None if it is unknown."""

    @property
    def detail(self) -> str:
        """What the event is about, in one line."""
        match self.event:
            case "Notification":
                return ": ".join(filter(None, (self.notification_type, self.message)))
            case "SubagentStop":
                return self.agent_id
        return self.tool_name or self.source or self.reason or self.trigger

    @property
    def asks_permission(self) -> bool:
        """Whether a person has to allow something."""
        return self.event == "PermissionRequest" or (self.event == "Notification" and "permission" in self.detail)


_DECODER = msgspec.json.Decoder(HookReport)


class SpoolSummary(NamedTuple):
    """The state of the files that the hook writes."""

    path: Path
    files: int = 0
    bytes: int = 0
    latest: float | None = None
    """When the latest report was written, in seconds since 1970."""
    problem: str | None = None


class _SessionReports:
    """The reports about what one session is doing."""

    def __init__(self) -> None:
        self.main: HookReport | None = None
        self.before_compaction: HookReport | None = None
        """What was reported before the conversation was compacted."""
        self.requests: dict[str, HookReport] = {}
        """Requests for permission by sub-agents, by the sub-agent's id."""

    def add(self, report: HookReport) -> None:
        match report.event:
            case "SubagentStop":
                self.requests.pop(report.agent_id, None)
                return
            case "PermissionRequest" if report.agent_id:
                if len(self.requests) < _MAX_AGENT_REQUESTS:
                    self.requests[report.agent_id] = report
                return
            case "SessionStart" if report.source == "compact":
                self._end_compaction()  # the turn may go on
                return
            case "PreCompact" if self.main is None or self.main.event != "PreCompact":
                self.before_compaction = self.main
            case "SessionStart" | "SessionEnd":
                self.requests.clear()
            case "Notification" if not self._decides(report):
                return
        if not report.agent_id:
            self.main = report

    def _end_compaction(self) -> None:
        if self.main is not None and self.main.event == "PreCompact":
            self.main, self.before_compaction = self.before_compaction, None

    def _decides(self, notice: HookReport) -> bool:
        """Return whether a notification adds information; most only repeat an earlier report."""
        if not any(words in notice.detail for words in _DECIDING_NOTICES):
            return False
        earlier = [self.main] if self.main else []
        if not notice.asks_permission:
            return all(report.event != "Stop" for report in earlier)
        earlier += self.requests.values()
        return not any(
            report.event == "PermissionRequest" and abs(notice.time - report.time) < _REMINDER_SECONDS
            for report in earlier
        )


class HookReports:
    """The reports in a data folder: each is returned once, and the latest for each session are kept."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / SPOOL_FOLDER_NAME
        self._checkpoints: dict[int, Checkpoint] = {}
        """By inode, because a full file is renamed."""
        self._sessions: dict[str, _SessionReports] = {}
        self._cleaned_on = ""

    def poll(self) -> list[HookReport]:
        """Return the reports that are new since the last call, in the order in which they were written."""
        self._remove_old_spools()
        found: list[HookReport] = []
        checkpoints: dict[int, Checkpoint] = {}
        for path, status in _list_spools(self._folder):
            key = status.st_ino or hash(path.name)  # Windows has no inodes here
            known = self._checkpoints.get(key)
            try:
                tail = read_tail(path, known)
            except OSError:
                if known is not None:
                    checkpoints[key] = known
                continue
            checkpoints[key] = tail.checkpoint
            found += _parse_reports(tail.data)
        self._checkpoints = checkpoints
        for report in found:
            self._add(report)
        return found

    def latest(self, session_id: str) -> HookReport | None:
        """Return the latest report about what a session's main agent is doing."""
        reports = self._sessions.get(session_id)
        return reports.main if reports else None

    def list_agent_requests(self, session_id: str) -> list[HookReport]:
        """List the requests for permission by sub-agents that have not stopped since."""
        reports = self._sessions.get(session_id)
        return list(reports.requests.values()) if reports else []

    def _add(self, report: HookReport) -> None:
        reports = self._sessions.pop(report.session_id, None) or _SessionReports()
        self._sessions[report.session_id] = reports  # the last one is the one that was heard of last
        reports.add(report)
        if len(self._sessions) > _MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    def _remove_old_spools(self) -> None:
        """Once a day, delete files that are too old to matter or have a date in the future."""
        now = time.time()
        today = time.strftime("%Y-%m-%d", time.gmtime(now))
        if today == self._cleaned_on:
            return
        self._cleaned_on = today
        for path, status in _list_spools(self._folder):
            if not -86400 < now - status.st_mtime < _KEPT_SECONDS:
                with contextlib.suppress(OSError):
                    path.unlink()


def find_hook_sign(reports: HookReports, session: Path, now: float) -> HookSign | None:
    """Return the report that best describes a session; a sub-agent's request for permission takes precedence."""
    latest_time = now + _MAX_CLOCK_LEAD_SECONDS
    for request in reports.list_agent_requests(session.stem):
        if request.time <= latest_time and not _has_agent_continued(request, session):
            return _build_sign(request)
    report = reports.latest(session.stem)
    return _build_sign(report) if report is not None and report.time <= latest_time else None


def _build_sign(report: HookReport) -> HookSign | None:
    try:
        time = datetime.fromtimestamp(report.time, UTC)
        return HookSign(report.event, time, report.detail, report.agent_id, report.processes)
    except (OverflowError, ValueError, OSError):
        return None  # not a time


def inspect_spool(data_dir: Path) -> SpoolSummary:
    """Count the files that the hook has written, and find out what prevents it from writing."""
    folder = data_dir / SPOOL_FOLDER_NAME
    spools = list(_list_spools(folder))
    sizes = [status.st_size for _, status in spools]
    times = [status.st_mtime for _, status in spools if status.st_size]
    return SpoolSummary(folder, len(spools), sum(sizes), max(times, default=None), _find_spool_problem(folder))


def _find_spool_problem(folder: Path) -> str | None:
    if not os.path.lexists(folder):
        return None
    if not folder.is_dir():
        return f"{folder}: not a folder; remove it, so that the hook can write reports"
    current = folder / time.strftime("%Y-%m-%d.jsonl", time.gmtime())
    if os.path.lexists(current) and (current.is_symlink() or not current.is_file()):
        return f"{current}: not a regular file; remove it, so that the hook can write reports"
    blocked = next((path for path in (folder, current) if path.exists() and not os.access(path, os.W_OK)), None)
    return f"{blocked}: not writable; the hook can't write reports" if blocked else None


def _list_spools(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the files that the hook has written, oldest first; ignore all other files in the folder."""
    for item in sorted(scan_folder(folder), key=_get_name):
        if _SPOOL_NAME.fullmatch(item.name):
            with contextlib.suppress(OSError):
                status = os.lstat(item.path)
                if stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_SPOOL_BYTES:
                    yield Path(item.path), status


def _get_name(item: os.DirEntry[str]) -> str:
    return item.name


def _parse_reports(data: bytes) -> Iterator[HookReport]:
    """Parse whole lines; skip those that aren't reports."""
    for line in data.split(b"\n"):
        if 0 < len(line) <= _MAX_LINE_BYTES:
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                yield _DECODER.decode(line)


def _has_agent_continued(request: HookReport, session: Path) -> bool:
    """Return whether a sub-agent has written something since it asked for permission."""
    if not _AGENT_ID.fullmatch(request.agent_id):
        return True
    name = f"agent-{request.agent_id}.jsonl"
    for path in (session.with_suffix("") / "subagents" / name, session.parent / name):
        with contextlib.suppress(OSError):
            return path.stat().st_mtime > request.time + _AGENT_WRITE_SECONDS
    return False
