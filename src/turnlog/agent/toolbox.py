"""The tools of a session, in the order in which the model sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module

from turnlog.agent.tools.call_result import CallResult, Object
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.task import AgentType, Task
from turnlog.agent.tools.tool import CallContext, Tool
from turnlog.errors import UsageError

TOOL_MODULES = {
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
}
"""The modules of tools that load on first use."""
TOOL_ORDER = ("Task", *TOOL_MODULES)
"""The order in which the model sees its tools; it never changes within a session."""


def build_tools(
    agents: Mapping[str, AgentType], is_readonly: Callable[[str], bool], wanted: str | None = None
) -> dict[str, Tool]:
    """Return all tools by name, or only those listed in `wanted` (`--tools`), separated by commas or spaces."""
    names = TOOL_ORDER if wanted is None else _select_tool_names(wanted.replace(",", " ").split())
    arguments = {"Bash": (is_readonly,)}
    return {name: Task(agents) if name == "Task" else LazyTool(name, *arguments.get(name, ())) for name in names}


def _select_tool_names(wanted: Sequence[str]) -> list[str]:
    if "default" in wanted:
        return [*TOOL_ORDER]
    if unknown := [name for name in wanted if name not in TOOL_ORDER]:
        raise UsageError(f"--tools: unknown tool {', '.join(unknown)}; choose from {', '.join(TOOL_ORDER)}")
    return [name for name in TOOL_ORDER if name in wanted]


class LazyTool(DescribedTool):
    """A tool that is loaded on its first call, since most sessions use few tools or none."""

    def __init__(self, name: str, *constructor_args: object) -> None:
        self._name = name
        self._constructor_args = constructor_args

    @property
    def name(self) -> str:
        return self._name

    def is_safe(self, arguments: Object) -> bool:
        return self._loaded_tool.is_safe(arguments)

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        return self._loaded_tool.run(arguments, context)

    @cached_property
    def _loaded_tool(self) -> Tool:
        tool: Tool = getattr(import_module(f"turnlog.agent.tools.{TOOL_MODULES[self._name]}"), self._name)(
            *self._constructor_args
        )
        return tool
