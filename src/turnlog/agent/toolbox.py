"""The tools of a session, in the order in which the model is told of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from turnlog.agent.briefing.prompt import ORDER
from turnlog.agent.setup import AgentType
from turnlog.agent.tools.tool import Tool

_HOMES = {
    "Bash": "bash",
    "BashOutput": "bash_output",
    "KillShell": "kill_shell",
    "Glob": "glob",
    "Grep": "grep",
    "Read": "read",
    "Edit": "edit",
    "Write": "write",
    "NotebookEdit": "notebook",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "TodoWrite": "todo",
    "AskUserQuestion": "ask",
    "ExitPlanMode": "plan",
    "Task": "task",
}


def tools(
    agents: Mapping[str, AgentType], is_readonly: Callable[[str], bool], wanted: str | None = None
) -> dict[str, Tool]:
    """All tools by their names; `wanted` names some of them (`--tools`), separated by commas or blanks."""
    names = ORDER if wanted is None else [name for name in ORDER if name in wanted.replace(",", " ").split()]
    given: dict[str, tuple[object, ...]] = {"Bash": (is_readonly,), "Task": (agents,)}
    return {name: _tool(name, *given.get(name, ())) for name in names}


def _tool(name: str, *given: object) -> Tool:
    made: Tool = getattr(import_module(f"turnlog.agent.tools.{_HOMES[name]}"), name)(*given)
    return made
