"""Task: lets a sub-agent do part of the work in its own conversation."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from turnlog.agent.tools.call_result import CallResult, Object
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.tool import CallContext


class AgentType(Struct, frozen=True):
    """A type of sub-agent: built in, or from `.claude/agents`."""

    name: str
    description: str
    prompt: str
    """Its system prompt."""
    tools: tuple[str, ...] | None = None
    """The tools it may use; None for all."""
    denied_tools: tuple[str, ...] = ()
    """Tools that it may not use, even if `tools` lists them."""
    model: str | None = None
    """A model or alias; None for the session's model."""


class Task(DescribedTool):
    """Hands work to sub-agents, which run in parallel; each of their calls is checked separately."""

    only_reads = True

    def __init__(self, agents: Mapping[str, AgentType]) -> None:
        self._agents = agents

    @property
    def description(self) -> str:
        """The description for the model, including the available sub-agents."""
        return super().description + "".join(f"\n- {name}: {kind.description}" for name, kind in self._agents.items())

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        return context.desk.delegate(context.call, arguments, context.cancel, context.progress)
