"""The loop: ask the model, run its calls, return the results, and repeat until it makes no more calls.

Everything is on disk before an event reports it. An API error, a limit or an interrupt ends the turn but never the
program.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from turnlog.agent.model_names import get_max_output_tokens
from turnlog.agent.person import Person
from turnlog.agent.record.line_bodies import INTERRUPTED_CALL_TEXT, INTERRUPTED_TEXT, extract_content_text
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.setup import AgentSetup
from turnlog.agent.spending_tally import LimitReached, SpendingTally, count_window_tokens
from turnlog.agent.thinking_choice import build_thinking_fields
from turnlog.agent.tools.call_result import CallResult, Object, ToolError, Workspace, to_object
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.shells import Shells
from turnlog.agent.tools.tool import CallContext, Question, Tool
from turnlog.model.answer import AnswerAssembler, ModelAnswer
from turnlog.model.cancel import Cancel
from turnlog.model.events import RetryStarted
from turnlog.model.failures import KeyRejected, ModelError, RateLimited, RequestCancelled, RequestRejected, ServerBusy
from turnlog.model.request import ModelRequest

if TYPE_CHECKING:
    from turnlog.agent.file_history.history import FileHistory
    from turnlog.agent.hooks.hook_scope import HookScope
    from turnlog.agent.hooks.session_hooks import SessionLifecycle
    from turnlog.agent.hooks.turn_hooks import StopHooks
    from turnlog.agent.resume.resume import ResumableSession
    from turnlog.agent.tools.command_file import CommandFile

CONTINUE_INSTRUCTION = (
    "Output token limit hit. Continue exactly where you were cut off, without an apology and without repeating"
    " anything."
)
PAUSED_STOP_REASON = "pause_turn"
"""The stop reason of a paused answer (from long-running tools), which the server continues once it is sent back."""
_MAX_CONTINUATIONS = 3
"""How many times to continue an answer that hit its token limit."""
_MAX_PAUSES = 10
"""How many times to continue a paused answer."""

EventWatcher = Callable[[TurnEvent], None]


class AgentLoop:
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
        self.setup = setup
        self.record = record
        self.conversation = conversation
        self.spent = spent or SpendingTally()
        self.shared = shared or SharedState(record.folder)
        self.usage: Object = {}
        """The usage of the last answer."""
        self._paused: ModelAnswer | None = None
        """A paused answer, with the blocks that have not been written yet."""
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
        self._model_before = self._model_of_turn = ""
        """The models before and since a command chose one for the turn."""
        self.hooks: HookScope | None = None
        self.lifecycle: SessionLifecycle | None = None
        """The hooks of the session as a whole; a sub-agent has none."""

    def add_tools(self, tools: Mapping[str, Tool]) -> None:
        """Add tools that became known after the start, behind all others."""
        self.setup.tools = {**self.setup.tools, **tools}
        self._tools = {**self._tools, **tools}

    def attach_hooks(self, hooks: HookScope) -> None:
        """Run hooks for this actor and, if it is the session itself, for the session as a whole."""
        self.hooks = self.calls.hooks = hooks
        if self._agent is None and self.lifecycle is None:
            from turnlog.agent.hooks.session_hooks import SessionLifecycle

            self.lifecycle = SessionLifecycle(hooks, lambda path: setattr(self.shared.shells, "environment_file", path))

    # -- turns

    def run_turn(self, content: MessageContent, cancel: Cancel, **fields: Any) -> TurnEnded:
        """Run one turn, from the person's prompt until the model stops."""
        if not cancel.is_set:
            self._make_room(cancel)  # before the prompt, which would otherwise become part of the summary
        try:
            if self.hooks is not None and (ended := self._begin_with_hooks(self.hooks, content, cancel, fields)):
                return ended
            if self.hooks is None:
                self._begin_turn(content, cancel, fields)
            return self.run_to_rest(cancel)
        finally:
            self._end_command()

    def _begin_turn(self, content: MessageContent, cancel: Cancel, fields: Mapping[str, Any]) -> None:
        """Write a prompt with the text of the command that it names and the files that it mentions."""
        text = extract_content_text(content)
        if "@" not in text and not (self.setup.commands and text.startswith("/")):
            self._write_prompt(content, fields)
            self.conversation.add_user_content(content)
            return
        from turnlog.agent.commands.prepared_prompt import prepare_prompt  # most prompts need no preparation

        prepared = prepare_prompt(self, content, cancel, is_typed=fields.get("typed", True))
        self._write_prompt(prepared.content, fields)
        if prepared.expansion:
            self.record.write_prompt([{"type": "text", "text": prepared.expansion}], meta=True, turnCompanion=True)
        for file in prepared.attachments:
            self.record.write_attached_file(file.attachment, file.texts)
        if prepared.command is not None:
            self._apply_command(prepared.command)
        self.conversation.add_user_content(prepared.message)

    def _apply_command(self, command: CommandFile) -> None:
        """Apply the rules and the model of a command until the end of the turn."""
        setup = self.setup
        setup.guard.allow_until_turn_end(command.allowed, setup.place)
        model = setup.aliases.get(command.model, command.model) if command.model else None
        named = {"model": model} if model else {}
        permissions = {"type": "command_permissions", "allowedTools": list(command.allowed)}
        self.record.write_attachment({**permissions, **named})
        if model:
            self._model_before = self._model_before or setup.name
            self._model_of_turn = setup.name = model

    def _end_command(self) -> None:
        """Forget what a command set for the turn; a model that the person has chosen since then stays."""
        self.setup.guard.forget_turn_rules(self.setup.place)
        if self._model_before and self.setup.name == self._model_of_turn:
            self.setup.name = self._model_before
        self._model_before = self._model_of_turn = ""

    def _write_prompt(self, content: MessageContent, fields: Mapping[str, Any]) -> None:
        prompt = self.record.write_prompt(content, **fields)
        if self._agent is None and self.shared.history is not None:
            self.shared.history.begin_turn(prompt)

    def _begin_with_hooks(
        self, hooks: HookScope, content: MessageContent, cancel: Cancel, fields: Mapping[str, Any]
    ) -> TurnEnded | None:
        """Write a prompt with what hooks add to it; return how hooks end the turn, or None if it begins."""
        from turnlog.agent.hooks import turn_hooks

        if self.lifecycle is not None:
            if not self.lifecycle.is_started:  # a program has defined hooks since the session began
                self.lifecycle.start_session("resume" if self.record.path.exists() else "startup")
            self.conversation.add_user_content(self.lifecycle.take_context())
        self.record.announce_prompt()
        try:
            report = turn_hooks.run_hooks_for_prompt(hooks, content, cancel)
        except RequestCancelled:
            ended = TurnEnded("interrupted", "", 0, 0)
            self.tell(ended)
            return ended
        ending = turn_hooks.find_prompt_ending(report, content)
        if ending is None or ending.is_kept:
            self._begin_turn(content, cancel, fields)
        if ending is None:
            self.conversation.add_user_content(hooks.write_rows(report.rows))
            return None
        if ending.is_kept:
            self.record.write_prompt(ending.text, meta=True)
            self.conversation.add_user_content(ending.text)
        turn_hooks.record_prompt_ending(hooks, ending)
        ended = TurnEnded("prompt_blocked", ending.text, 0, 0)
        self.tell(ended)
        return ended

    def begin_agent(self, cancel: Cancel) -> None:
        """Run the hooks for the start of a sub-agent."""
        if self.hooks is not None:
            from turnlog.agent.hooks.session_hooks import start_agent

            start_agent(self.hooks, cancel, self.conversation.add_user_content)

    def run_to_rest(self, cancel: Cancel) -> TurnEnded:
        """Continue from the latest message until the model stops."""
        began, requests, text, reason = time.monotonic(), 0, "", "finished"
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
            reason, text = "error", self._record_failure(error)
        finally:
            self._paused = None
            self.conversation.drop_open_server_calls()
        milliseconds = round((time.monotonic() - began) * 1000)
        if self._agent is None:
            self.record.write_turn_end(milliseconds)
        ended = TurnEnded(reason, text, milliseconds, requests)
        if self._agent is None:
            self.tell(ended)
        return ended

    def _iterate_steps(self, cancel: Cancel) -> Iterator[str]:
        """Yield the text of each answer; a step is one request and the calls in its answer."""
        requests, continuations, pauses = 0, 0, 0
        stop_hooks = self._create_stop_hooks()
        while True:
            self.spent.check_limits(self.setup.limits, requests)
            if not self._paused:
                self._prepare_request(cancel, is_first=not requests)
            answer = self._request_with_recovery(cancel)
            requests += 1
            calls = [PendingCall(str(c.get("id")), str(c.get("name")), to_object(c.get("input"))) for c in answer.calls]
            if calls:
                try:
                    self.conversation.add_results(self.calls.run_calls(calls, self.list_tools(), cancel))
                except TurnHalted as halted:
                    self._record_halt(halted)
                    raise
                if self.calls.stop_reason is not None:
                    raise TurnStopped("hook_stopped", "")
            yield answer.text
            if calls:
                if stop_hooks is not None:
                    stop_hooks.note_calls()
                continue
            if self._paused and pauses < _MAX_PAUSES:
                pauses += 1
                continue
            if not answer.is_cut or continuations >= _MAX_CONTINUATIONS:
                if stop_hooks is None or stop_hooks.may_end(answer.text, cancel):
                    if stop_hooks is not None and stop_hooks.is_prevented:
                        raise TurnStopped("stop_hook_prevented", answer.text)
                    return
                continue
            continuations += 1
            self.record.write_prompt(CONTINUE_INSTRUCTION, meta=True)
            self.conversation.add_user_content(CONTINUE_INSTRUCTION)

    def _create_stop_hooks(self) -> StopHooks | None:
        if self.hooks is None:
            return None
        from turnlog.agent.hooks.turn_hooks import StopHooks

        return StopHooks(self.hooks, self.conversation.add_user_content)

    def _prepare_request(self, cancel: Cancel, *, is_first: bool) -> None:
        """Make room in the window, and inform the model about finished background commands and changed files."""
        if not is_first:
            self._make_room(cancel)
        for text in self.shared.collect_news() if self._agent is None else ():
            self.record.write_prompt(text, meta=True)
            self.conversation.add_user_content(text)

    def _record_halt(self, halted: TurnHalted) -> None:
        """Record that the person stopped the turn while calls were running; the model is told with the next prompt."""
        self.conversation.add_results(halted.results)
        self.record.write_interruption(for_tool=True)
        self.conversation.add_user_content(INTERRUPTED_CALL_TEXT)

    # -- requests

    def list_tools(self) -> dict[str, Tool]:
        """Return the tools that are not denied, in order."""
        return {name: tool for name, tool in self._tools.items() if not self.setup.guard.is_hidden(name)}

    def build_request(self, further: str = "", conversation: AgentConversation | None = None) -> ModelRequest:
        """Build the next request; `further` is an extra question that does not become part of the conversation."""
        source = conversation or self.conversation
        tools = [
            {"name": name, "description": tool.description, "input_schema": dict(tool.schema)}
            for name, tool in self.list_tools().items()
        ]
        max_output_tokens = get_max_output_tokens(self.setup.name, self.setup.environ)
        fields = build_thinking_fields(self.setup.name, max_output_tokens, self.setup.thinking)
        return ModelRequest(
            self.setup.name,
            source.build_messages(self.setup.name, further),
            max_output_tokens,
            self.setup.system,
            tools,
            thinking=fields.thinking,
            extra=fields.extra,
            betas=tuple(dict.fromkeys((*fields.betas, *self.setup.betas))),
        )

    def _request_with_recovery(self, cancel: Cancel) -> ModelAnswer:
        """Request an answer; if the request is too long, shorten the conversation, or use the fallback model if the
        server is overloaded, and try again.
        """
        try:
            return self._request_answer(cancel)
        except ServerBusy as error:
            if not self._switch_to_fallback(error):
                raise
            return self._request_answer(cancel)
        except RequestRejected as error:
            if self._paused or not is_too_long_error(error) or len(self.conversation.messages) < 2:
                raise
            self.tell(WarningIssued(f"{error}; shortening the conversation"))
        return self._create_compactor().ask_with_more_room(partial(self._request_answer, cancel), cancel)

    def _switch_to_fallback(self, error: ServerBusy) -> bool:
        """Continue with the fallback model; return False if there is none, or if an answer has already begun."""
        fallback, name = self.setup.fallback, self.setup.name
        if not fallback or fallback == name or self._paused:
            return False
        self.setup.name = fallback
        self.tell(WarningIssued(f"{name}: {error}; continuing with {fallback} (/model {name} switches back)"))
        return True

    def _request_answer(self, cancel: Cancel) -> ModelAnswer:
        """Request an answer and record it block by block once it ends; if it is interrupted, record its text."""
        assembler, start = AnswerAssembler(), time.monotonic()
        try:
            for event in self.setup.model.stream(self.build_request(), cancel):
                assembler.add_event(event)
                if isinstance(event, RetryStarted):
                    self.record.write_retry(event)
                    self.tell(WarningIssued(f"{event.reason}; retrying in {event.wait:.0f} s"))
                self.tell(AnswerStreamed(event, self._agent))
        except RequestCancelled:
            self._write_partial_answer(assembler.build_answer())
            raise
        answer = assembler.build_answer()
        self._write_answer(answer)
        self.conversation.add_answer(answer.content, self.setup.name)
        self.conversation.used = count_window_tokens(answer.usage) or self.conversation.used
        self.spent.add_answer(answer, (time.monotonic() - start) * 1000)
        self.usage = answer.usage
        return answer

    def _write_answer(self, answer: ModelAnswer) -> None:
        """Record an answer; if it continues a paused answer, record it under that answer's id.

        Calls to the server's own tools that have no result are held back, because the session could not be continued
        from them.
        """
        before, is_paused = self._paused, answer.stop_reason == PAUSED_STOP_REASON and not answer.calls
        if before:
            answer = replace(answer, id=before.id, content=(*before.content, *answer.content))
        open_calls = find_open_server_calls(answer.content) if is_paused else []
        settled = tuple(block for block in answer.content if block not in open_calls)
        name = self.record.write_answer(replace(answer, content=settled), goes_on=before is not None)
        self._paused = replace(answer, id=name, content=tuple(open_calls)) if is_paused else None

    def _write_partial_answer(self, answer: ModelAnswer) -> None:
        """Record the text of an answer that the person interrupted."""
        texts = tuple(block for block in answer.content if block.get("type") == "text")
        if texts:
            self.record.write_answer(replace(answer, content=texts, stop_reason=None, stop_sequence=None))
            self.conversation.add_answer(texts, self.setup.name)
        self.record.write_interruption()
        self.conversation.add_user_content(INTERRUPTED_TEXT)

    def _record_failure(self, error: ModelError) -> str:
        text = f"API Error: {error}"
        if is_too_long_error(error):
            text = f"{text}. {TOO_LONG_HINT.format(session=self.record.session_id)}"
        self.record.write_failure(text, _classify_error(error), error.status, error.kind)
        return text

    def rewind(self, found: ResumableSession | None) -> None:
        """Continue from an earlier state of this session; without one, from before the first prompt."""
        self.record.rewind(found.leaf if found else None)
        messages, thought_by, used = (found.messages, found.thought_by, found.used) if found else ([], {}, 0)
        self.conversation.replace_messages(messages, thought_by, used)
        self.shared.todos[:] = found.todos if found else []

    # -- the window

    def _make_room(self, cancel: Cancel) -> None:
        """Compact the conversation before the window is full."""
        if is_compaction_due(self.setup, self.conversation):
            compactor = self._create_compactor()
            try:
                if not compactor.clear_old_results():
                    self.tell(compactor.replace_with_summary("auto", "", cancel))
            except RequestCancelled:
                pass  # the next step notices the cancellation
            except ModelError as error:
                self.tell(WarningIssued(f"the conversation could not be summarised: {error}"))

    def compact(self, instructions: str, cancel: Cancel) -> ConversationCompacted:
        """Replace the conversation with a summary at the person's request."""
        event = self._create_compactor().replace_with_summary("manual", instructions, cancel)
        self.tell(event)
        return event

    def _create_compactor(self) -> Compactor:
        return Compactor(
            self.setup, self.record, self.conversation, self.spent, self.tell, self.build_request, self.lifecycle
        )

    def measure_context(self) -> ContextUsage:
        return measure_context(self.setup, self.conversation, self.build_request())

    def encode_next_request(self) -> Mapping[str, Any]:
        return self.build_request().build_body()

    # -- services for tools

    def ask(self, question: Question) -> Object | None:
        """Ask the person a question; if they approve a plan, plan mode ends."""
        answer = self._person.answer(question)
        if question.kind == "plan" and answer and answer.get("approved"):
            chosen = [mode for mode in PERMISSION_MODES if mode == answer.get("mode")]
            self.setup.guard.mode = chosen[0] if chosen else "default"
            self.record.write_permission_mode(self.setup.guard.mode)
        return answer

    def delegate(self, call: str, arguments: Object, cancel: Cancel, progress: Callable[[Object], None]) -> CallResult:
        return self._delegation.run_agent(call, arguments, cancel, progress)

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
    ) -> AgentLoop:
        inner = AgentLoop(
            setup, record, conversation, watch, self._person, spent=spent, shared=self.shared, agent=call, tools=tools
        )
        if self.hooks is not None:
            from turnlog.agent.hooks.hook_scope import HookActor

            actor = HookActor(record.agent_id or "", kind)
            inner.attach_hooks(self.hooks.derive_agent_scope(setup, record, inner.tell, actor))
        return inner

    def consult(self, system: str, prompt: str, cancel: Cancel, tools: Sequence[Object] = ()) -> Sequence[Object]:
        """Ask the small model a question outside the conversation."""
        limit = min(8192, get_max_output_tokens(self.setup.small, self.setup.environ))
        conversation, blocks = AgentConversation([{"role": "user", "content": prompt}]), list[Object]()
        for _ in range(1 + _MAX_PAUSES):
            start = time.monotonic()
            request = ModelRequest(self.setup.small, conversation.messages, limit, system, tools)
            answer = self.setup.model.complete(request, cancel)
            self.spent.add_answer(answer, (time.monotonic() - start) * 1000)
            conversation.add_answer(answer.content, self.setup.small)
            blocks += answer.content
            if answer.stop_reason != PAUSED_STOP_REASON:
                break
        return blocks

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
            keep_before_change=partial(self._keep_before_change, call),
            is_unreadable=self.setup.guard.build_unreadable_check(place),
        )

    def build_call_context(self, call: str, cancel: Cancel) -> CallContext:
        """Build the context of a call that the client makes itself."""
        return self._build_call_context(call, self.setup.place, cancel, lambda _: None)

    def load_skill(self, command: CommandFile, arguments: str, context: CallContext) -> None:
        """Add the text of a skill to the conversation, behind the result of the call."""
        from turnlog.agent.commands.command_expansion import CommandRefused
        from turnlog.agent.commands.prepared_prompt import expand_command

        try:
            self.calls.follow_ups[context.call] = expand_command(self, command, arguments, context.cancel)
        except CommandRefused as error:
            raise ToolError(str(error)) from None
        self.setup.guard.allow_until_turn_end(command.allowed, self.setup.place)

    def _keep_before_change(self, call: str, path: Path) -> None:
        if self.shared.history is not None:
            self.shared.history.keep_before_change(path, self.record.get_call_entry(call))


class TurnStopped(Exception):
    """Raised when a hook ends the turn."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text


class SharedState:
    """State shared by all actors in a session."""

    def __init__(self, folder: Path) -> None:
        self.files = SeenFiles()
        self.shells = Shells(folder / "background")
        self.todos: list[Object] = []
        self.history: FileHistory | None = None
        """The copies of changed files; None if none are made."""

    def collect_news(self) -> Iterator[str]:
        """Yield notices for the model about background commands and changed files, each only once."""
        yield from self.shells.take_notices()
        if self.files.list_written():
            from turnlog.agent.tools.file_changes import describe_file_changes

            yield from (str(build_reminder(text)["text"]) for text in describe_file_changes(self.files))


def _classify_error(error: ModelError) -> str:
    """Return Claude Code's name for an error."""
    known = ((RateLimited, "rate_limit"), (ServerBusy, "server_error"), (KeyRejected, "authentication_failed"))
    return next((name for kind, name in known if isinstance(error, kind)), "unknown")
