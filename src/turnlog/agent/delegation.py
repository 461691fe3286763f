"""Runs sub-agents: each uses the same loop with its own conversation, record and tools."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from turnlog.agent.conversation import AgentConversation
from turnlog.agent.events import CallEnded, TurnEnded, TurnEvent
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup, TurnLimits
from turnlog.agent.spending_tally import SpendingTally, count_window_tokens
from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.task import AgentType
from turnlog.agent.tools.tool import Tool
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled

TOOLS_DENIED_TO_AGENTS = frozenset({"Task", "AskUserQuestion", "ExitPlanMode", "TodoWrite"})
"""Tools that a sub-agent does not get, since it can't start other sub-agents or ask the person."""


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
    ) -> InnerLoop:
        """Build the loop for a call."""
        ...


class Delegation(NamedTuple):
    """Runs sub-agents for a session."""

    setup: AgentSetup
    record: SessionRecord
    conversation: AgentConversation
    spent: SpendingTally
    watch: Callable[[TurnEvent], None]
    start_loop: InnerLoopStarter

    def run_agent(self, call: str, arguments: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        """Run a sub-agent for a call and return its report."""
        kind, prompt = (
            self._find_agent_type(str(arguments.get("subagent_type") or "general-purpose")),
            str(arguments.get("prompt") or ""),
        )
        agent_id, began, spent = f"a{os.urandom(8).hex()}", time.monotonic(), SpendingTally(self.spent)
        description = str(arguments.get("description") or "")
        record = self.record.create_agent_record(call, agent_id, kind.name, prompt, description=description)
        uses = 0

        def count_uses(event: TurnEvent) -> None:
            nonlocal uses
            if isinstance(event, CallEnded):
                uses += 1
                progress({"type": "agent_progress", "prompt": prompt, "agentId": agent_id})
            self.watch(event)

        inner = self.start_loop(
            call,
            self._build_agent_setup(kind, arguments),
            record,
            AgentConversation([{"role": "user", "content": prompt}], self.conversation.preface),
            count_uses,
            spent=spent,
            tools=self._select_agent_tools(kind),
            kind=kind.name,
        )
        inner.begin_agent(cancel)
        ended = inner.run_to_rest(cancel)
        record.finish_agent()
        if ended.reason == "interrupted":
            raise RequestCancelled("cancelled")
        if ended.reason == "error":
            raise ToolError(ended.text)
        return _build_report(agent_id, prompt, ended.text, round((time.monotonic() - began) * 1000), uses, inner.usage)

    def _find_agent_type(self, name: str) -> AgentType:
        agent_type = self.setup.agents.get(name)
        if agent_type is None:
            known = ", ".join(self.setup.agents) or "none"
            raise ToolError(f"Agent type '{name}' not found. Available agents: {known}")
        return agent_type

    def _build_agent_setup(self, kind: AgentType, arguments: Object) -> AgentSetup:
        setup = self.setup
        model = str(arguments.get("model") or kind.model or setup.name)
        system = [{"type": "text", "text": kind.prompt, "cache_control": {"type": "ephemeral"}}]
        return replace(
            setup, system=system, name=setup.aliases.get(model, model), limits=TurnLimits(dollars=setup.limits.dollars)
        )

    def _select_agent_tools(self, kind: AgentType) -> dict[str, Tool]:
        denied = {*TOOLS_DENIED_TO_AGENTS, *kind.denied_tools}
        allowed = {name: tool for name, tool in self.setup.tools.items() if name not in denied}
        return allowed if kind.tools is None else {name: tool for name, tool in allowed.items() if name in kind.tools}


def _build_report(agent_id: str, prompt: str, text: str, milliseconds: int, uses: int, usage: Object) -> CallResult:
    """Build the result of a Task call; as in Claude Code, the token counts are those of the latest answer."""
    report = {"type": "text", "text": text or "(no report)"}
    hint = {"type": "text", "text": f"agentId: {agent_id}"}
    structured = {
        "status": "completed",
        "prompt": prompt,
        "agentId": agent_id,
        "content": [report],
        "totalDurationMs": milliseconds,
        "totalTokens": count_window_tokens(usage),
        "totalToolUseCount": uses,
        "usage": dict(usage),
    }
    return CallResult([report, hint], structured)
