"""Sub-agents: the same loop with a conversation, a record and tools of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from turnlog.agent.conversation import AgentConversation
from turnlog.agent.events import CallEnded, TurnEvent
from turnlog.agent.person import Person
from turnlog.agent.setup import AgentSetup, AgentType, TurnLimits
from turnlog.agent.spending_tally import SpendingTally, count_window_tokens
from turnlog.agent.tools.tool import CallResult, Object, Tool, ToolError
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled

if TYPE_CHECKING:
    from turnlog.agent.loop import AgentLoop

TOOLS_DENIED_TO_AGENTS = frozenset({"Task", "AskUserQuestion", "ExitPlanMode", "TodoWrite"})
"""What a sub-agent does not get: it starts no others, and asks nobody."""


class Delegation:
    """Lets sub-agents work for a loop."""

    def __init__(self, loop: AgentLoop, watch: Callable[[TurnEvent], None], person: Person) -> None:
        self._loop = loop
        self._watch = watch
        self._person = person

    def run_agent(self, call: str, given: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        """Let a sub-agent do what a call asks for, and give its report."""
        kind, prompt = (
            self._find_agent_type(str(given.get("subagent_type") or "general-purpose")),
            str(given.get("prompt") or ""),
        )
        agent_id, began, spent = f"a{os.urandom(8).hex()}", time.monotonic(), SpendingTally(self._loop.spent)
        description = str(given.get("description") or "")
        loop = self._loop
        record = loop.record.create_agent_record(call, agent_id, kind.name, prompt, description=description)
        uses = 0

        def watch(event: TurnEvent) -> None:
            nonlocal uses
            if isinstance(event, CallEnded):
                uses += 1
                progress({"type": "agent_progress", "prompt": prompt, "agentId": agent_id})
            self._watch(event)

        inner = type(loop)(
            self._build_agent_setup(kind, given),
            record,
            AgentConversation([{"role": "user", "content": prompt}], loop.conversation.preface),
            watch,
            self._person,
            spent=spent,
            shared=loop.shared,
            agent=call,
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
        found = self._loop.setup.agents.get(name)
        if found is None:
            known = ", ".join(self._loop.setup.agents) or "none"
            raise ToolError(f"Agent type '{name}' not found. Available agents: {known}")
        return found

    def _build_agent_setup(self, kind: AgentType, given: Object) -> AgentSetup:
        setup = self._loop.setup
        model = str(given.get("model") or kind.model or setup.name)
        system = [{"type": "text", "text": kind.prompt, "cache_control": {"type": "ephemeral"}}]
        return replace(
            setup, system=system, name=setup.aliases.get(model, model), limits=TurnLimits(dollars=setup.limits.dollars)
        )

    def _select_agent_tools(self, kind: AgentType) -> dict[str, Tool]:
        denied = {*TOOLS_DENIED_TO_AGENTS, *kind.denied_tools}
        allowed = {name: tool for name, tool in self._loop.setup.tools.items() if name not in denied}
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
