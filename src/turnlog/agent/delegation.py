"""Runs sub-agents: each uses the same loop with its own conversation, record and tools."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.structs import replace

from turnlog.agent.conversation import AgentConversation
from turnlog.agent.events import CallEnded, CallStarted, TurnEnded, TurnEvent, WarningIssued
from turnlog.agent.permissions.agent_guard import AgentGuard
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup, TurnLimits
from turnlog.agent.spending_tally import SpendingTally, count_window_tokens
from turnlog.agent.tools.background_agents import AgentReport, AgentStatus, BackgroundAgent, BackgroundAgents
from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.task import AgentType
from turnlog.agent.tools.task_events import TaskEnded, TaskProgressed, TaskStarted
from turnlog.agent.tools.tool import Tool
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled

if TYPE_CHECKING:
    from turnlog.agent.tools.command_file import CommandFile

TOOLS_DENIED_TO_AGENTS = frozenset({"Task", "AskUserQuestion", "ExitPlanMode", "TodoWrite"})
"""Tools that a sub-agent does not get, since it can't start other sub-agents or ask the person."""

_STATUSES_BY_REASON: dict[str, AgentStatus] = {
    "interrupted": "killed",
    "error": "failed",
    "budget": "failed",
}
_LAUNCH_TEMPLATE = """\
The agent was started and works in the background.
agentId: {agent} (for you, not for the user; KillShell with this ID stops it)
You will be notified when it ends. Until then you know nothing about its results, so don't predict or report them. Do \
other work in the meantime, or answer the user; don't do the agent's work yourself.
output_file: {path}
Don't read this file unless the user asks: it is the agent's whole transcript."""


class InnerLoop(Protocol):
    """The loop of a sub-agent."""

    usage: Object
    """The usage of the last answer."""

    def begin_agent(self, cancel: Cancel) -> None:
        """Run the hooks for the start of a sub-agent."""
        ...

    def run_to_rest(self, cancel: Cancel) -> TurnEnded:
        """Run until the sub-agent has produced its report."""
        ...


class InnerLoopStarter(Protocol):
    """Builds a sub-agent's loop, which shares files, shells and the person with its parent."""

    def __call__(
        self,
        call: str,
        setup: AgentSetup,
        record: SessionRecord,
        conversation: AgentConversation,
        watch: Callable[[TurnEvent], None],
        *,
        spent: SpendingTally,
        tools: Mapping[str, Tool],
        kind: str,
        is_background: bool,
    ) -> InnerLoop:
        """Build the loop for a call."""
        ...


class AgentAssignment(NamedTuple):
    """What a sub-agent is to do, and how."""

    kind: AgentType
    prompt: str
    description: str
    model: str = ""
    """The model or alias to use instead of the one that its type names."""
    rules: Sequence[str] = ()
    """Allow rules for this agent alone."""
    is_meta: bool = False
    """Whether the prompt is the client's, such as the text of a skill."""


class Delegation(NamedTuple):
    """Runs sub-agents for a session."""

    setup: AgentSetup
    record: SessionRecord
    conversation: AgentConversation
    spent: SpendingTally
    watch: Callable[[TurnEvent], None]
    start_loop: InnerLoopStarter
    background: BackgroundAgents
    prefers_background: bool
    """Whether a sub-agent works in the background if the call does not say so."""

    def run_agent(self, call: str, arguments: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        """Run a sub-agent for a call and return its report; in the background, return at once."""
        kind = self._find_agent_type(str(arguments.get("subagent_type") or "general-purpose"))
        wants_background = kind.is_background or bool(arguments.get("run_in_background", self.prefers_background))
        is_background = wants_background and may_run_in_background(self.setup.environ)
        assignment = AgentAssignment(
            kind,
            str(arguments.get("prompt") or ""),
            str(arguments.get("description") or ""),
            str(arguments.get("model") or ""),
        )
        job = self._prepare_job(call, assignment, is_background=is_background)
        if is_background:
            return self._run_in_background(job)
        report = self._run_job(job, cancel, progress)
        return self._build_launch_result(job) if report is None else _build_result(job, report, job.inner.usage)

    def run_skill(
        self, call: str, command: CommandFile, text: str, cancel: Cancel, progress: Callable[[Object], None]
    ) -> tuple[str, str]:
        """Run a skill in a sub-agent of its own, and return the agent's report and id."""
        kind = self._find_agent_type(command.agent or "general-purpose")
        about = f"/{command.name}"
        assignment = AgentAssignment(kind, text, about, command.model or "", command.allowed, is_meta=True)
        job = self._prepare_job(call, assignment, is_background=False)
        report = self._run_job(job, cancel, progress)
        return (f"The skill goes on in the background (agentId: {job.id})." if report is None else report.text), job.id

    def _run_job(self, job: AgentJob, cancel: Cancel, progress: Callable[[Object], None]) -> AgentReport | None:
        """Run a sub-agent and return its report, or None if it was moved to the background."""
        job.report_progress = progress
        self.watch(job.build_start_event(is_background=False))
        report: AgentReport | None = AgentReport("killed", "interrupted")
        try:
            report = self.background.run_agent(job.build_agent(), job.run_for, cancel)
        finally:
            if report is not None:
                self.watch(TaskEnded(job.id, job.call, report.status, report.text, str(job.record.path), report.usage))
        if report is None:
            job.detach()
        elif job.end_reason == "interrupted":
            raise RequestCancelled("cancelled")
        elif job.end_reason == "error":
            raise ToolError(report.text)
        return report

    def _run_in_background(self, job: AgentJob) -> CallResult:
        self.watch(job.build_start_event(is_background=True))
        self.background.start_agent(job.build_agent(), job.run_for)
        return self._build_launch_result(job)

    def _build_launch_result(self, job: AgentJob) -> CallResult:
        structured = {
            "isAsync": True,
            "status": "async_launched",
            "agentId": job.id,
            "description": job.description,
            "resolvedModel": job.model,
            "prompt": job.prompt,
            "outputFile": str(job.record.path),
            "canReadOutputFile": True,
        }
        text = _LAUNCH_TEMPLATE.format(agent=job.id, path=job.record.path)
        return CallResult([{"type": "text", "text": text}], structured)

    def _prepare_job(self, call: str, assignment: AgentAssignment, *, is_background: bool) -> AgentJob:
        kind, prompt, description = assignment.kind, assignment.prompt, assignment.description
        agent_id, setup = f"a{os.urandom(8).hex()}", self._build_agent_setup(assignment)
        if is_background:
            setup.place = replace(setup.place)  # its commands must not change the session's folder
        record = self.record.create_agent_record(
            call, agent_id, kind.name, prompt, description=description, is_meta=assignment.is_meta
        )
        job = AgentJob(agent_id, call, description, prompt, kind, setup, record, self.watch)
        conversation = AgentConversation([{"role": "user", "content": prompt}], self.conversation.preface)
        for text in self._collect_skills(kind):
            record.write_prompt([{"type": "text", "text": text}], meta=True)
            conversation.add_user_content(text)
        job.inner = self.start_loop(
            call,
            setup,
            record,
            conversation,
            job.watch_event,
            spent=SpendingTally(self.spent),
            tools=self._select_agent_tools(kind),
            kind=kind.name,
            is_background=is_background,
        )
        return job

    def _collect_skills(self, kind: AgentType) -> Iterator[str]:
        """Yield the texts of the skills that a type of sub-agent has from the start."""
        from turnlog.agent.commands.command_expansion import fill_in_arguments

        for name in kind.skills:
            skill = self.setup.commands.get(name)
            problem = "there is no such skill" if skill is None else skill.problem
            if skill is not None and not skill.is_plain:
                problem = "it runs commands or allows itself something, so that only a call can load it"
            if skill is None or problem:
                self.watch(WarningIssued(f"the sub-agent {kind.name} starts without the skill {name}: {problem}"))
                continue
            yield fill_in_arguments(skill, "", self.record.session_id)

    def _find_agent_type(self, name: str) -> AgentType:
        agent_type = self.setup.agents.get(name)
        if agent_type is None:
            known = ", ".join(self.setup.agents) or "none"
            raise ToolError(f"Agent type '{name}' not found. Available agents: {known}")
        return agent_type

    def _build_agent_setup(self, assignment: AgentAssignment) -> AgentSetup:
        setup, kind = self.setup, assignment.kind
        model = assignment.model or kind.model or setup.name
        system = [{"type": "text", "text": kind.prompt, "cache_control": {"type": "ephemeral"}}]
        return replace(
            setup,
            system=system,
            name=setup.aliases.get(model, model),
            guard=AgentGuard(setup.guard, assignment.rules, kind.mode),
            limits=TurnLimits(kind.max_turns, setup.limits.dollars),
            thinking=setup.thinking._replace(effort=kind.effort or setup.thinking.effort),
        )

    def _select_agent_tools(self, kind: AgentType) -> dict[str, Tool]:
        denied = {*TOOLS_DENIED_TO_AGENTS, *kind.denied_tools}
        allowed = {name: tool for name, tool in self.setup.tools.items() if name not in denied}
        return allowed if kind.tools is None else {name: tool for name, tool in allowed.items() if name in kind.tools}


class AgentJob:
    """One run of a sub-agent."""

    inner: InnerLoop

    def __init__(
        self,
        name: str,
        call: str,
        description: str,
        prompt: str,
        kind: AgentType,
        setup: AgentSetup,
        record: SessionRecord,
        watch: Callable[[TurnEvent], None],
    ) -> None:
        self.id = name
        self.call = call
        self.description = description
        self.prompt = prompt
        self.kind = kind
        self.model = setup.name
        self.end_reason = ""
        self.record = record
        self.report_progress: Callable[[Object], None] = lambda _: None
        self._setup = setup
        self._watch = watch
        self._began = time.monotonic()
        self._uses = 0

    def build_agent(self) -> BackgroundAgent:
        return BackgroundAgent(self.id, self.call, self.description, self.kind.name, self.record.path)

    def run_for(self, agent: BackgroundAgent) -> AgentReport:
        """Run the sub-agent until it has produced its report."""
        self.inner.begin_agent(agent.cancel)
        ended = self.inner.run_to_rest(agent.cancel)
        self.record.finish_agent()
        self.end_reason = ended.reason
        return self._build_report(ended)

    def detach(self) -> None:
        """Separate the sub-agent from the call that no longer waits for it."""
        self._setup.place = replace(self._setup.place)  # its commands must not change the session's folder
        self.report_progress = lambda _: None

    def watch_event(self, event: TurnEvent) -> None:
        """Count calls, report progress, and pass an event of the sub-agent on."""
        if isinstance(event, CallStarted):
            self._uses += 1
            what = str(event.arguments.get("description") or event.name)
            usage = self._count_usage()
            self._watch(TaskProgressed(self.id, self.call, f"Running {what}", self.kind.name, usage, event.name))
        elif isinstance(event, CallEnded):
            self.report_progress({"type": "agent_progress", "prompt": self.prompt, "agentId": self.id})
        self._watch(event)

    def build_start_event(self, *, is_background: bool) -> TaskStarted:
        about = self.description or self.kind.name
        return TaskStarted(self.id, self.call, about, "local_agent", is_background, self.kind.name, self.prompt)

    def _build_report(self, ended: TurnEnded) -> AgentReport:
        status = _STATUSES_BY_REASON.get(ended.reason, "completed")
        text = ended.text or "(no report)"
        if ended.reason == "max_turns":
            text = (
                f"NOTE: this agent stopped at its {self.kind.max_turns}-turn limit before finishing, without a report."
            )
        return AgentReport(status, text, *self._count_usage().values())

    def _count_usage(self) -> dict[str, int]:
        milliseconds = round((time.monotonic() - self._began) * 1000)
        tokens = count_window_tokens(self.inner.usage)
        return {"total_tokens": tokens, "tool_uses": self._uses, "duration_ms": milliseconds}


def may_run_in_background(environ: Mapping[str, str]) -> bool:
    """Return whether the environment allows sub-agents in the background."""
    return environ.get("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "").lower() not in ("1", "true", "yes", "on")


def _build_result(job: AgentJob, report: AgentReport, usage: Object) -> CallResult:
    """Build the result of a Task call; as in Claude Code, the token counts are those of the latest answer."""
    text = {"type": "text", "text": report.text}
    hint = {"type": "text", "text": f"agentId: {job.id}"}
    structured = {
        "status": "completed",
        "prompt": job.prompt,
        "agentId": job.id,
        "agentType": job.kind.name,
        "content": [text],
        "resolvedModel": job.model,
        "totalDurationMs": report.milliseconds,
        "totalTokens": report.tokens,
        "totalToolUseCount": report.uses,
        "usage": dict(usage),
    }
    return CallResult([text, hint], structured)
