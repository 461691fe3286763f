"""The sub-agents that go on in the background while the session does something else.

Each runs in a thread of its own. When one ends, the model receives a notice with its report. All are stopped when the
client exits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from turnlog.agent.tools.notices import NoticeQueue, TaskNotice, build_notice_text
from turnlog.agent.tools.task_events import TaskEnded
from turnlog.model.cancel import Cancel

AgentStatus = Literal["running", "completed", "failed", "killed"]
_MAX_STOP_SECONDS = 10.0
"""How long the end of the session waits for the agents that it stops."""


class AgentReport(NamedTuple):
    """What came of a sub-agent."""

    status: AgentStatus
    text: str
    tokens: int = 0
    uses: int = 0
    milliseconds: int = 0

    @property
    def usage(self) -> dict[str, int]:
        """The report's counts, as programs receive them."""
        return {"total_tokens": self.tokens, "tool_uses": self.uses, "duration_ms": self.milliseconds}


class BackgroundAgent:
    """A sub-agent that runs in the background."""

    def __init__(self, name: str, call: str, description: str, kind: str, output: Path) -> None:
        self.id = name
        self.call = call
        """The id of the call that started it."""
        self.description = description
        self.kind = kind
        """The type of the sub-agent."""
        self.path = output
        """The file that contains its transcript."""
        self.cancel = Cancel()
        self.began = time.monotonic()
        self.report: AgentReport | None = None
        self.stopped = ""
        """Who stopped it: `model`, `client` or, as the client exits, `exit`; empty if nobody did."""
        self.thread: threading.Thread

    @property
    def status(self) -> AgentStatus:
        return "running" if self.report is None else self.report.status

    def stop(self, reason: str) -> None:
        """Stop the agent; what it has done so far stays in its transcript."""
        if self.report is None:
            self.stopped = self.stopped or reason
            self.cancel.set()

    def build_notice(self, report: AgentReport) -> str:
        ends = {
            "completed": f'Agent "{self.description}" finished',
            "failed": f'Agent "{self.description}" failed: {report.text}',
            "killed": f'Agent "{self.description}" was stopped by the user or by the app connected to this session',
        }
        usage = (
            f"<usage><subagent_tokens>{report.tokens}</subagent_tokens><tool_uses>{report.uses}</tool_uses>"
            f"<duration_ms>{report.milliseconds}</duration_ms></usage>"
        )
        more = f"\n<result>{report.text}</result>\n{usage}" if report.status == "completed" else ""
        return build_notice_text(self.id, self.call, self.path, report.status, ends[report.status], more)


class BackgroundAgents:
    """The sub-agents of a session that run, or have run, in the background."""

    def __init__(self, notices: NoticeQueue) -> None:
        self._notices = notices
        self._agents: dict[str, BackgroundAgent] = {}
        self.tell: Callable[[TaskEnded], object] = lambda _: None
        """Receives the end of an agent."""

    def start_agent(self, agent: BackgroundAgent, work: Callable[[BackgroundAgent], AgentReport]) -> None:
        """Run `work`, which never raises, in a thread; its report becomes a notice."""

        def run() -> None:
            report = work(agent)
            agent.report = report
            if agent.stopped == "exit":
                return
            self.tell(TaskEnded(agent.id, agent.call, report.status, report.text, str(agent.path), report.usage))
            if agent.stopped != "model":
                self._notices.add(TaskNotice(agent.id, agent.build_notice(report), is_urgent=not agent.stopped))

        agent.thread = threading.Thread(target=run, name="agent", daemon=True)
        self._agents[agent.id] = agent
        agent.thread.start()

    def find_agent(self, name: str) -> BackgroundAgent | None:
        return self._agents.get(name)

    def list_running(self) -> list[BackgroundAgent]:
        return [agent for agent in self._agents.values() if agent.status == "running"]

    def is_settled(self) -> bool:
        """Return whether no agent runs and every notice has been queued."""
        return not any(agent.thread.is_alive() for agent in self._agents.values())

    def close(self) -> None:
        """Stop all agents and wait until they have written their last entries."""
        running = self.list_running()
        for agent in running:
            agent.stop("exit")
        until = time.monotonic() + _MAX_STOP_SECONDS
        for agent in running:
            agent.thread.join(max(0.0, until - time.monotonic()))
