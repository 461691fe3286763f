"""The interface between tools and the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from turnlog.agent.tools.background_agents import BackgroundAgents
from turnlog.agent.tools.call_result import CallResult, Object, Workspace
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.shells import Shells
from turnlog.model.cancel import Cancel

if TYPE_CHECKING:
    from turnlog.agent.tools.command_file import CommandFile


class Question(NamedTuple):
    """A question to the person during a turn (AskUserQuestion, ExitPlanMode, or a form of an MCP server)."""

    kind: str
    """`question`, `plan` or `form`."""
    arguments: Object
    """The model's input (the questions with their options, or the plan), or the server's request."""
    call: str = ""
    """The id of the call that asks."""


class ToolHost(Protocol):
    """The loop's services for tools."""

    def ask(self, question: Question) -> Object | None:
        """Ask the person a question; return None if nobody answers. Raises RequestCancelled if they end the turn."""
        ...

    def delegate(self, call: str, arguments: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        """Run a sub-agent (Task) and return its report."""
        ...

    def run_skill(self, command: CommandFile, arguments: str, context: CallContext) -> CallResult:
        """Add the text of a skill to the conversation, or run it in a sub-agent (Skill)."""
        ...

    def consult(self, system: str, prompt: str, cancel: Cancel, tools: Sequence[Object] = ()) -> Sequence[Object]:
        """Ask the small model a question outside the conversation (WebFetch, WebSearch); return the answer's blocks."""
        ...


class CallContext(Struct):
    call: str
    """The id of the call."""
    place: Workspace
    session: Path
    """The session's folder, for sub-agents and results too large for the transcript (`tool-results/`)."""
    session_id: str
    files: SeenFiles
    """The files that the model has seen, with their state."""
    shells: Shells
    """The background commands."""
    desk: ToolHost
    cancel: Cancel
    environ: Mapping[str, str]
    """The client's variables, including its keys; for a child process, use `build_child_environment`."""
    progress: Callable[[Object], None] = lambda _: None
    """Receives the progress of a long call: the `data` of a progress entry."""
    todos: list[Object] = []
    """The task list, which is shared by the whole session and changed in place."""
    keep_before_change: Callable[[Path], None] = lambda _: None
    """Copies a file before the call changes it, so that a person can rewind."""
    agents: BackgroundAgents | None = None
    """The sub-agents in the background, if the session can have any."""
    agent: str | None = None
    """The call that started the sub-agent that makes this one; None for the session itself."""
    is_unreadable: Callable[[Path], bool] = lambda _: False
    """Whether a search must omit a file because a rule forbids reading it."""


class Tool(Protocol):
    """A tool that the model can call."""

    @property
    def name(self) -> str:
        """The name of the tool in Claude Code."""
        ...

    @property
    def description(self) -> str:
        """The description for the model."""
        ...

    @property
    def schema(self) -> Object:
        """The JSON schema of the input."""
        ...

    def is_safe(self, arguments: Object) -> bool:
        """Return whether a call changes nothing and so may run in parallel with others."""
        ...

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        """Run a call whose input matches the schema. Raises ToolError or RequestCancelled."""
        ...
