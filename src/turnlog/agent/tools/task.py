"""Task: let a sub-agent do a part of the work, in a conversation of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from turnlog.agent.tools.tool import Object, Result, Scene

if TYPE_CHECKING:
    from turnlog.agent.setup import AgentType


class Task:
    """Hands work to sub-agents."""

    name = "Task"

    def __init__(self, agents: Mapping[str, AgentType]) -> None:
        self._agents = agents

    @property
    def description(self) -> str:
        """What the model is told of it, with the agents that there are."""
        listed = "\n".join(f"- {name}: {kind.description}" for name, kind in self._agents.items())
        return (
            "Let a sub-agent do a task of several steps on its own, and get its report.\n"
            "It knows nothing of this conversation: write into `prompt` all that it needs, and what it shall report. "
            "The user does not see the report; tell what matters of it.\n"
            "Several calls in one message run side by side. For one file or one search, do it yourself.\n"
            f"Kinds of agents (`subagent_type`):\n{listed}"
        )

    @property
    def schema(self) -> Object:
        """The JSON schema of its input."""
        return {
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "The task in three to five words"},
                "prompt": {"type": "string", "description": "The task"},
                "subagent_type": {"type": "string", "description": "The kind of agent"},
                "model": {"type": "string", "enum": ["sonnet", "opus", "haiku"], "description": "Another model"},
            },
            "required": ["description", "prompt", "subagent_type"],
            "additionalProperties": False,
        }

    def is_safe(self, given: Object) -> bool:
        """Sub-agents run side by side; each of their own calls is decided on by itself."""
        return True

    def run(self, given: Object, scene: Scene) -> Result:
        """Let it work."""
        return scene.desk.delegate(scene.call, given, scene.cancel, scene.progress)
