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
from turnlog.agent.tools.task_events import TaskEnded, TaskMoved
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
    """A sub-agent that runs in a thread of its own: in the background, or until it is moved there."""

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
        self.failure: Exception | None = None
        """What ended it, other than its report."""
        self.awaited = threading.Event()
        """Set when it has ended or was moved to the background, so that no call has to wait any longer."""
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


AgentWork = Callable[[BackgroundAgent], AgentReport]


class BackgroundAgents:
    """The sub-agents of a session that run, or have run, in the background, and those that a call waits for."""

    def __init__(self, notices: NoticeQueue) -> None:
        self._notices = notices
        self._agents: dict[str, BackgroundAgent] = {}
        self._foreground: dict[str, BackgroundAgent] = {}
        """The agents that a call waits for."""
        self._lock = threading.Lock()
        self.tell: Callable[[TaskMoved | TaskEnded], object] = lambda _: None
        """Receives the end of an agent in the background, and that one was moved there."""

    def start_agent(self, agent: BackgroundAgent, work: AgentWork) -> None:
        """Start an agent in the background; its report becomes a notice."""
        self._agents[agent.id] = agent
        self._start_thread(agent, work)

    def run_agent(self, agent: BackgroundAgent, work: AgentWork, cancel: Cancel) -> AgentReport | None:
        """Run an agent and return its report, or None as soon as it is moved to the background."""
        with cancel.on_cancel(agent.cancel.set):
            self._foreground[agent.id] = agent
            self._start_thread(agent, work)
            agent.awaited.wait()
        if agent.id in self._agents:
            return None
        if agent.failure is not None:
            raise agent.failure
        return agent.report

    def move_to_background(self, call: str | None) -> bool:
        """Move the agent of a call, or every agent that a call waits for; return whether there was any."""
        with self._lock:
            found = [agent for agent in self._foreground.values() if call in (None, agent.call)]
            for agent in found:
                self._agents[agent.id] = self._foreground.pop(agent.id)
                self.tell(TaskMoved(agent.id))
                agent.awaited.set()
        return bool(found)

    def _start_thread(self, agent: BackgroundAgent, work: AgentWork) -> None:
        agent.thread = threading.Thread(target=self._run_work, args=(agent, work), name="agent", daemon=True)
        agent.thread.start()

    def _run_work(self, agent: BackgroundAgent, work: AgentWork) -> None:
        try:
            report = work(agent)
        except Exception as error:  # noqa: BLE001 - the call that waits, or else the model, must hear of it
            report, agent.failure = AgentReport("failed", str(error)), error
        with self._lock:
            agent.report = report
            self._foreground.pop(agent.id, None)
        agent.awaited.set()
        if agent.id not in self._agents or agent.stopped == "exit":
            return
        self.tell(TaskEnded(agent.id, agent.call, report.status, report.text, str(agent.path), report.usage))
        if agent.stopped != "model":
            self._notices.add(TaskNotice(agent.id, agent.build_notice(report), is_urgent=not agent.stopped))

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
