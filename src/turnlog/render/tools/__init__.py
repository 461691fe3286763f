"""Cards of tool calls: one module for each family of tools, and `card`, which finds the right one."""

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
"""What shows the calls of a tool; other packages may show the rest, which else are shown as names and values."""


ADVISOR_TOOL = "advisor"
"""The tool by which the API asks another model."""


class CallPlace(NamedTuple):
    """Where a call and its result stand in the file, and how long it took."""

    id: str
    offset: int
    result_offset: int | None = None
    duration_ms: int | None = None


def _build_parts(work: CardSource) -> CardParts:
    """What the tool's own card shows, else that of another package, else names and values."""
    if known := PART_BUILDERS.get(work.name):
        return known(work)
    if found := build_plugin_parts(work, PART_BUILDERS):
        return found
    return generic_tools.build_generic_parts(work)


def build_card(work: CardSource, placed: CallPlace, *, is_served: bool = False) -> Card:
    """The card of a call; `is_served`: the API carried it out, not the client."""
    if is_served:
        group = "web" if work.name.startswith("web_") else "other"
        parts = (web.build_advisor_parts if work.name == ADVISOR_TOOL else web.build_served_parts)(work)
    else:
        group = find_tool_family(work.name)
        parts = _build_parts(work)
    return Card(
        placed.id,
        work.name,
        group,
        parts.title or build_call_title(work.name, work.detail.input, work.cwd),
        work.outcome,
        tuple(parts.asked),
        tuple(parts.answered),
        tuple(badge for badge in parts.badges if badge),
        placed.duration_ms,
        placed.offset,
        placed.result_offset,
        parts.agent_id,
    )
