"""Tool calls, each paired with its result, regardless of their order in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.entries.old_names import OldName
from turnlog.entries.reader import Transcript, pause_garbage_collector
from turnlog.session.failures import has_failed_entry, to_result_text
from turnlog.session.line_blocks import EntryBodies, read_line_blocks

TOOL_FAMILIES: dict[str, tuple[str, ...]] = {
    name: tuple(tools.split())
    for name, tools in {
        "reading": "Read Glob Grep LS LSP NotebookRead ToolSearch ListMcpResourcesTool ReadMcpResourceTool",
        "writing": "Edit Write MultiEdit NotebookEdit Artifact",
        "running": "Bash PowerShell BashOutput KillShell KillBash TaskOutput TaskStop Monitor REPL",
        "web": "WebFetch WebSearch",
        "planning": "TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet EnterPlanMode ExitPlanMode"
        " ScheduleWakeup EnterWorktree ExitWorktree CronCreate CronDelete CronList",
        "asking": "AskUserQuestion SendUserFile StructuredOutput",
        "agents": "Task Agent SendMessage Workflow ListAgents TeamCreate TeamDelete",
        "skills": "Skill SlashCommand",
    }.items()
}
"""The tools in each family. Tools from MCP servers (`mcp__…`) are a family of their own; unknown tools are `other`."""

_FAMILY_BY_TOOL = {name: family for family, names in TOOL_FAMILIES.items() for name in names}
AGENT_TOOLS = frozenset({"Task", "Agent"})
TOOLS_WAITING_FOR_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode"})
_REJECTION_TEXTS = ("The user doesn't want to proceed", "User rejected", "The user doesn't want to take this action")
_INTERRUPTION_TEXTS = ("[Request interrupted", "[Tool call interrupted", "Exit code 137 [Request interrupted")
_PERSISTED_OUTPUT = re.compile(r"<persisted-output>.*?saved to: (.*?)$", re.DOTALL | re.MULTILINE)


def find_tool_family(name: str) -> str:
    if name.startswith("mcp__"):
        return "mcp"
    return _FAMILY_BY_TOOL.get(name, "other")


class Call(Struct, gc=False):
    """A tool call with the lines of its request and its result."""

    id: str
    name: str
    line: Entry
    """The assistant entry that contains it."""
    message: str
    """The key of its message."""
    result: Entry | None = None
    """The user entry that contains its result."""
    is_error: bool | None = None
    """None while unanswered."""
    agent_id: str | None = None
    """The sub-agent that the call started."""

    @property
    def started_at(self) -> str | None:
        """The timestamp of the assistant entry."""
        return self.line.timestamp

    @property
    def ended_at(self) -> str | None:
        """The timestamp of the result, or None if there is no result."""
        return self.result.timestamp if self.result else None

    started = OldName("started_at")
    ended = OldName("ended_at")


class SessionCalls(NamedTuple):
    """All calls in a session, and any results without a call."""

    all: list[Call]
    orphans: list[Entry]

    @property
    def unanswered_calls(self) -> list[Call]:
        return [call for call in self.all if call.result is None]

    @property
    def errors(self) -> list[Call]:
        return [call for call in self.all if call.is_error]


@pause_garbage_collector()
def pair_calls(entries: Iterable[Entry], file: EntryBodies) -> SessionCalls:
    """Pair calls and results by id. A call that is written twice is counted once, with its first result."""
    calls: dict[str, Call] = {}
    early: list[tuple[str | None, bool | None, Entry]] = []
    for entry in entries:
        kind, head = entry.type, entry.message
        if head is None or not isinstance(head.content, list):
            continue
        for block in head.content:
            if kind == "assistant" and block.type == "tool_use":
                key = block.id or f"@{entry.offset}"
                if key not in calls:
                    calls[key] = Call(key, block.name or "", entry, head.id or entry.uuid or f"@{entry.offset}")
            elif kind == "user" and block.type == "tool_result":
                call = calls.get(block.tool_use_id or "")
                if call is None:
                    early.append((block.tool_use_id, block.is_error, entry))
                elif call.result is None:
                    call.result = entry
                    call.is_error = has_failed_entry(file, entry, block.tool_use_id, block.is_error)
    orphans = []
    for identity, is_error, entry in early:
        call = calls.get(identity or "")
        if call is None:
            orphans.append(entry)
        elif call.result is None or call.result.index > entry.index:
            call.result, call.is_error = entry, has_failed_entry(file, entry, identity, is_error)
    return SessionCalls(list(calls.values()), orphans)


class CallDetail(NamedTuple):
    """The decoded content of a call and its result."""

    input: Any
    result: Any
    """The content of the result block: text, or a list of blocks."""
    structured: Any
    """The client's own structured result (`toolUseResult`)."""
    outcome: str
    """answered, error, denied, interrupted, launched (continues in the background) or unanswered."""
    persisted: str | None
    """The path of the file that contains a result that was too large for the transcript."""
    background_id: str | None
    """The background task that the call started."""
    was_decided_by_person: bool = False
    """Whether the client asked a person for permission, as the newest clients record."""


def read_call_detail(file: Transcript, call: Call) -> CallDetail:
    arguments = next(read_call_inputs(file, [call]))
    if call.result is None:
        return CallDetail(arguments, None, None, "unanswered", None, None)
    line = read_line_blocks(file, call.result)
    body, result = line.body, line.results.get(call.id, {})
    structured = body.get("toolUseResult")
    fields = structured if isinstance(structured, dict) else {}
    text = to_result_text(result.get("content"))
    return CallDetail(
        arguments,
        result.get("content"),
        structured,
        judge_call_outcome(body, text, is_error=bool(call.is_error)),
        _find_output_path(fields.get("persistedOutputPath"), text),
        _to_text(fields.get("backgroundTaskId")),
        _was_decided_by_person(body),
    )


def _was_decided_by_person(body: dict[str, Any]) -> bool:
    decision = body.get("permissionDecision")
    return isinstance(decision, dict) and str(decision.get("source")).startswith("user")


def read_call_inputs(file: Transcript, calls: Iterable[Call]) -> Iterator[Any]:
    """Yield the input of each call; None for a call without input."""
    for call in calls:
        yield read_line_blocks(file, call.line).calls.get(call.id, {}).get("input")


def judge_call_outcome(body: dict[str, Any], text: str, *, is_error: bool) -> str:
    """Determine how an answered call ended, from the entry that contains its result and the result's text."""
    structured = body.get("toolUseResult")
    fields = structured if isinstance(structured, dict) else {}
    # A command that succeeded can print the client's own words; an object or a list records a success.
    may_quote = not is_error and isinstance(structured, dict | list)
    if body.get("toolDenialKind") or (not may_quote and text.startswith(_REJECTION_TEXTS)):
        return "denied"
    if fields.get("interrupted") or (not may_quote and any(mark in text[:200] for mark in _INTERRUPTION_TEXTS)):
        return "interrupted"
    if fields.get("isAsync") or fields.get("backgroundTaskId"):
        return "launched"
    return "error" if is_error else "answered"


def _find_output_path(path: object, text: str) -> str | None:
    if isinstance(path, str):
        return path
    found = _PERSISTED_OUTPUT.search(text[:4000])
    return found[1].strip() if found else None


def _to_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def read_started_agent_id(file: Transcript, call: Call) -> str | None:
    """Return the id of the sub-agent that is named in the result of a call."""
    if call.result is None:
        return None
    structured = read_line_blocks(file, call.result).body.get("toolUseResult")
    found = structured.get("agentId") or structured.get("agent_id") if isinstance(structured, dict) else None
    return found if isinstance(found, str) else None
