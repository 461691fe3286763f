"""All that runs in the background, commands and sub-agents alike: what `/tasks` and programs see and stop."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from turnlog.agent.tools.background_agents import BackgroundAgent, BackgroundAgents
from turnlog.agent.tools.shells import Shell, Shells
from turnlog.errors import NotFound


class RunningTask(NamedTuple):
    """A command or a sub-agent that runs in the background."""

    id: str
    kind: Literal["local_bash", "local_agent"]
    what: str
    """Its description or, without one, the command."""
    path: Path
    """The file that contains its output so far."""


class TaskList(NamedTuple):
    """The background of a session."""

    shells: Shells
    agents: BackgroundAgents

    def list_running(self) -> list[RunningTask]:
        """Return the tasks that run, commands first."""
        commands = [
            RunningTask(one.id, "local_bash", one.description or one.command, one.path)
            for one in self.shells.list_running()
        ]
        agents = [
            RunningTask(one.id, "local_agent", one.description or one.kind, one.path)
            for one in self.agents.list_running()
        ]
        return [*commands, *agents]

    def is_settled(self) -> bool:
        """Return whether nothing runs and every notice has been queued."""
        return self.shells.is_settled() and self.agents.is_settled()

    def move_to_background(self, call: str | None = None) -> bool:
        """Move what a call waits for, or all that the session waits for, to the background; return whether it was."""
        is_command, is_agent = self.shells.move_to_background(call), self.agents.move_to_background(call)
        return is_command or is_agent

    def stop_task(self, name: str, reason: str = "client") -> RunningTask:
        """Stop a running task for a person or a program; raises NotFound if no such task runs."""
        task = next((one for one in self.list_running() if one.id == name), None)
        if task is None:
            raise NotFound(f"{name}: no such background task is running")
        found: Shell | BackgroundAgent | None = self.shells.find_shell(name) or self.agents.find_agent(name)
        if found is not None:
            found.stop(reason)
        return task

    def close(self) -> None:
        """Stop everything; nothing outlives the session."""
        self.agents.close()
        self.shells.close()
