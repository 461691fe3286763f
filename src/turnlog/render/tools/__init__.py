"""Cards of tool calls: one module for each family of tools, and `card`, which finds the right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from turnlog.render.card import Card
from turnlog.render.tools import advisor, agents, anything, asking, planning, reading, running, searching, web, writing
from turnlog.render.tools.work import Earlier, Parts, Work
from turnlog.session.calls import family

__all__ = ["ADVISOR", "Earlier", "Placed", "Work", "card"]

TOOLS: dict[str, Callable[[Work], Parts]] = {
    "Agent": agents.agent,
    "AskUserQuestion": asking.questions,
    "Bash": running.shell,
    "BashOutput": running.output,
    "Edit": writing.edit,
    "EnterPlanMode": planning.begin_plan,
    "ExitPlanMode": planning.plan,
    "Glob": searching.glob,
    "Grep": searching.grep,
    "KillBash": running.stop,
    "KillShell": running.stop,
    "LS": searching.folder,
    "LSP": searching.symbols,
    "ListMcpResourcesTool": anything.resources,
    "Monitor": running.watch,
    "MultiEdit": writing.edit,
    "NotebookEdit": writing.notebook,
    "NotebookRead": reading.read,
    "PowerShell": running.shell,
    "REPL": running.repl,
    "Read": reading.read,
    "ReadMcpResourceTool": anything.resource,
    "SendMessage": agents.message,
    "SendUserFile": asking.files,
    "Skill": agents.skill,
    "SlashCommand": agents.skill,
    "StructuredOutput": asking.structured,
    "Task": agents.agent,
    "TaskCreate": planning.create,
    "TaskGet": planning.listing,
    "TaskList": planning.listing,
    "TaskOutput": running.output,
    "TaskStop": running.stop,
    "TaskUpdate": planning.update,
    "TodoWrite": planning.todos,
    "ToolSearch": searching.tools,
    "WebFetch": web.fetch,
    "WebSearch": web.search,
    "Workflow": agents.workflow,
    "Write": writing.write,
}
"""What shows the calls of a tool; all others are shown as names and values."""


ADVISOR = "advisor"
"""The tool by which the API asks another model."""


class Placed(NamedTuple):
    """Where a call and its result stand in the file, and how long it took."""

    id: str
    offset: int
    result_offset: int | None = None
    duration_ms: int | None = None


def card(work: Work, placed: Placed, *, is_served: bool = False) -> Card:
    """The card of a call; `is_served`: the API carried it out, not the client."""
    group = family(work.name)
    make = anything.mcp if group == "mcp" else TOOLS.get(work.name, anything.anything)
    if is_served:
        make = advisor.advisor if work.name == ADVISOR else web.served
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
