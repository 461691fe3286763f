"""What a session works with: who answers, what it can do, and how far it may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from turnlog.agent.permissions.decision import CallGuard
from turnlog.agent.tools.call_result import Object, Workspace
from turnlog.agent.tools.task import AgentType
from turnlog.agent.tools.tool import Tool
from turnlog.model.model import Model


class TurnLimits(Struct, frozen=True):
    """How far a turn may go."""

    turns: int | None = None
    """Requests to the model in one turn of the person (`--max-turns`)."""
    dollars: float | None = None
    """Cost of the session (`--max-budget-usd`)."""


class AgentSetup(Struct):
    """All of it; while the session is at work only the model's name changes, and the guard's mode."""

    model: Model
    name: str
    """The model that is asked (`/model` changes it)."""
    small: str
    """The model for side work: web pages, titles."""
    system: Sequence[Object]
    """The system prompt, as blocks; the same bytes for the whole session."""
    preface: Sequence[Object]
    """What stands before the first prompt: project memory, surroundings; as blocks of text."""
    tools: Mapping[str, Tool]
    """In the order in which the model is told of them."""
    guard: CallGuard
    place: Workspace
    environ: Mapping[str, str]
    agents: Mapping[str, AgentType] = {}
    limits: TurnLimits = TurnLimits()
    aliases: Mapping[str, str] = {}
    """Models by their short names: opus, sonnet, haiku."""
    window: int | None = None
    """The context window if it is not that of the model."""
    compact_at: float = 0.85
    """When so much of the window is filled, older messages are replaced by a summary."""
