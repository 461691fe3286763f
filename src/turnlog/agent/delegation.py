"""Sub-agents: the same loop with a conversation, a record and tools of its own."""

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
"""What a sub-agent does not get: it starts no others, and asks nobody."""


class InnerLoop(Protocol):
    """The loop of a sub-agent."""

    usage: Object
    """What its last answer used."""

    def run_to_rest(self, cancel: Cancel) -> TurnEnded:
        """Work until the sub-agent has its report."""
        ...


class InnerLoopStarter(Protocol):
    """Builds the loop of a sub-agent, which shares files, shells and the person with the loop that started it."""

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
    ) -> InnerLoop:
        """Build it for a call."""
        ...


class Delegation(NamedTuple):
    """Lets sub-agents work for a session."""

    setup: AgentSetup
    record: SessionRecord
    conversation: AgentConversation
    spent: SpendingTally
    watch: Callable[[TurnEvent], None]
    start_loop: InnerLoopStarter

    def run_agent(self, call: str, given: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        """Let a sub-agent do what a call asks for, and give its report."""
        kind, prompt = (
            self._find_agent_type(str(given.get("subagent_type") or "general-purpose")),
            str(given.get("prompt") or ""),
        )
        agent_id, began, spent = f"a{os.urandom(8).hex()}", time.monotonic(), SpendingTally(self.spent)
        description = str(given.get("description") or "")
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
            self._build_agent_setup(kind, given),
            record,
            AgentConversation([{"role": "user", "content": prompt}], self.conversation.preface),
            count_uses,
            spent=spent,
            tools=self._select_agent_tools(kind),
        )
        ended = inner.run_to_rest(cancel)
        record.finish_agent()
        if ended.reason == "interrupted":
            raise RequestCancelled("cancelled")
        if ended.reason == "error":
            raise ToolError(ended.text)
        return _build_report(agent_id, prompt, ended.text, round((time.monotonic() - began) * 1000), uses, inner.usage)

    def _find_agent_type(self, name: str) -> AgentType:
        found = self.setup.agents.get(name)
        if found is None:
            known = ", ".join(self.setup.agents) or "none"
            raise ToolError(f"Agent type '{name}' not found. Available agents: {known}")
        return found

    def _build_agent_setup(self, kind: AgentType, given: Object) -> AgentSetup:
        setup = self.setup
        model = str(given.get("model") or kind.model or setup.name)
        system = [{"type": "text", "text": kind.prompt, "cache_control": {"type": "ephemeral"}}]
        return replace(
            setup, system=system, name=setup.aliases.get(model, model), limits=TurnLimits(dollars=setup.limits.dollars)
        )

    def _select_agent_tools(self, kind: AgentType) -> dict[str, Tool]:
        denied = {*TOOLS_DENIED_TO_AGENTS, *kind.denied_tools}
        allowed = {name: tool for name, tool in self.setup.tools.items() if name not in denied}
        return allowed if kind.tools is None else {name: tool for name, tool in allowed.items() if name in kind.tools}


def _build_report(agent_id: str, prompt: str, text: str, milliseconds: int, uses: int, usage: Object) -> CallResult:
    """What the model is told, and what is recorded; the tokens are those of the last answer, as in the real client."""
    said = {"type": "text", "text": text or "(no report)"}
    hint = {"type": "text", "text": f"agentId: {agent_id}"}
    structured = {
        "status": "completed",
        "prompt": prompt,
        "agentId": agent_id,
        "content": [said],
        "totalDurationMs": milliseconds,
        "totalTokens": count_window_tokens(usage),
        "totalToolUseCount": uses,
        "usage": dict(usage),
    }
    return CallResult([said, hint], structured)
