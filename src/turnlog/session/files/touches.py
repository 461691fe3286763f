"""Every time a session touched a file (by a call, an attachment, or a command that changed it), in chronological order.

Sub-agents are included: their touches belong to the turn that started them. Each call id is counted once.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.session.agents import SubAgent
from turnlog.session.calls import Call, read_call_detail, read_call_inputs
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.touched_files import PATH_FIELDS, READ_TOOLS, find_named_path
from turnlog.session.turns import Turn

if TYPE_CHECKING:
    from turnlog.session.session import Session

TouchAction = Literal["read", "write", "edit", "attach", "change"]
TOUCH_ACTIONS: tuple[TouchAction, ...] = ("read", "write", "edit", "attach", "change")
"""attach: the client added the file to the conversation; change: the client reported a change by somebody else."""
TouchOutcome = Literal["done", "failed", "denied", "interrupted", "unanswered"]

_ATTACHMENT_ACTIONS: dict[str, TouchAction] = {
    "file": "attach",
    "already_read_file": "attach",
    "compact_file_reference": "attach",
    "nested_memory": "attach",
    "opened_file_in_ide": "attach",
    "selected_lines_in_ide": "attach",
    "edited_text_file": "change",
}
_SHELL_TOOLS = frozenset({"Bash", "PowerShell"})
_TOUCH_OUTCOMES: dict[str, TouchOutcome] = {
    "denied": "denied",
    "interrupted": "interrupted",
    "unanswered": "unanswered",
}
_ABSOLUTE_PATH = re.compile(r"[/~]|[A-Za-z]:[\\/]|\\\\")
_MAX_AGENT_DEPTH = 50


class Touch(Struct):
    """One use of a file."""

    path: str
    """The path, absolute if the session states the working folder."""
    action: TouchAction
    tool: str
    """The tool, or the kind of the attachment."""
    holder: Session
    """The session, or the sub-agent's session, whose file contains the touch."""
    entry: Entry
    """The attachment, the result of the call or, if there is no result, the call itself."""
    call: Call | None = None
    agent: SubAgent | None = None
    """The sub-agent that touched the file."""
    turn: Turn | None = None
    outcome: TouchOutcome = "done"
    place: float = 0
    """When it took effect, in milliseconds since 1970; never less than the time of an earlier line in its file."""

    @property
    def time(self) -> str | None:
        """When the touch took effect, according to the entry."""
        return self.entry.timestamp


def list_touches(session: Session) -> list[Touch]:
    """List all touches by a session and its sub-agents, in chronological order."""
    seen: set[str] = set()
    found = list(_list_own_touches(session, seen))
    for touch in found:
        touch.turn = session.find_turn(touch.entry)
    turns = AgentTurns(session)
    for agent in session.agents:
        turn = turns.find_turn(agent)
        for touch in _list_own_touches(session.open_agent_session(agent), seen):
            touch.agent = agent
            touch.turn = turn or find_turn_at(session, touch.place)
            found.append(touch)
    return sorted(found, key=attrgetter("place"))


class AgentTurns:
    """Finds the turn whose call started a sub-agent, directly or through a parent agent."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._agents = {item.agent_id: item for item in session.agents}
        self._calls = {call.id: call for call in session.calls}

    def find_turn(self, agent: SubAgent) -> Turn | None:
        """Return the turn, or None if the sub-agent was not started by a known call."""
        for _ in range(_MAX_AGENT_DEPTH):
            if call := self._calls.get(agent.call_id or ""):
                return self._session.find_turn(call.line)
            above = self._agents.get(agent.parent_agent_id or "")
            if above is None:
                break
            agent = above
        return None


def find_turn_at(session: Session, time: float) -> Turn | None:
    """Return the turn that was running at a given time, which is the latest one that had started."""
    started = [
        turn
        for turn in session.turns
        if (start := to_epoch_milliseconds(turn.started_at)) is not None and start <= time
    ]
    return started[-1] if started else None


def _list_own_touches(session: Session, seen: set[str]) -> Iterator[Touch]:
    """Yield the touches in one session file, each with its time."""
    found = [*_list_call_touches(session, seen), *_list_attachment_touches(session)]
    latest = 0.0
    for touch in sorted(found, key=lambda touch: touch.entry.index):
        latest = touch.place = max(latest, to_epoch_milliseconds(touch.entry.timestamp) or 0)
        yield touch


def _list_call_touches(session: Session, seen: set[str]) -> Iterator[Touch]:
    wanted = [call for call in session.calls if call.name in PATH_FIELDS and call.id not in seen]
    for call, arguments in zip(wanted, read_call_inputs(session.file, wanted), strict=True):
        path = find_named_path(arguments, call.name)
        if path is not None:
            action: TouchAction = "read" if call.name in READ_TOOLS else "write" if call.name == "Write" else "edit"
            seen.add(call.id)
            yield Touch(
                resolve_touched_path(path, call.line.cwd),
                action,
                call.name,
                session,
                call.result or call.line,
                call,
                outcome=_judge_outcome(session, call),
            )
    yield from _list_command_touches(session, seen)


def _judge_outcome(session: Session, call: Call) -> TouchOutcome:
    if call.is_error is False:
        return "done"
    return _TOUCH_OUTCOMES.get(read_call_detail(session.file, call).outcome, "failed")


def _list_command_touches(session: Session, seen: set[str]) -> Iterator[Touch]:
    """Yield the files that commands changed, if the client observed the change."""
    for call in session.calls:
        if call.name in _SHELL_TOOLS and call.result is not None and call.id not in seen:
            if b'"bashEditDiff"' not in session.file.read_raw(call.result):
                continue
            seen.add(call.id)
            for path in read_changed_files(session.read_body(call.result)):
                yield Touch(resolve_touched_path(path, call.line.cwd), "edit", call.name, session, call.result, call)


def read_changed_files(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Map each file that a command changed to what the client recorded about it."""
    structured = body.get("toolUseResult")
    diff = structured.get("bashEditDiff") if isinstance(structured, dict) else None
    fields = diff if isinstance(diff, dict) else {}
    found: dict[str, dict[str, Any]] = {path: {} for path in _keep_strings(fields.get("changedFiles"))}
    files = fields.get("files")
    for item in files if isinstance(files, list) else ():
        if isinstance(item, dict) and isinstance(path := item.get("filePath"), str) and path:
            found[path] = item
    return found


def _keep_strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def _list_attachment_touches(session: Session) -> Iterator[Touch]:
    for entry in session.entries:
        if entry.type == "attachment" and (action := _ATTACHMENT_ACTIONS.get(entry.kind or "")):
            attachment = session.read_body(entry).get("attachment")
            fields = attachment if isinstance(attachment, dict) else {}
            path = next(iter(_keep_strings([fields.get("filename"), fields.get("path")])), None)
            if path is not None:
                yield Touch(resolve_touched_path(path, entry.cwd), action, entry.kind or "", session, entry)


def resolve_touched_path(path: str, cwd: str | None) -> str:
    """Resolve a path against a working folder; return an absolute path unchanged."""
    if _ABSOLUTE_PATH.match(path) or not cwd:
        return path
    if "\\" in cwd and "/" not in cwd:
        return cwd.rstrip("\\") + "\\" + path
    return posixpath.normpath(posixpath.join(cwd, path))


class FileTouches(Struct):
    path: str
    touches: list[Touch]

    def count_touches(self, *actions: TouchAction) -> int:
        """Count the successful touches with these actions."""
        return sum(touch.action in actions and touch.outcome == "done" for touch in self.touches)

    @property
    def failures(self) -> list[Touch]:
        """The touches that failed, were denied or interrupted, or were never answered."""
        return [touch for touch in self.touches if touch.outcome != "done"]


def group_touches_by_file(touches: Iterable[Touch]) -> list[FileTouches]:
    """Group touches by file, in order of their first touch."""
    files: dict[str, FileTouches] = {}
    for touch in touches:
        files.setdefault(touch.path, FileTouches(touch.path, [])).touches.append(touch)
    return list(files.values())
