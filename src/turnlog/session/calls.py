"""Tool calls, each with its result, in whatever order the two stand in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript, collector_off
from turnlog.session.failures import Bodies, entry_tells_failure, plain

FAMILIES: dict[str, tuple[str, ...]] = {
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
"""What a tool is for. Tools of MCP servers (`mcp__…`) are a family of their own, unknown ones are `other`."""

_FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names}
AGENT_TOOLS = frozenset({"Task", "Agent"})
WAITS_FOR_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode"})
_REJECTED = ("The user doesn't want to proceed", "User rejected", "The user doesn't want to take this action")
_INTERRUPTED = ("[Request interrupted", "[Tool call interrupted", "Exit code 137 [Request interrupted")
_PERSISTED = re.compile(r"<persisted-output>.*?saved to: (.*?)$", re.DOTALL | re.MULTILINE)


def family(name: str) -> str:
    """The family of a tool by its name."""
    if name.startswith("mcp__"):
        return "mcp"
    return _FAMILY_OF.get(name, "other")


class Call(Struct, gc=False):
    """A tool call."""

    id: str
    name: str
    line: Entry
    """The assistant entry that holds it."""
    message: str
    """The key of its message."""
    result: Entry | None = None
    """The user entry that answers it."""
    is_error: bool | None = None
    """None while unanswered."""
    agent_id: str | None = None
    """The sub-agent that it started."""

    @property
    def started(self) -> str | None:
        """The timestamp of the call's line."""
        return self.line.timestamp

    @property
    def ended(self) -> str | None:
        """The timestamp of the result."""
        return self.result.timestamp if self.result else None


class Calls(NamedTuple):
    """All calls of a session, and the results that answer none of them."""

    all: list[Call]
    orphans: list[Entry]

    @property
    def unanswered(self) -> list[Call]:
        """Calls without a result."""
        return [call for call in self.all if call.result is None]

    @property
    def errors(self) -> list[Call]:
        """Calls whose result is an error."""
        return [call for call in self.all if call.is_error]


@collector_off()
def pair(entries: Iterable[Entry], file: Bodies) -> Calls:
    """Pair calls and results by id; a call written twice is one, the first result counts."""
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
                    call.is_error = entry_tells_failure(file, entry, block.tool_use_id, block.is_error)
    orphans = []
    for identity, stated, entry in early:
        call = calls.get(identity or "")
        if call is None:
            orphans.append(entry)
        elif call.result is None or call.result.index > entry.index:
            call.result, call.is_error = entry, entry_tells_failure(file, entry, identity, stated)
    return Calls(list(calls.values()), orphans)


class Detail(NamedTuple):
    """What a call and its result hold, decoded."""

    input: Any
    result: Any
    """The content of the result block: a text, or a list of blocks."""
    structured: Any
    """The client's own structured result (`toolUseResult`)."""
    outcome: str
    """answered, error, denied, interrupted, launched (goes on in the background), unanswered."""
    persisted: str | None
    """The file that holds a result too large for the transcript."""
    background_id: str | None
    """The background task that the call started."""


def detail(file: Transcript, call: Call) -> Detail:
    """Decode a call and its result."""
    given = next(inputs(file, [call]))
    if call.result is None:
        return Detail(given, None, None, "unanswered", None, None)
    body = file.body(call.result)
    result = next((b for b in _blocks(file, call.result) if b.get("tool_use_id") == call.id), {})
    structured = body.get("toolUseResult")
    fields = structured if isinstance(structured, dict) else {}
    text = plain(result.get("content"))
    return Detail(
        given,
        result.get("content"),
        structured,
        outcome(body, text, is_error=bool(call.is_error)),
        _path(fields.get("persistedOutputPath"), text),
        _name(fields.get("backgroundTaskId")),
    )


def inputs(file: Transcript, calls: Iterable[Call]) -> Iterator[Any]:
    """What each of some calls was given."""
    for call in calls:
        yield next((block.get("input") for block in _blocks(file, call.line) if block.get("id") == call.id), None)


def outcome(body: dict[str, Any], text: str, *, is_error: bool) -> str:
    """How an answered call went, by the body of the entry with its result and the text of that (see `Detail`)."""
    structured = body.get("toolUseResult")
    fields = structured if isinstance(structured, dict) else {}
    if body.get("toolDenialKind") or text.startswith(_REJECTED):
        return "denied"
    if fields.get("interrupted") or any(mark in text[:200] for mark in _INTERRUPTED):
        return "interrupted"
    if fields.get("isAsync") or fields.get("backgroundTaskId"):
        return "launched"
    return "error" if is_error else "answered"


def _path(path: object, text: str) -> str | None:
    if isinstance(path, str):
        return path
    found = _PERSISTED.search(text[:4000])
    return found[1].strip() if found else None


def _name(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _blocks(file: Transcript, entry: Entry) -> list[dict[str, Any]]:
    message = file.body(entry).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def agent_of(file: Transcript, call: Call) -> str | None:
    """The id of the sub-agent that a call's own result names."""
    if call.result is None:
        return None
    structured = file.body(call.result).get("toolUseResult")
    found = structured.get("agentId") or structured.get("agent_id") if isinstance(structured, dict) else None
    return found if isinstance(found, str) else None
