"""The setup of a session: its model, tools, permissions and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from turnlog.agent.permissions.decision import CallGuard
from turnlog.agent.thinking_choice import ThinkingChoice
from turnlog.agent.tools.call_result import Object, Workspace
from turnlog.agent.tools.task import AgentType
from turnlog.agent.tools.tool import Tool
from turnlog.model.model import Model

if TYPE_CHECKING:
    from turnlog.agent.mcp_servers.server_pool import ServerPool
    from turnlog.agent.plugins import EnabledPlugin
    from turnlog.agent.tools.command_file import CommandFile


class TurnLimits(Struct, frozen=True):
    turns: int | None = None
    """The maximum number of requests to the model in one turn (`--max-turns`)."""
    dollars: float | None = None
    """The maximum cost of the session (`--max-budget-usd`)."""


class SentInstructions(NamedTuple):
    """An instruction file that is part of the preface."""

    kind: str
    """`user`, `project` or `local`."""
    path: Path
    size: int
    """The number of bytes of its text."""


class AgentSetup(Struct):
    """Everything that a session needs; only the model's name and the guard's mode change while it is running."""

    model: Model
    name: str
    """The name of the model (`/model` changes it)."""
    small: str
    """The small model for side tasks, such as reading web pages and writing titles."""
    system: Sequence[Object]
    """The system prompt, as blocks; the same bytes for the whole session."""
    preface: Sequence[Object]
    """Text blocks before the first prompt: project memory and surroundings."""
    tools: Mapping[str, Tool]
    """The tools in the order in which the model sees them."""
    guard: CallGuard
    place: Workspace
    environ: Mapping[str, str]
    config_dir: Path = Path()
    config_root: Path = Path()
    """The folder whose project settings and `.claude` folder apply."""
    may_bypass: bool = False
    """Whether a program may switch to bypassPermissions."""
    agents: Mapping[str, AgentType] = {}
    plugins: Sequence[EnabledPlugin] = ()
    commands: Mapping[str, CommandFile] = {}
    """Commands and skills from files, by name."""
    servers: ServerPool | None = None
    """The connections to MCP servers."""
    program_servers: Sequence[str] = ()
    """MCP servers inside the program that runs turnlog, which connect once it reads control messages."""
    style: str = "default"
    """The name of the output style."""
    limits: TurnLimits = TurnLimits()
    aliases: Mapping[str, str] = {}
    """Model names by alias: opus, sonnet, haiku."""
    instructions: Sequence[SentInstructions] = ()
    """The instruction files in the preface."""
    thinking: ThinkingChoice = ThinkingChoice()
    """How much the model thinks (`/effort` changes it)."""
    fallbacks: Sequence[str] = ()
    """The models to use, one after another, when the server is overloaded (`--fallback-model`)."""
    betas: Sequence[str] = ()
    """Further values of the `anthropic-beta` header (`--betas`)."""
    task_tokens: int | None = None
    """How many tokens the model is told it may use for the task (`--task-budget`)."""
    tool_aliases: Mapping[str, str] = {}
    """The tools that run in place of those that the model calls, by name."""
    plan_instructions: str = ""
    """How the model is to plan, if a program says so."""
    forwards_agent_text: bool = False
    """Whether programs receive what a sub-agent that a call waits for writes and thinks, and not only its calls."""
    window: int | None = None
    """The context window in tokens, if it differs from the model's."""
    compact_at: float = 0.85
    """The filled share of the window at which a summary replaces older messages."""
