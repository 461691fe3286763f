"""Every time that a session touched a file: by a call, an attachment, or a command that changed it; in order of time.

Sub-agents are included: what they did belongs to the turn that started them. Calls are counted by their id, once.
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
"""attach: the client itself put the file into the conversation; change: it told that somebody else changed the file."""
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
    """One time that a file was touched."""

    path: str
    """Absolute, as far as the session tells the working folder."""
    action: TouchAction
    tool: str
    """The tool, or the kind of the attachment."""
    holder: Session
    """The session, or that of a sub-agent, whose file holds it."""
    entry: Entry
    """The attachment, or what answers the call, or else the call itself."""
    call: Call | None = None
    agent: SubAgent | None = None
    """The sub-agent that did it."""
    turn: Turn | None = None
    outcome: TouchOutcome = "done"
    place: float = 0
    """When it took effect, in milliseconds since 1970; never before what stands above it in its file."""

    @property
    def time(self) -> str | None:
        """When it took effect, as the entry says."""
        return self.entry.timestamp


def list_touches(session: Session) -> list[Touch]:
    """All touches of a session and its sub-agents, in order of time."""
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
    """Finds the turn whose call started a sub-agent, or the one that this one was started by."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._agents = {item.agent_id: item for item in session.agents}
        self._calls = {call.id: call for call in session.calls}

    def find_turn(self, agent: SubAgent) -> Turn | None:
        """The turn; None where nothing leads to it."""
        for _ in range(_MAX_AGENT_DEPTH):
            if call := self._calls.get(agent.call_id or ""):
                return self._session.find_turn(call.line)
            above = self._agents.get(agent.parent_agent_id or "")
            if above is None:
                break
            agent = above
        return None


def find_turn_at(session: Session, time: float) -> Turn | None:
    """The turn that was at work at a time: the last one that had begun."""
    begun = [
        turn
        for turn in session.turns
        if (start := to_epoch_milliseconds(turn.started_at)) is not None and start <= time
    ]
    return begun[-1] if begun else None


def _list_own_touches(session: Session, seen: set[str]) -> Iterator[Touch]:
    """The touches that one file holds, each with its place in time."""
    found = [*_list_call_touches(session, seen), *_list_attachment_touches(session)]
    latest = 0.0
    for touch in sorted(found, key=lambda touch: touch.entry.index):
        latest = touch.place = max(latest, to_epoch_milliseconds(touch.entry.timestamp) or 0)
        yield touch


def _list_call_touches(session: Session, seen: set[str]) -> Iterator[Touch]:
    wanted = [call for call in session.calls if call.name in PATH_FIELDS and call.id not in seen]
    for call, given in zip(wanted, read_call_inputs(session.file, wanted), strict=True):
        path = find_named_path(given, call.name)
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
    """The files that commands changed, where the client watched that."""
    for call in session.calls:
        if call.name in _SHELL_TOOLS and call.result is not None and call.id not in seen:
            if b'"bashEditDiff"' not in session.file.read_raw(call.result):
                continue
            seen.add(call.id)
            for path in read_changed_files(session.read_body(call.result)):
                yield Touch(resolve_touched_path(path, call.line.cwd), "edit", call.name, session, call.result, call)


def read_changed_files(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The files that a command changed, with what the client tells of each."""
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
    """A path as seen from a working folder; one that is absolute already stays as it is written."""
    if _ABSOLUTE_PATH.match(path) or not cwd:
        return path
    if "\\" in cwd and "/" not in cwd:
        return cwd.rstrip("\\") + "\\" + path
    return posixpath.normpath(posixpath.join(cwd, path))


class FileTouches(Struct):
    """A file, and all that touched it."""

    path: str
    touches: list[Touch]

    def count_touches(self, *actions: TouchAction) -> int:
        """How often it was touched in these ways; what failed is not counted."""
        return sum(touch.action in actions and touch.outcome == "done" for touch in self.touches)

    @property
    def failures(self) -> list[Touch]:
        """What failed, was denied or interrupted, or was never answered."""
        return [touch for touch in self.touches if touch.outcome != "done"]


def group_touches_by_file(found: Iterable[Touch]) -> list[FileTouches]:
    """Touches by file, in the order of the first one."""
    files: dict[str, FileTouches] = {}
    for touch in found:
        files.setdefault(touch.path, FileTouches(touch.path, [])).touches.append(touch)
    return list(files.values())
