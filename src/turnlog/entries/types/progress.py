"""News of running tools and hooks; written from 2.1.11 to 2.1.81, then replaced by attachments."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from turnlog.entries.types.base import UNSEEN, FormatObject, Number, mark_kind
from turnlog.entries.types.envelope import Envelope


class ProgressEntry(Envelope, tag_field="type", tag="progress"):
    """News of a running tool or hook. A link of the graph: entries may hang below it."""

    seen = ("2.1.11", "2.1.81")
    data: Annotated[Any, mark_kind("progress")] = None
    """Its `type` gives the kind."""
    tool_use_id: str | None = field(default=None, name="toolUseID")
    parent_tool_use_id: str | None = field(default=None, name="parentToolUseID")
    """The call that the news is about."""


class ProgressReport(FormatObject, rename="camel", tag_field="type"):
    """The `data` of a progress entry."""


class BashProgress(ProgressReport, tag="bash_progress"):
    """Output of a running command so far."""

    seen = ("2.1.11", "2.1.50")
    output: str | None = None
    """The last lines."""
    full_output: str | None = None
    elapsed_time_seconds: Number | None = None
    total_lines: int | None = None
    total_bytes: int | None = None
    """[2.1.45–2.1.45]"""
    timeout_ms: Number | None = None
    """[2.1.25–2.1.37]"""
    task_id: str | None = None
    """[2.1.45–2.1.45]"""


class HookProgress(ProgressReport, tag="hook_progress"):
    """A hook began to run."""

    seen = ("2.1.11", "2.1.81")
    hook_event: str | None = None
    hook_name: str | None = None
    command: str | None = None
    prompt_text: str | None = None
    """Known to 2.1.29, not seen."""
    status_message: str | None = None
    """Known to 2.1.29, not seen."""


class AgentProgress(ProgressReport, tag="agent_progress"):
    """A copy of a sub-agent's message; the original stands in the sub-agent's file."""

    seen = ("2.1.12", "2.1.45")
    message: Any = None
    """A whole user or assistant entry without its envelope."""
    normalized_messages: Any = None
    prompt: str | None = None
    agent_id: str | None = None
    resume: Any = None
    """Known to 2.1.29, not seen."""


class McpProgress(ProgressReport, tag="mcp_progress"):
    """An MCP call started, completed or failed."""

    seen = ("2.1.12", "2.1.42")
    status: str | None = None
    server_name: str | None = None
    tool_name: str | None = None
    elapsed_time_ms: Number | None = None


class QueryUpdate(ProgressReport, tag="query_update"):
    """WebSearch began a search."""

    seen = ("2.1.11", "2.1.31")
    query: str | None = None


class SearchResultsReceived(ProgressReport, tag="search_results_received"):
    """WebSearch got an answer."""

    seen = ("2.1.11", "2.1.31")
    query: str | None = None
    result_count: int | None = None


class WaitingForTask(ProgressReport, tag="waiting_for_task"):
    """TaskOutput waits for a background task."""

    seen = ("2.1.11", "2.1.42")
    task_description: str | None = None
    task_type: str | None = None


class SkillProgress(ProgressReport, tag="skill_progress"):
    """A message of a skill that runs as an agent."""

    seen = UNSEEN
    message: Any = None
    normalized_messages: Any = None
    prompt: str | None = None
    agent_id: str | None = None
