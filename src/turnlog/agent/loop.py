"""The loop: ask the model, run its calls, return the results, and repeat until it makes no more calls.

Everything is on disk before an event reports it. An API error, a limit or an interrupt ends the turn but never the
program.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from turnlog.agent.actor import Actor, EventWatcher
from turnlog.agent.answer_requests import AnswerRequests
from turnlog.agent.call_runner import CallRunner, PendingCall, TurnHalted
from turnlog.agent.context_usage import ContextUsage, measure_context
from turnlog.agent.conversation import AgentConversation, MessageContent
from turnlog.agent.delegation import Delegation
from turnlog.agent.events import ConversationCompacted, EntryWritten, TurnEnded
from turnlog.agent.person import Nobody, Person
from turnlog.agent.record.line_bodies import INTERRUPTED_CALL_TEXT, OUTPUT_REMINDER
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup
from turnlog.agent.shared_state import SharedState
from turnlog.agent.spending_tally import LimitReached, SpendingTally
from turnlog.agent.tool_services import MAX_PAUSES, ToolServices
from turnlog.agent.tools.call_result import Object, to_object
from turnlog.agent.tools.tool import Tool
from turnlog.agent.turn_start import TurnStart
from turnlog.model.cancel import Cancel
from turnlog.model.failures import ModelError, RequestCancelled
from turnlog.model.request import ModelRequest

if TYPE_CHECKING:
    from turnlog.agent.hooks.hook_scope import HookScope
    from turnlog.agent.hooks.turn_hooks import StopHooks
    from turnlog.agent.resume.resume import ResumableSession
    from turnlog.agent.tools.structured_output import StructuredOutput

CONTINUE_INSTRUCTION = (
    "Output token limit hit. Continue exactly where you were cut off, without an apology and without repeating"
    " anything."
)
_MAX_CONTINUATIONS = 3
"""How many times to continue an answer that hit its token limit."""


class AgentLoop(Actor):
    """Runs one actor, which is either the session itself or a sub-agent."""

    def __init__(
        self,
        setup: AgentSetup,
        record: SessionRecord,
        conversation: AgentConversation,
        watch: EventWatcher,
        person: Person,
        *,
        spent: SpendingTally | None = None,
        shared: SharedState | None = None,
        agent: str | None = None,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        super().__init__(
            setup, record, conversation, watch, person, spent=spent, shared=shared, agent=agent, tools=tools
        )
        tell = self.tell
        record.watch = lambda entry: tell(EntryWritten(entry, agent))
        self.services = ToolServices(
            self,
            Delegation(
                setup,
                record,
                conversation,
                self.spent,
                watch,
                self._start_inner_loop,
                self.shared.agents,
                person.answers_background_agents,
            ),
        )
        build_context, follow_ups = self.services.build_context, self.follow_ups
        self.calls = CallRunner(setup, record, person, tell, build_context, agent, follow_ups)
        if agent is None:
            self.shared.announce_tasks(tell)
        self._requests = AnswerRequests(self)
        self._start = TurnStart(self, self.services)
        self.output: StructuredOutput | None = None
        """Receives the answer as data, if the caller wants it so."""

    def require_output(self, schema: Object, where: str) -> None:
        """Make the model return its answers as data that match a schema; sub-agents are not concerned."""
        from turnlog.agent.tools.structured_output import StructuredOutput

        self.output = StructuredOutput(schema, where)
        self._tools = {**self._tools, self.output.name: self.output}

    def attach_hooks(self, hooks: HookScope) -> None:
        """Run hooks for this actor and, if it is the session itself, for the session as a whole."""
        self.hooks = self.calls.hooks = hooks
        if self.agent is None and self.lifecycle is None:
            from turnlog.agent.hooks.session_hooks import SessionLifecycle

            self.lifecycle = SessionLifecycle(hooks, lambda path: setattr(self.shared.shells, "environment_file", path))

    # -- turns

    def run_turn(
        self, content: MessageContent, cancel: Cancel, *, typed_text: str | None = None, **fields: Any
    ) -> TurnEnded:
        """Run one turn, from the person's prompt until the model stops.

        `typed_text` is the prompt without what was pasted into it, which mentions no files and names no command."""
        self._requests.restore_model()
        if not cancel.is_set:
            self._requests.make_room(cancel)  # before the prompt, which would otherwise become part of the summary
        try:
            return self._start.begin_turn(content, cancel, fields, typed_text) or self.run_to_rest(cancel)
        finally:
            self.effects.undo()

    def run_notice_turn(self, cancel: Cancel) -> TurnEnded | None:
        """Run a turn for the end of a background task; return None if no notice waits."""
        notice = self.shared.notices.take_first()
        if notice is None:
            return None
        try:
            self._requests.make_room(cancel)
            self._start.begin_notice_turn(notice)
            return self.run_to_rest(cancel)
        finally:
            self.effects.undo()

    def begin_agent(self, cancel: Cancel) -> None:
        """Run the hooks for the start of a sub-agent."""
        if self.hooks is not None:
            from turnlog.agent.hooks.session_hooks import start_agent

            start_agent(self.hooks, cancel, self.conversation.add_user_content)

    def run_to_rest(self, cancel: Cancel) -> TurnEnded:
        """Continue from the latest message until the model stops."""
        began, requests, text, reason = time.monotonic(), 0, "", "finished"
        if self.output is not None:
            self.output.start_turn()
        try:
            for requests, text in enumerate(self._iterate_steps(cancel), 1):  # noqa: B007 - only the last values matter
                pass
        except LimitReached as limit:
            reason, text = limit.reason, str(limit)
        except TurnStopped as stopped:
            reason, text = stopped.reason, stopped.text
        except (TurnHalted, RequestCancelled):
            reason = "interrupted"
        except ModelError as error:
            reason, text = "error", self._requests.record_failure(error)
        finally:
            self._requests.drop_paused_answer()
        milliseconds = round((time.monotonic() - began) * 1000)
        if self.agent is None:
            self.record.write_turn_end(milliseconds)
        output = self.output.output if self.output is not None and reason == "finished" else None
        ended = TurnEnded(reason, text, milliseconds, requests, output)
        if self.agent is None:
            self.tell(ended)
        return ended

    def _iterate_steps(self, cancel: Cancel) -> Iterator[str]:
        """Yield the text of each answer; a step is one request and the calls in its answer."""
        requests, continuations, pauses = 0, 0, 0
        stop_hooks = self._create_stop_hooks()
        while True:
            self.spent.check_limits(self.setup.limits, requests)
            if not self._requests.is_paused:
                self._prepare_request(cancel, is_first=not requests)
            answer = self._requests.request_answer(cancel)
            requests += 1
            calls = [self._resolve_call(block) for block in answer.calls]
            if calls:
                self._run_calls(calls, cancel)
            else:
                self.spent.check_budget(self.setup.limits)  # as in Claude Code, also if nothing is left to do
            is_output = self.output is not None and self.output.output is not None
            yield self.output.to_text() if self.output is not None and is_output else answer.text
            if calls and not is_output:
                if stop_hooks is not None:
                    stop_hooks.note_calls()
                continue
            if self._requests.is_paused and pauses < MAX_PAUSES:
                pauses += 1
                continue
            if is_output or not answer.is_cut or continuations >= _MAX_CONTINUATIONS:
                if self._demand_output():
                    continue
                if stop_hooks is None or stop_hooks.may_end(answer.text, cancel):
                    if stop_hooks is not None and stop_hooks.is_prevented:
                        raise TurnStopped("stop_hook_prevented", answer.text)
                    return
                continue
            continuations += 1
            self.record.write_prompt(CONTINUE_INSTRUCTION, meta=True)
            self.conversation.add_user_content(CONTINUE_INSTRUCTION)

    def _resolve_call(self, block: Object) -> PendingCall:
        name = str(block.get("name"))
        return PendingCall(str(block.get("id")), self.setup.tool_aliases.get(name, name), to_object(block.get("input")))

    def _run_calls(self, calls: Sequence[PendingCall], cancel: Cancel) -> None:
        """Run the calls of an answer; raise an exception if they end the turn before the model has finished."""
        try:
            self.conversation.add_results(self.calls.run_calls(calls, self.list_tools(), cancel))
        except TurnHalted as halted:
            self._record_halt(halted)
            raise
        if self.calls.stop_reason is not None:
            raise TurnStopped("hook_stopped", "")
        if self.output is not None and (trouble := self.output.exhaustion):
            raise TurnStopped("no_output", trouble)

    def _demand_output(self) -> bool:
        """Remind a model that stops without the data that the caller wants; return whether it must go on."""
        if self.output is None or not self.output.needs_reminder():
            return False
        self.record.write_prompt(OUTPUT_REMINDER, meta=True)
        self.conversation.add_user_content(OUTPUT_REMINDER)
        return True

    def _refresh_server_tools(self) -> None:
        """Offer the tools that an MCP server has announced since the last request."""
        pool = self.setup.servers
        offers_some = any(name.startswith("mcp__") for name in self._tools)
        if pool is not None and self.agent is None and offers_some:
            from turnlog.agent.mcp_servers.server_pool import read_connect_seconds

            if pool.refresh_tools(read_connect_seconds(self.setup.environ)):
                self.replace_server_tools(pool.tools)

    def _create_stop_hooks(self) -> StopHooks | None:
        if self.hooks is None:
            return None
        from turnlog.agent.hooks.turn_hooks import StopHooks

        return StopHooks(self.hooks, self.conversation.add_user_content)

    def _prepare_request(self, cancel: Cancel, *, is_first: bool) -> None:
        """Make room in the window, and inform the model about finished background commands and changed files."""
        if not is_first:
            self._requests.make_room(cancel)
        self._refresh_server_tools()
        for text in self.shared.collect_news() if self.agent is None else ():
            self.record.write_prompt(text, meta=True)
            self.conversation.add_user_content(text)

    def _record_halt(self, halted: TurnHalted) -> None:
        """Record that the person stopped the turn while calls were running; the model is told with the next prompt."""
        self.conversation.add_results(halted.results)
        self.record.write_interruption(for_tool=True)
        self.conversation.add_user_content(INTERRUPTED_CALL_TEXT)

    # -- the conversation

    def rewind(self, found: ResumableSession | None) -> None:
        """Continue from an earlier state of this session; without one, from before the first prompt."""
        self.record.rewind(found.leaf if found else None)
        messages, thought_by, used = (found.messages, found.thought_by, found.used) if found else ([], {}, 0)
        self.conversation.replace_messages(messages, thought_by, used)
        self.shared.todos[:] = found.todos if found else []

    def compact(self, instructions: str, cancel: Cancel) -> ConversationCompacted:
        """Replace the conversation with a summary at the person's request."""
        return self._requests.compact(instructions, cancel)

    def build_request(self) -> ModelRequest:
        return self._requests.build_request()

    def measure_context(self) -> ContextUsage:
        return measure_context(self.setup, self.conversation, self.build_request())

    def encode_next_request(self) -> Mapping[str, Any]:
        return self.build_request().build_body()

    def consult(self, system: str, prompt: str, cancel: Cancel, tools: Sequence[Object] = ()) -> Sequence[Object]:
        """Ask the small model a question outside the conversation."""
        return self.services.consult(system, prompt, cancel, tools)

    def _start_inner_loop(
        self,
        call: str,
        setup: AgentSetup,
        record: SessionRecord,
        conversation: AgentConversation,
        watch: EventWatcher,
        *,
        spent: SpendingTally,
        tools: Mapping[str, Tool],
        kind: str,
        is_background: bool,
    ) -> AgentLoop:
        person = Nobody() if is_background and not self.person.answers_background_agents else self.person
        inner = AgentLoop(
            setup, record, conversation, watch, person, spent=spent, shared=self.shared, agent=call, tools=tools
        )
        if self.hooks is not None:
            from turnlog.agent.hooks.hook_scope import HookActor

            actor = HookActor(record.agent_id or "", kind)
            inner.attach_hooks(self.hooks.derive_agent_scope(setup, record, inner.tell, actor))
        return inner


class TurnStopped(Exception):
    """Raised when a hook ends the turn."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text
