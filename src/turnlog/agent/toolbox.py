"""The tools of a session, in the order in which the model is told of them."""

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
"""The modules of tools that are loaded late."""
TOOL_ORDER = ("Task", *TOOL_MODULES)
"""The order in which the model is told of its tools; it never changes within a session."""


def build_tools(
    agents: Mapping[str, AgentType], is_readonly: Callable[[str], bool], wanted: str | None = None
) -> dict[str, Tool]:
    """All tools by their names; `wanted` names some of them (`--tools`), separated by commas or blanks."""
    names = TOOL_ORDER if wanted is None else _select_tool_names(wanted.replace(",", " ").split())
    given = {"Bash": (is_readonly,)}
    return {name: Task(agents) if name == "Task" else LazyTool(name, *given.get(name, ())) for name in names}


def _select_tool_names(wanted: Sequence[str]) -> list[str]:
    if "default" in wanted:
        return [*TOOL_ORDER]
    if unknown := [name for name in wanted if name not in TOOL_ORDER]:
        raise UsageError(f"--tools: there is no {', '.join(unknown)}; there are {', '.join(TOOL_ORDER)}")
    return [name for name in TOOL_ORDER if name in wanted]


class LazyTool(DescribedTool):
    """A tool that is loaded when it is called for the first time: most sessions use a few of them, many none."""

    def __init__(self, name: str, *given: object) -> None:
        self._name = name
        self._given = given

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self._name

    def is_safe(self, given: Object) -> bool:
        """Whether the tool says so of a call."""
        return self._loaded_tool.is_safe(given)

    def run(self, given: Object, scene: CallContext) -> CallResult:
        """Let the tool do it."""
        return self._loaded_tool.run(given, scene)

    @cached_property
    def _loaded_tool(self) -> Tool:
        made: Tool = getattr(import_module(f"turnlog.agent.tools.{TOOL_MODULES[self._name]}"), self._name)(*self._given)
        return made
