"""Task: lets a sub-agent do part of the work in its own conversation."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from turnlog.agent.settings import PermissionMode
from turnlog.agent.tools.call_result import CallResult, Object
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.tool import CallContext

MAX_DESCRIPTION_CHARS = 4000
"""How much of the description of a type the model sees."""


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
    mode: PermissionMode | None = None
    """A permission mode of its own."""
    max_turns: int | None = None
    """After how many requests it is stopped."""
    skills: tuple[str, ...] = ()
    """Skills whose text it has from the start."""
    is_background: bool = False
    """Whether it always works in the background."""
    effort: str | None = None


class Task(DescribedTool):
    """Hands work to sub-agents, which run in parallel; each of their calls is checked separately."""

    only_reads = True

    def __init__(self, agents: Mapping[str, AgentType]) -> None:
        self._agents = agents

    @property
    def description(self) -> str:
        """The description for the model, including the available sub-agents."""
        lines = [f"- {name}: {_to_line(kind.description)}" for name, kind in self._agents.items()]
        return "\n".join([super().description, *lines])

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        return context.desk.delegate(context.call, arguments, context.cancel, context.progress)


def _to_line(description: str) -> str:
    """Return a description as one line of limited length."""
    text = " ".join(description.split())
    return text if len(text) <= MAX_DESCRIPTION_CHARS else f"{text[: MAX_DESCRIPTION_CHARS - 1]}…"
