"""What is reported about commands and sub-agents that work beside the conversation."""

from __future__ import annotations

from msgspec import Struct

from turnlog.agent.tools.call_result import Object


class TaskStarted(Struct, frozen=True):
    """A command or a sub-agent started to work, perhaps in the background."""

    task: str
    call: str
    description: str
    kind: str
    """`local_bash` or `local_agent`."""
    is_background: bool = True
    agent_type: str = ""
    prompt: str = ""


class TaskMoved(Struct, frozen=True):
    """A sub-agent that a call waited for goes on in the background."""

    task: str


class TaskProgressed(Struct, frozen=True):
    """A sub-agent started another call."""

    task: str
    call: str
    description: str
    agent_type: str
    usage: Object
    last_tool: str


class TaskEnded(Struct, frozen=True):
    """A command in the background or a sub-agent has ended."""

    task: str
    call: str
    status: str
    """`completed`, `failed` or `killed`."""
    summary: str
    output: str
    usage: Object = {}
