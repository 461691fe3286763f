"""The tools of the server: their names, descriptions and arguments, and how a call is answered."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from turnlog.errors import TurnlogError
from turnlog.mcp.arguments import (
    FileVersionArguments,
    ListArguments,
    MessageArguments,
    OutlineArguments,
    PagedArguments,
    SearchArguments,
    TouchedFileArguments,
    TurnArguments,
    UsageArguments,
    parse_arguments,
)
from turnlog.mcp.file_tools import list_touched, read_file_version
from turnlog.mcp.library import SessionLibrary
from turnlog.mcp.search_tool import search_scope_sessions
from turnlog.mcp.session_tools import list_scope_sessions, outline_session, read_messages, read_turns
from turnlog.mcp.usage_tool import report_scope_usage

_MAX_ERROR_CHARS = 600


class SessionTool(NamedTuple):
    """A tool that an agent can call."""

    name: str
    title: str
    description: str
    arguments: type[PagedArguments]
    run: Callable[[SessionLibrary, Any], str]


class ToolAnswer(NamedTuple):
    text: str
    is_error: bool = False


TOOLS = {
    tool.name: tool
    for tool in (
        SessionTool(
            "search_sessions",
            "Search past sessions",
            "Find text in past sessions: prompts, answers, commands, results. Returns excerpts with session and turn.",
            SearchArguments,
            search_scope_sessions,
        ),
        SessionTool(
            "list_sessions",
            "List past sessions",
            "List past sessions, newest first: id, time, git branch, title.",
            ListArguments,
            list_scope_sessions,
        ),
        SessionTool(
            "get_session",
            "Outline of a session",
            "Outline a session: models, cost, sub-agents, and one line per turn.",
            OutlineArguments,
            outline_session,
        ),
        SessionTool(
            "get_turns",
            "Turns of a session",
            "Read turns of a session: prompts, answers, tool calls and their results.",
            TurnArguments,
            read_turns,
        ),
        SessionTool(
            "get_messages",
            "Messages of a session",
            "Read the API messages that resuming a session would send, as JSON.",
            MessageArguments,
            read_messages,
        ),
        SessionTool(
            "get_files_touched",
            "Files that sessions touched",
            "List the files that a session, or all sessions, read or changed.",
            TouchedFileArguments,
            list_touched,
        ),
        SessionTool(
            "get_file_version",
            "Earlier version of a file",
            "Read a file as it was after or before a turn, even if it was never committed.",
            FileVersionArguments,
            read_file_version,
        ),
        SessionTool(
            "get_usage",
            "Tokens and cost",
            "Report tokens and cost by day, session, project or model, or calls by tool.",
            UsageArguments,
            report_scope_usage,
        ),
    )
}


def call_tool(library: SessionLibrary, name: str, given: dict[str, Any]) -> ToolAnswer:
    """Answer a call; whatever fails becomes an answer that says what to do."""
    tool = TOOLS.get(name)
    if tool is None:
        return ToolAnswer(f"unknown tool; use one of {', '.join(TOOLS)}", is_error=True)
    try:
        return ToolAnswer(tool.run(library, parse_arguments(tool.arguments, given)))
    except TurnlogError as error:
        return ToolAnswer(library.clean(_leave_out(tool, given, str(error)))[:_MAX_ERROR_CHARS], is_error=True)
    except Exception as error:  # noqa: BLE001 - one bad session must not end the server
        # Not the message, which may quote a session: standard error ends up in the client's logs.
        frames = traceback.extract_tb(error.__traceback__)
        print(f"turnlog mcp: {name}: {type(error).__name__} in {frames[-1].name}", file=sys.stderr)
        return ToolAnswer(f"{name} failed ({type(error).__name__}); try other arguments", is_error=True)


def _leave_out(tool: SessionTool, given: dict[str, Any], message: str) -> str:
    """Leave out what an agent wrote itself: if it were redacted like other text, that would confirm a guess."""
    own = [value.strip() for value in given.values() if isinstance(value, str)]
    own += [name for name in given if name not in tool.arguments.__struct_fields__]
    for text in own:
        for spelling in (text, repr(text)[1:-1], json.dumps(text)[1:-1]):
            message = message.replace(spelling, "…") if spelling else message
    return message
