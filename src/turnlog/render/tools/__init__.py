"""Cards for tool calls: one module for each family of tools, and `build_card`, which chooses the right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from turnlog.render.call_titles import build_call_title
from turnlog.render.card import Card
from turnlog.render.tools import (
    agents,
    commands,
    file_edits,
    file_reads,
    generic_tools,
    plans,
    questions,
    searches,
    web,
)
from turnlog.render.tools.card_parts import CardParts, CardSource, EarlierCalls
from turnlog.render.tools.plugin_cards import build_plugin_parts
from turnlog.session.calls import find_tool_family
from turnlog.session.failures import to_result_text

__all__ = ["ADVISOR_TOOL", "CallPlace", "CardSource", "EarlierCalls", "build_card"]

PART_BUILDERS: dict[str, Callable[[CardSource], CardParts]] = {
    "Agent": agents.build_agent_parts,
    "AskUserQuestion": questions.build_question_parts,
    "Bash": commands.build_shell_parts,
    "BashOutput": commands.build_task_output_parts,
    "Edit": file_edits.build_edit_parts,
    "EnterPlanMode": plans.build_plan_mode_parts,
    "ExitPlanMode": plans.build_plan_parts,
    "Glob": searches.build_glob_parts,
    "Grep": searches.build_grep_parts,
    "KillBash": commands.build_stop_parts,
    "KillShell": commands.build_stop_parts,
    "LS": searches.build_folder_parts,
    "LSP": searches.build_symbol_parts,
    "ListMcpResourcesTool": generic_tools.build_resource_list_parts,
    "Monitor": commands.build_watch_parts,
    "MultiEdit": file_edits.build_edit_parts,
    "NotebookEdit": file_edits.build_notebook_parts,
    "NotebookRead": file_reads.build_read_parts,
    "PowerShell": commands.build_shell_parts,
    "REPL": commands.build_repl_parts,
    "Read": file_reads.build_read_parts,
    "ReadMcpResourceTool": generic_tools.build_resource_parts,
    "SendMessage": agents.build_message_parts,
    "SendUserFile": questions.build_user_file_parts,
    "Skill": agents.build_skill_parts,
    "SlashCommand": agents.build_skill_parts,
    "StructuredOutput": questions.build_structured_parts,
    "Task": agents.build_agent_parts,
    "TaskCreate": plans.build_task_create_parts,
    "TaskGet": plans.build_task_list_parts,
    "TaskList": plans.build_task_list_parts,
    "TaskOutput": commands.build_task_output_parts,
    "TaskStop": commands.build_stop_parts,
    "TaskUpdate": plans.build_task_update_parts,
    "TodoWrite": plans.build_todo_parts,
    "ToolSearch": searches.build_tool_search_parts,
    "WebFetch": web.build_web_fetch_parts,
    "WebSearch": web.build_web_search_parts,
    "Workflow": agents.build_workflow_parts,
    "Write": file_edits.build_write_parts,
}
"""The functions that build cards, by tool. Other packages may add tools; the rest are shown as names and values."""


ADVISOR_TOOL = "advisor"
"""The tool with which the API consults another model."""


class CallPlace(NamedTuple):
    """The positions of a call and its result in the file, and how long the call took."""

    id: str
    offset: int
    result_offset: int | None = None
    duration_ms: int | None = None


def _build_parts(source: CardSource) -> CardParts:
    """Build the parts with the tool's card or a card from another package; without either, show names and values."""
    if known := PART_BUILDERS.get(source.name):
        return known(source)
    if found := build_plugin_parts(source, PART_BUILDERS):
        return found
    return generic_tools.build_generic_parts(source)


def build_card(source: CardSource, place: CallPlace, *, is_served: bool = False) -> Card:
    """Build the card for a call; `is_served` means that the API, not Claude Code, executed it."""
    if is_served:
        group = "web" if source.name.startswith("web_") else "other"
        parts = (web.build_advisor_parts if source.name == ADVISOR_TOOL else web.build_served_parts)(source)
    else:
        group = find_tool_family(source.name)
        parts = _build_parts(source)
    return Card(
        place.id,
        source.name,
        group,
        parts.title or build_call_title(source.name, source.detail.input, source.cwd),
        source.outcome,
        tuple(parts.asked),
        tuple(parts.answered),
        tuple(badge for badge in parts.badges if badge),
        place.duration_ms,
        place.offset,
        place.result_offset,
        parts.agent_id,
        len(to_result_text(source.detail.result)),
    )
