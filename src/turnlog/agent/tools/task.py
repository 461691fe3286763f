"""Task: let a sub-agent do a part of the work, in a conversation of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.tool import CallContext, CallResult, Object

if TYPE_CHECKING:
    from turnlog.agent.setup import AgentType


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
