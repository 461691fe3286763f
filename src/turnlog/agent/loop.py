"""The loop: ask the model, carry out its calls, tell it what came of them, until it comes to rest.

Everything is on disk before anybody is told of it. Whatever belongs to a session ends a turn, and never the program: an
error of the API, a limit, a person who stops it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from turnlog.agent.call_runner import CallRunner, PendingCall, TurnHalted
from turnlog.agent.compaction import TOO_LONG_HINT, Compactor, is_compaction_due, is_too_long_error
from turnlog.agent.context_usage import ContextUsage, measure_context
from turnlog.agent.conversation import AgentConversation, MessageContent, build_reminder, find_open_server_calls
from turnlog.agent.delegation import Delegation
from turnlog.agent.events import (
    AnswerStreamed,
    ConversationCompacted,
    EntryWritten,
    TurnEnded,
    TurnEvent,
    WarningIssued,
)
from turnlog.agent.model_names import build_thinking_setting, get_max_output_tokens
from turnlog.agent.person import Person
from turnlog.agent.record.line_bodies import INTERRUPTED_CALL_TEXT, INTERRUPTED_TEXT
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.setup import AgentSetup
from turnlog.agent.spending_tally import LimitReached, SpendingTally, count_window_tokens
from turnlog.agent.tools.call_result import CallResult, Object, Workspace, to_object
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.shells import Shells
from turnlog.agent.tools.tool import CallContext, Question, Tool
from turnlog.model.answer import AnswerAssembler, ModelAnswer
from turnlog.model.cancel import Cancel
from turnlog.model.events import RetryStarted
from turnlog.model.failures import KeyRejected, ModelError, RateLimited, RequestCancelled, RequestRejected, ServerBusy
from turnlog.model.request import ModelRequest

CONTINUE_INSTRUCTION = (
    "Output token limit hit. Go on exactly where you were cut off, without an apology and without repeating anything."
)
INTERLEAVED_THINKING_BETA = "interleaved-thinking-2025-05-14"
"""What lets a model that is to think do so behind results too."""
PAUSED_STOP_REASON = "pause_turn"
"""Why an answer ends that the server goes on with, if it is given back: its own tools need longer."""
_MAX_CONTINUATIONS = 3
"""How often an answer that was cut by its limit is gone on with."""
_MAX_PAUSES = 10
"""How often one is that was paused."""

EventWatcher = Callable[[TurnEvent], None]


class AgentLoop:
    """One actor at work: the session itself, or a sub-agent."""

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
        self.setup = setup
        self.record = record
        self.conversation = conversation
        self.spent = spent or SpendingTally()
        self.shared = shared or SharedState(record.folder)
        self.usage: Object = {}
        """Of the last answer."""
        self._paused: ModelAnswer | None = None
        """An answer that the server will go on with, and what of it is not written yet."""
        self._person = person
        self._agent = agent
        self._tools = dict(tools if tools is not None else setup.tools)
        lock = threading.Lock()

        def send_event(event: TurnEvent) -> None:
            with lock:
                watch(event)

        self.tell = send_event
        self.calls = CallRunner(setup, record, person, send_event, self._build_call_context, agent)
        record.watch = lambda entry: send_event(EntryWritten(entry, agent))
        self._delegation = Delegation(setup, record, conversation, self.spent, watch, self._start_inner_loop)

    # -- turns

    def run_turn(self, content: MessageContent, cancel: Cancel, **fields: Any) -> TurnEnded:
        """One turn of a person: from what they say until the model comes to rest."""
        if not cancel.is_set:
            self._make_room(cancel)  # before the prompt: a summary would swallow it
        self.record.write_prompt(content, **fields)
        self.conversation.add_user_content(content)
        return self.run_to_rest(cancel)

    def run_to_rest(self, cancel: Cancel) -> TurnEnded:
        """Go on from what was said last."""
        began, asked, text, reason = time.monotonic(), 0, "", "finished"
        try:
            for asked, text in enumerate(self._iterate_steps(cancel), 1):  # noqa: B007 - where it ended is what is wanted
                pass
        except LimitReached as limit:
            reason, text = limit.reason, str(limit)
        except (TurnHalted, RequestCancelled):
            reason = "interrupted"
        except ModelError as error:
            reason, text = "error", self._record_failure(error)
        finally:
            self._paused = None
            self.conversation.drop_open_server_calls()
        took = round((time.monotonic() - began) * 1000)
        if self._agent is None:
            self.record.write_turn_end(took)
        ended = TurnEnded(reason, text, took, asked)
        if self._agent is None:
            self.tell(ended)
        return ended

    def _iterate_steps(self, cancel: Cancel) -> Iterator[str]:
        """The text of each answer; a step is a request, and the calls of its answer."""
        asked, longer, pauses = 0, 0, 0
        while True:
            self.spent.check_limits(self.setup.limits, asked)
            if not self._paused:
                self._prepare_request(cancel, is_first=not asked)
            answer = self._ask_with_rescue(cancel)
            asked += 1
            calls = [PendingCall(str(c.get("id")), str(c.get("name")), to_object(c.get("input"))) for c in answer.calls]
            if calls:
                try:
                    self.conversation.add_results(self.calls.run_calls(calls, self.list_tools(), cancel))
                except TurnHalted as halted:
                    self._record_halt(halted)
                    raise
            yield answer.text
            if calls:
                continue
            if self._paused and pauses < _MAX_PAUSES:
                pauses += 1
                continue
            if not answer.is_cut or longer >= _MAX_CONTINUATIONS:
                return
            longer += 1
            self.record.write_prompt(CONTINUE_INSTRUCTION, meta=True)
            self.conversation.add_user_content(CONTINUE_INSTRUCTION)

    def _prepare_request(self, cancel: Cancel, *, is_first: bool) -> None:
        """Make room; tell the model which commands in the background have ended, and what others did to its files."""
        if not is_first:
            self._make_room(cancel)
        for text in self.shared.collect_news() if self._agent is None else ():
            self.record.write_prompt(text, meta=True)
            self.conversation.add_user_content(text)

    def _record_halt(self, halted: TurnHalted) -> None:
        """The person stopped it while calls were at work: the model finds that out with the next prompt."""
        self.conversation.add_results(halted.results)
        self.record.write_interruption(for_tool=True)
        self.conversation.add_user_content(INTERRUPTED_CALL_TEXT)

    # -- requests

    def list_tools(self) -> dict[str, Tool]:
        """The tools that may be used, in their order."""
        return {name: tool for name, tool in self._tools.items() if not self.setup.guard.is_hidden(name)}

    def build_request(self, further: str = "", conversation: AgentConversation | None = None) -> ModelRequest:
        """What would be sent now; `further` is asked beyond what was said, without becoming a part of it."""
        said = conversation or self.conversation
        offered = [
            {"name": name, "description": tool.description, "input_schema": dict(tool.schema)}
            for name, tool in self.list_tools().items()
        ]
        most = get_max_output_tokens(self.setup.name, self.setup.environ)
        thought = build_thinking_setting(most, self.setup.environ)
        return ModelRequest(
            self.setup.name,
            said.build_messages(self.setup.name, further),
            most,
            self.setup.system,
            offered,
            thinking=thought,
            betas=(INTERLEAVED_THINKING_BETA,) if thought else (),
        )

    def _ask_with_rescue(self, cancel: Cancel) -> ModelAnswer:
        """Ask the model; what the API finds too long is made shorter and asked again."""
        try:
            return self._request_answer(cancel)
        except RequestRejected as error:
            if self._paused or not is_too_long_error(error) or len(self.conversation.messages) < 2:
                raise
            self.tell(WarningIssued(f"{error}; room is made in the conversation"))
        return self._create_compactor().ask_with_more_room(partial(self._request_answer, cancel), cancel)

    def _request_answer(self, cancel: Cancel) -> ModelAnswer:
        """Ask the model; the answer is written block by block when it is complete, or as far as it came."""
        folding, began = AnswerAssembler(), time.monotonic()
        try:
            for event in self.setup.model.stream(self.build_request(), cancel):
                folding.add_event(event)
                if isinstance(event, RetryStarted):
                    self.record.write_retry(event)
                    self.tell(WarningIssued(f"{event.reason}; trying again in {event.wait:.0f} s"))
                self.tell(AnswerStreamed(event, self._agent))
        except RequestCancelled:
            self._write_partial_answer(folding.build_answer())
            raise
        answer = folding.build_answer()
        self._write_answer(answer)
        self.conversation.add_answer(answer.content, self.setup.name)
        self.conversation.used = count_window_tokens(answer.usage) or self.conversation.used
        self.spent.add_answer(answer, (time.monotonic() - began) * 1000)
        self.usage = answer.usage
        return answer

    def _write_answer(self, answer: ModelAnswer) -> None:
        """Write an answer down; what follows a pause belongs to the answer before: only so do both clients send it.

        Calls of the server's that it has not answered yet wait: nobody could go on from there without the rest.
        """
        before, is_paused = self._paused, answer.stop_reason == PAUSED_STOP_REASON and not answer.calls
        if before:
            answer = replace(answer, id=before.id, content=(*before.content, *answer.content))
        waiting = find_open_server_calls(answer.content) if is_paused else []
        told = tuple(block for block in answer.content if block not in waiting)
        name = self.record.write_answer(replace(answer, content=told), goes_on=before is not None)
        self._paused = replace(answer, id=name, content=tuple(waiting)) if is_paused else None

    def _write_partial_answer(self, answer: ModelAnswer) -> None:
        """The person stopped it while the model spoke: what was said stays."""
        said = tuple(block for block in answer.content if block.get("type") == "text")
        if said:
            self.record.write_answer(replace(answer, content=said, stop_reason=None, stop_sequence=None))
            self.conversation.add_answer(said, self.setup.name)
        self.record.write_interruption()
        self.conversation.add_user_content(INTERRUPTED_TEXT)

    def _record_failure(self, error: ModelError) -> str:
        text = f"API Error: {error}"
        if is_too_long_error(error):
            text = f"{text}. {TOO_LONG_HINT.format(session=self.record.session_id)}"
        self.record.write_failure(text, _classify_error(error), error.status, error.kind)
        return text

    # -- the window

    def _make_room(self, cancel: Cancel) -> None:
        """Before the window is full, older messages make room."""
        if is_compaction_due(self.setup, self.conversation):
            compactor = self._create_compactor()
            try:
                if not compactor.clear_old_results():
                    self.tell(compactor.replace_by_summary("auto", "", cancel))
            except RequestCancelled:
                pass  # whoever stopped it is heard at the next step
            except ModelError as error:
                self.tell(WarningIssued(f"the conversation could not be summed up: {error}"))

    def compact(self, instructions: str, cancel: Cancel) -> ConversationCompacted:
        """Replace what was said by a summary, because the person wants it."""
        done = self._create_compactor().replace_by_summary("manual", instructions, cancel)
        self.tell(done)
        return done

    def _create_compactor(self) -> Compactor:
        return Compactor(self.setup, self.record, self.conversation, self.spent, self.tell, self.build_request)

    def measure_context(self) -> ContextUsage:
        """What fills the window."""
        return measure_context(self.setup, self.conversation, self.build_request())

    def encode_next_request(self) -> Mapping[str, Any]:
        """The very body of the next request."""
        return self.build_request().build_body()

    # -- what tools need

    def ask(self, question: Question) -> Object | None:
        """Ask the person; who agrees to a plan lets the work begin."""
        answer = self._person.answer(question)
        if question.kind == "plan" and answer and answer.get("approved"):
            chosen = [mode for mode in PERMISSION_MODES if mode == answer.get("mode")]
            self.setup.guard.mode = chosen[0] if chosen else "default"
            self.record.write_permission_mode(self.setup.guard.mode)
        return answer

    def delegate(self, call: str, given: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        """Let a sub-agent work."""
        return self._delegation.run_agent(call, given, cancel, progress)

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
    ) -> AgentLoop:
        return AgentLoop(
            setup, record, conversation, watch, self._person, spent=spent, shared=self.shared, agent=call, tools=tools
        )

    def consult(self, system: str, prompt: str, cancel: Cancel, tools: Sequence[Object] = ()) -> Sequence[Object]:
        """Ask the small model, outside of the conversation."""
        limit = min(8192, get_max_output_tokens(self.setup.small, self.setup.environ))
        conversation, found = AgentConversation([{"role": "user", "content": prompt}]), list[Object]()
        for _ in range(1 + _MAX_PAUSES):
            began = time.monotonic()
            request = ModelRequest(self.setup.small, conversation.messages, limit, system, tools)
            answer = self.setup.model.complete(request, cancel)
            self.spent.add_answer(answer, (time.monotonic() - began) * 1000)
            conversation.add_answer(answer.content, self.setup.small)
            found += answer.content
            if answer.stop_reason != PAUSED_STOP_REASON:
                break
        return found

    def _build_call_context(
        self, call: str, place: Workspace, cancel: Cancel, progress: Callable[[Object], None]
    ) -> CallContext:
        return CallContext(
            call=call,
            place=place,
            session=self.record.folder,
            session_id=self.record.session_id,
            files=self.shared.files,
            shells=self.shared.shells,
            desk=self,
            cancel=cancel,
            environ=self.setup.environ,
            progress=progress,
            todos=self.shared.todos,
            is_unreadable=self.setup.guard.unreadable(place),
        )


class SharedState:
    """What all actors of a session have in common."""

    def __init__(self, folder: Path) -> None:
        self.files = SeenFiles()
        self.shells = Shells(folder / "background")
        self.todos: list[Object] = []

    def collect_news(self) -> Iterator[str]:
        """What happened meanwhile, each time once."""
        yield from self.shells.take_notices()
        if self.files.list_written():
            from turnlog.agent.tools.file_changes import describe_file_changes

            yield from (str(build_reminder(text)["text"]) for text in describe_file_changes(self.files))


def _classify_error(error: ModelError) -> str:
    """What the real client calls a failure."""
    known = ((RateLimited, "rate_limit"), (ServerBusy, "server_error"), (KeyRejected, "authentication_failed"))
    return next((name for kind, name in known if isinstance(error, kind)), "unknown")
