"""The loop's services for the tools of one actor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.agent.actor import Actor
from turnlog.agent.answer_requests import PAUSED_STOP_REASON
from turnlog.agent.conversation import AgentConversation
from turnlog.agent.delegation import Delegation
from turnlog.agent.events import TurnEvent
from turnlog.agent.model_names import get_max_output_tokens
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.setup import AgentSetup
from turnlog.agent.tools.call_result import CallFollowUp, CallResult, Object, ToolError, Workspace
from turnlog.agent.tools.tool import CallContext, Question
from turnlog.model.cancel import Cancel
from turnlog.model.request import ModelRequest

if TYPE_CHECKING:
    from turnlog.agent.tools.command_file import CommandFile

MAX_PAUSES = 10
"""How many times to continue a paused answer."""


class ToolServices:
    """Answers what tools ask of the loop, and builds the context of each call."""

    def __init__(self, actor: Actor, delegation: Delegation) -> None:
        self._actor = actor
        self._delegation = delegation

    @property
    def setup(self) -> AgentSetup:
        return self._actor.setup

    @property
    def record(self) -> SessionRecord:
        return self._actor.record

    @property
    def tell(self) -> Callable[[TurnEvent], None]:
        return self._actor.tell

    def ask(self, question: Question) -> Object | None:
        """Ask the person a question; if they approve a plan, plan mode ends."""
        answer = self._actor.person.answer(question)
        if question.kind == "plan" and answer and answer.get("approved"):
            chosen = [mode for mode in PERMISSION_MODES if mode == answer.get("mode")]
            self.setup.guard.mode = chosen[0] if chosen else "default"
            self.record.write_permission_mode(self.setup.guard.mode)
        return answer

    def delegate(self, call: str, arguments: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        return self._delegation.run_agent(call, arguments, cancel, progress)

    def consult(self, system: str, prompt: str, cancel: Cancel, tools: Sequence[Object] = ()) -> Sequence[Object]:
        """Ask the small model a question outside the conversation."""
        limit = min(8192, get_max_output_tokens(self.setup.small, self.setup.environ))
        conversation, blocks = AgentConversation([{"role": "user", "content": prompt}]), list[Object]()
        for _ in range(1 + MAX_PAUSES):
            start = time.monotonic()
            request = ModelRequest(self.setup.small, conversation.messages, limit, system, tools)
            answer = self.setup.model.complete(request, cancel)
            self._actor.spent.add_answer(answer, (time.monotonic() - start) * 1000)
            conversation.add_answer(answer.content, self.setup.small)
            blocks += answer.content
            if answer.stop_reason != PAUSED_STOP_REASON:
                break
        return blocks

    def run_skill(self, command: CommandFile, arguments: str, context: CallContext) -> CallResult:
        """Add the text of a skill to the conversation, behind the result of the call, or run it in a sub-agent."""
        from turnlog.agent.commands.command_expansion import CommandRefused
        from turnlog.agent.commands.prepared_prompt import expand_command

        if command.is_forked and self._actor.agent is not None:
            raise ToolError(f"Skill {command.name} runs in a sub-agent, and a sub-agent can't start another one.")
        try:
            text = expand_command(self, command, arguments, context.cancel)
        except CommandRefused as error:
            raise ToolError(str(error)) from None
        outcome = {"success": True, "commandName": command.name}
        if command.is_forked:
            report, agent_id = self._delegation.run_skill(context.call, command, text, context.cancel, context.progress)
            content = f'Skill "{command.name}" completed (forked execution).\n\nResult:\n{report}'
            return CallResult(content, {**outcome, "status": "forked", "agentId": agent_id, "result": report})
        attachment = self._actor.effects.apply_command(command)
        self._actor.follow_ups[context.call] = CallFollowUp(text, attachment)
        allowed = {"allowedTools": list(command.allowed)} if command.allowed else {}
        model = {"model": attachment["model"]} if command.model else {}
        return CallResult(f"Launching skill: {command.name}", {**outcome, **allowed, **model})

    def find_shell_obstacle(self, command: str, cancel: Cancel) -> str:
        """Return why hooks forbid a shell command of a command's file; "" if they don't."""
        if self._actor.hooks is None:
            return ""
        from turnlog.agent.hooks.call_hooks import CallFacts, find_hook_obstacle

        return find_hook_obstacle(self._actor.hooks, CallFacts("", "Bash", {"command": command}), cancel)

    def run_forked_command(self, command: CommandFile, text: str, cancel: Cancel) -> str:
        """Run a command that the person has called in a sub-agent, and return its report."""
        call = f"forked-command-{command.name}"  # no call started it; programs know it by this name
        return self._delegation.run_skill(call, command, text, cancel, lambda _: None)[0]

    def build_context(
        self, call: str, place: Workspace, cancel: Cancel, progress: Callable[[Object], None]
    ) -> CallContext:
        return CallContext(
            call=call,
            place=place,
            session=self.record.folder,
            session_id=self.record.session_id,
            files=self._actor.shared.files,
            shells=self._actor.shared.shells,
            agents=self._actor.shared.agents,
            desk=self,
            cancel=cancel,
            environ=self.setup.environ,
            progress=progress,
            todos=self._actor.shared.todos,
            keep_before_change=partial(self._keep_before_change, call),
            agent=self._actor.agent,
            is_unreadable=self.setup.guard.build_unreadable_check(place),
        )

    def build_call_context(self, call: str, cancel: Cancel) -> CallContext:
        """Build the context of a call that the client makes itself."""
        return self.build_context(call, self.setup.place, cancel, lambda _: None)

    def _keep_before_change(self, call: str, path: Path) -> None:
        if self._actor.shared.history is not None:
            self._actor.shared.history.keep_before_change(path, self.record.get_call_entry(call))
