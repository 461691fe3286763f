"""Cards of tool calls: one module for each family of tools, and `card`, which finds the right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from turnlog.render.card import Card
from turnlog.render.tools import advisor, agents, anything, asking, planning, reading, running, searching, web, writing
from turnlog.render.tools.work import CardParts, CardSource, EarlierCalls
from turnlog.session.calls import find_tool_family

__all__ = ["ADVISOR_TOOL", "CallPlace", "CardSource", "EarlierCalls", "build_card"]

PART_BUILDERS: dict[str, Callable[[CardSource], CardParts]] = {
    "Agent": agents.build_agent_parts,
    "AskUserQuestion": asking.build_question_parts,
    "Bash": running.build_shell_parts,
    "BashOutput": running.build_task_output_parts,
    "Edit": writing.build_edit_parts,
    "EnterPlanMode": planning.build_plan_mode_parts,
    "ExitPlanMode": planning.build_plan_parts,
    "Glob": searching.build_glob_parts,
    "Grep": searching.build_grep_parts,
    "KillBash": running.build_stop_parts,
    "KillShell": running.build_stop_parts,
    "LS": searching.build_folder_parts,
    "LSP": searching.build_symbol_parts,
    "ListMcpResourcesTool": anything.build_resource_list_parts,
    "Monitor": running.build_watch_parts,
    "MultiEdit": writing.build_edit_parts,
    "NotebookEdit": writing.build_notebook_parts,
    "NotebookRead": reading.build_read_parts,
    "PowerShell": running.build_shell_parts,
    "REPL": running.build_repl_parts,
    "Read": reading.build_read_parts,
    "ReadMcpResourceTool": anything.build_resource_parts,
    "SendMessage": agents.build_message_parts,
    "SendUserFile": asking.build_user_file_parts,
    "Skill": agents.build_skill_parts,
    "SlashCommand": agents.build_skill_parts,
    "StructuredOutput": asking.build_structured_parts,
    "Task": agents.build_agent_parts,
    "TaskCreate": planning.build_task_create_parts,
    "TaskGet": planning.build_task_list_parts,
    "TaskList": planning.build_task_list_parts,
    "TaskOutput": running.build_task_output_parts,
    "TaskStop": running.build_stop_parts,
    "TaskUpdate": planning.build_task_update_parts,
    "TodoWrite": planning.build_todo_parts,
    "ToolSearch": searching.build_tool_search_parts,
    "WebFetch": web.build_web_fetch_parts,
    "WebSearch": web.build_web_search_parts,
    "Workflow": agents.build_workflow_parts,
    "Write": writing.build_write_parts,
}
"""What shows the calls of a tool; all others are shown as names and values."""


ADVISOR_TOOL = "advisor"
"""The tool by which the API asks another model."""


class CallPlace(NamedTuple):
    """Where a call and its result stand in the file, and how long it took."""

    id: str
    offset: int
    result_offset: int | None = None
    duration_ms: int | None = None


def build_card(work: CardSource, placed: CallPlace, *, is_served: bool = False) -> Card:
    """The card of a call; `is_served`: the API carried it out, not the client."""
    group = find_tool_family(work.name)
    make = anything.build_mcp_parts if group == "mcp" else PART_BUILDERS.get(work.name, anything.build_generic_parts)
    if is_served:
        make = advisor.build_advisor_parts if work.name == ADVISOR_TOOL else web.build_served_parts
        group = "web" if work.name.startswith("web_") else "other"
    parts = make(work)
    return Card(
        placed.id,
        work.name,
        group,
        parts.title,
        work.outcome,
        tuple(parts.asked),
        tuple(parts.answered),
        tuple(badge for badge in parts.badges if badge),
        placed.duration_ms,
        placed.offset,
        placed.result_offset,
        parts.agent_id,
    )
