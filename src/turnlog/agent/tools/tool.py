"""A tool: what the loop needs of it, and what it needs of the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import Struct

from turnlog.agent.tools.call_result import CallResult, Object, Workspace
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.shells import Shells
from turnlog.model.cancel import Cancel


class Question(NamedTuple):
    """Something that a person is asked in the middle of a turn (AskUserQuestion, ExitPlanMode)."""

    kind: str
    """`question` or `plan`."""
    given: Object
    """What the model gave: the questions with their options, or the plan."""
    call: str = ""
    """The id of the call that asks."""


class ToolHost(Protocol):
    """What the loop does for tools."""

    def ask(self, question: Question) -> Object | None:
        """Ask the person; None if nobody is there, or they declined. Raises Cancelled if they end the turn."""
        ...

    def delegate(self, call: str, given: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        """Let a sub-agent work (Task), and give its report."""
        ...

    def consult(self, system: str, prompt: str, cancel: Cancel, tools: Sequence[Object] = ()) -> Sequence[Object]:
        """Ask the small model, outside of the conversation (WebFetch, WebSearch); the blocks of its answer."""
        ...


class CallContext(Struct):
    """One call's surroundings."""

    call: str
    """The id of the call."""
    place: Workspace
    session: Path
    """The folder of the session, for results that are too large for the transcript (`tool-results/`) and sub-agents."""
    session_id: str
    files: SeenFiles
    """Which files the model has seen, and in which state."""
    shells: Shells
    """Commands that run in the background."""
    desk: ToolHost
    cancel: Cancel
    environ: Mapping[str, str]
    """Variables of the client, its keys included: what a child process may see of them says `child_environment`."""
    progress: Callable[[Object], None] = lambda _: None
    """Is told how a long call gets on: the `data` of a progress entry."""
    todos: list[Object] = []
    """The task list as it stands; one list for the session, changed in place."""
    is_unreadable: Callable[[Path], bool] = lambda _: False
    """Whether a rule forbids to read a file, so that a search must not show it."""


class Tool(Protocol):
    """Something that the model can call."""

    @property
    def name(self) -> str:
        """Its name, as Claude Code has it."""
        ...

    @property
    def description(self) -> str:
        """What the model is told of it."""
        ...

    @property
    def schema(self) -> Object:
        """The JSON schema of its input."""
        ...

    def is_safe(self, given: Object) -> bool:
        """Whether a call changes nothing, so that it may run beside others."""
        ...

    def run(self, given: Object, scene: CallContext) -> CallResult:
        """Do it. The input was checked against the schema. Raises ToolError, or Cancelled."""
        ...
