"""Task: let a sub-agent do a part of the work, in a conversation of its own."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from turnlog.agent.tools.call_result import CallResult, Object
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.tool import CallContext


class AgentType(Struct, frozen=True):
    """A kind of sub-agent: built in, or of `.claude/agents`."""

    name: str
    description: str
    prompt: str
    """Its system prompt."""
    tools: tuple[str, ...] | None = None
    """The tools it may use; None: all."""
    denied_tools: tuple[str, ...] = ()
    """Tools that it may not use, though `tools` has them."""
    model: str | None = None
    """A model, an alias, or None: that of the session."""


class Task(DescribedTool):
    """Hands work to sub-agents; they run side by side, and each of their own calls is decided on by itself."""

    only_reads = True

    def __init__(self, agents: Mapping[str, AgentType]) -> None:
        self._agents = agents

    @property
    def description(self) -> str:
        """What the model is told of it, with the agents that there are."""
        return super().description + "".join(f"\n- {name}: {kind.description}" for name, kind in self._agents.items())

    def run(self, given: Object, scene: CallContext) -> CallResult:
        """Let it work."""
        return scene.desk.delegate(scene.call, given, scene.cancel, scene.progress)
