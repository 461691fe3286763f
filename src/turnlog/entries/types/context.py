"""More kinds of attachments: what the model is told about its surroundings, and reminders."""

from __future__ import annotations

from typing import Any

from turnlog.entries.types.attachments import Attachment
from turnlog.entries.types.base import UNSEEN, Number


class PromptSnapshot(Attachment, tag="prompt_snapshot"):
    """The system prompt, the largest part of a short file."""

    seen = ("2.1.325", None)
    system_prompt: Any = None
    """A list of texts."""
    tools: Any = None
    """A list of texts, one per tool."""
    cli_prefix: str | None = None
    context_rendering: str | None = None
    """`announced`."""
    echo_wire_tool_inputs: bool | None = None
    reminder_fold: bool | None = None
    inline_tools: bool | None = None
    kept_reminders: bool | None = None
    system_turns: bool | None = None
    tool_change_header: bool | None = None


class Environment(Attachment, tag="environment"):
    """Working directory, platform, shell and so on."""

    seen = ("2.1.325", None)
    snapshot: Any = None


class ModelAttachment(Attachment, tag="model"):
    """Which model is asked."""

    seen = ("2.1.325", None)
    identity: Any = None
    """`{"modelId", "marketingName", "knowledgeCutoff"}`."""
    text: str | None = None


class SessionContext(Attachment, tag="session_context"):
    """The state of git when the session began."""

    seen = ("2.1.325", None)
    context: Any = None


class Instructions(Attachment, tag="instructions"):
    """The texts of CLAUDE.md files. Seen, but in no file that could be kept: its fields are not listed."""

    seen = ("2.1.325", None)
    changed: bool | None = None
    """Known to 2.1.325, not seen; so is `reason`."""
    reason: str | None = None


class Date(Attachment, tag="date"):
    """Today's date."""

    seen = ("2.1.325", None)
    date: str | None = None
    changed: bool | None = None
    """Known to 2.1.325, not seen; so is `assumedUtc`."""
    assumed_utc: bool | None = None


class DateChange(Attachment, tag="date_change"):
    """A new day began."""

    seen = ("2.1.109", "2.1.232")
    new_date: str | None = None


class RemoteSessionChange(Attachment, tag="remote_session_change"):
    """How commits and pull requests of this session are to be signed."""

    seen = ("2.1.325", None)
    commit: str | None = None
    pr: str | None = None
    url: str | None = None
    managed_commit: bool | None = None
    managed_pr: bool | None = None
    send_user_file_hint: bool | None = None


class SkillListing(Attachment, tag="skill_listing"):
    """The skills that can be used."""

    seen = ("2.1.94", None)
    content: str | None = None
    skill_count: int | None = None
    is_initial: bool | None = None
    names: Any = None
    """[2.1.159+]"""
    digests: Any = None
    """[2.1.325+]"""


class InvokedSkills(Attachment, tag="invoked_skills"):
    """Skills used so far, repeated after a compaction."""

    seen = ("2.1.226", "2.1.232")
    skills: Any = None
    mcp_skill_entries: Any = None
    """Known to 2.1.325, not seen."""


class DynamicSkill(Attachment, tag="dynamic_skill"):
    """Skills of a folder that came into play."""

    seen = UNSEEN
    skill_dir: str | None = None
    skill_names: Any = None
    display_path: str | None = None


class AgentListingDelta(Attachment, tag="agent_listing_delta"):
    """The kinds of sub-agents that can be started, or what changed about them."""

    seen = ("2.1.169", None)
    added_types: Any = None
    added_lines: Any = None
    removed_types: Any = None
    is_initial: bool | None = None
    show_concurrency_note: bool | None = None
    built_in_types: Any = None
    """[2.1.325+]"""
    built_in_plugin_types: Any = None
    """[2.1.325+]"""


class AgentMention(Attachment, tag="agent_mention"):
    """A kind of sub-agent named with @."""

    seen = UNSEEN
    agent_type: str | None = None


class DeferredToolsDelta(Attachment, tag="deferred_tools_delta"):
    """Tools that can be loaded with ToolSearch, or what changed about them."""

    seen = ("2.1.90", None)
    added_names: Any = None
    added_lines: Any = None
    removed_names: Any = None
    readded_names: Any = None
    """[2.1.129+]"""
    pending_mcp_servers: Any = None
    """[2.1.129+]"""
    needs_auth_mcp_servers: Any = None
    """[2.1.231+]"""
    failed_mcp_servers: Any = None
    """[2.1.325+]"""
    surfaced_names: Any = None
    """[2.1.325+]"""
    wire_hidden_names: Any = None
    """[2.1.325+]"""


class DeferredToolsRecord(Attachment, tag="deferred_tools_record"):
    """The definitions of tools loaded so far."""

    seen = ("2.1.325", None)
    entries: Any = None
    """A list of `{"name", "description", "input_schema", "defer_loading"}`."""
    name_only_announcements: Any = None
    """Known to 2.1.325, not seen; so are `strippedReferences` and `toolInputCopies`."""
    stripped_references: Any = None
    tool_input_copies: Any = None


class McpInstructionsDelta(Attachment, tag="mcp_instructions_delta"):
    """Instructions of MCP servers, or what changed about them."""

    seen = ("2.1.91", "2.1.237")
    added_names: Any = None
    added_blocks: Any = None
    removed_names: Any = None


class McpResource(Attachment, tag="mcp_resource"):
    """A resource of an MCP server named with @."""

    seen = UNSEEN
    server: str | None = None
    uri: str | None = None
    name: str | None = None
    description: str | None = None
    content: Any = None


class TaskReminder(Attachment, tag="task_reminder"):
    """The task list, as a reminder."""

    seen = ("2.1.101", None)
    content: Any = None
    item_count: int | None = None


class TodoReminder(Attachment, tag="todo_reminder"):
    """The to-do list, as a reminder."""

    seen = ("2.1.121", "2.1.209")
    content: Any = None
    item_count: int | None = None


class TaskStatus(Attachment, tag="task_status"):
    """How a background task is doing."""

    seen = UNSEEN
    task_id: str | None = None
    task_type: str | None = None
    description: str | None = None
    status: str | None = None
    delta_summary: str | None = None
    output_file_path: str | None = None


class TotalTokensReminder(Attachment, tag="total_tokens_reminder"):
    """How much of the token budget is left."""

    seen = ("2.1.193", "2.1.237")
    text: str | None = None


class UltraEffortEnter(Attachment, tag="ultra_effort_enter"):
    """The highest effort was switched on."""

    seen = ("2.1.159", "2.1.228")
    reminder_type: str | None = None
    """`full` or `sparse`."""


class UltraEffortExit(Attachment, tag="ultra_effort_exit"):
    """The highest effort was switched off."""

    seen = ("2.1.229", "2.1.229")


class WorkflowKeywordRequest(Attachment, tag="workflow_keyword_request"):
    """The prompt asked for a workflow."""

    seen = ("2.1.210", "2.1.210")


class GoalStatus(Attachment, tag="goal_status"):
    """Whether the goal of the session is reached."""

    seen = ("2.1.199", "2.1.199")
    met: bool | None = None
    failed: bool | None = None
    sentinel: bool | None = None
    condition: str | None = None
    reason: str | None = None
    iterations: int | None = None
    duration_ms: Number | None = None
    tokens: int | None = None


class OutputStyle(Attachment, tag="output_style"):
    """A reminder of the chosen style."""

    seen = UNSEEN
    style: str | None = None
    turn_reminder: str | None = None


class CriticalSystemReminder(Attachment, tag="critical_system_reminder"):
    """An urgent reminder."""

    seen = UNSEEN
    content: str | None = None


class MaxTurnsReached(Attachment, tag="max_turns_reached"):
    """A headless run came to its limit."""

    seen = UNSEEN
    max_turns: int | None = None
    turn_count: int | None = None
