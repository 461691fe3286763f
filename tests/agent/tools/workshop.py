"""A folder in which tools that run commands, look at the web or ask somebody are called as the loop calls them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.agent.waits import wait_until
from turnlog.agent.tools.call_result import CallResult, Object, ToolError, Workspace
from turnlog.agent.tools.input_schema import validate_input
from turnlog.agent.tools.notices import NoticeQueue
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.shells import Shell, Shells
from turnlog.agent.tools.tool import CallContext, Question, Tool
from turnlog.model.cancel import Cancel


class Consulted(NamedTuple):
    """A question to the small model."""

    system: str
    prompt: str
    tools: Sequence[Object]


class Clerk:
    """A desk that gives the answers it was told to give, and keeps what it was asked."""

    def __init__(self, answer: Object | None = None, blocks: Sequence[Object] = ()) -> None:
        self.answer = answer
        self.blocks = blocks
        self.asked: list[Question] = []
        self.consulted: list[Consulted] = []
        self.delegated: list[tuple[str, Object]] = []

    def ask(self, question: Question) -> Object | None:
        self.asked.append(question)
        return self.answer

    def delegate(self, call: str, given: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        self.delegated.append((call, given))
        progress({"type": "agent_progress"})
        return CallResult("a report", {"status": "completed"})

    def run_skill(self, command: object, arguments: str, context: CallContext) -> CallResult:
        """Skills are tried with the whole client."""
        raise AssertionError((command, arguments, context))

    def consult(self, system: str, prompt: str, cancel: Cancel, tools: Sequence[Object] = ()) -> Sequence[Object]:
        self.consulted.append(Consulted(system, prompt, tools))
        return self.blocks


class Workshop:
    """A project's folder, the session's folder, and a desk."""

    def __init__(self, base: Path, clerk: Clerk | None = None, environ: Mapping[str, str] | None = None) -> None:
        self.root = base / "demo"
        self.session = base / "session"
        self.root.mkdir(parents=True)
        self.clerk = clerk or Clerk()
        self.place = Workspace(self.root, self.root)
        self.shells = Shells(self.session / "background", NoticeQueue())
        self.environ = dict(os.environ if environ is None else environ)
        self.cancel = Cancel()
        self.progress: list[Object] = []

    def scene(self) -> CallContext:
        """The surroundings of a call."""
        return CallContext(
            call="toolu_1",
            place=self.place,
            session=self.session,
            session_id="s",
            files=SeenFiles(),
            shells=self.shells,
            desk=self.clerk,
            cancel=self.cancel,
            environ=self.environ,
            progress=self.progress.append,
        )

    def call(self, tool: Tool, **given: object) -> CallResult:
        """Call a tool."""
        try:
            return tool.run(validate_input(tool.name, tool.schema, given), self.scene())
        except ToolError as error:
            return error.to_result()

    def notices(self) -> list[str]:
        """What the model is told of commands that ended, as soon as there is something."""
        found: list[str] = []

        def has_notice() -> bool:
            found.extend(self.shells.notices.take_all())
            return bool(found)

        wait_until(has_notice)
        return found

    def shell(self, result: CallResult) -> Shell:
        """The background command that a result tells of."""
        found = self.shells.find_shell(result.structured["backgroundTaskId"])
        assert found is not None
        return found
