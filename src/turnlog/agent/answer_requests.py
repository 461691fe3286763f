"""Requests an actor's answers, keeps room for them in the context window, and records them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from turnlog.agent.actor import Actor
from turnlog.agent.compaction import TOO_LONG_HINT, Compactor, is_compaction_due, is_too_long_error
from turnlog.agent.conversation import AgentConversation, find_open_server_calls
from turnlog.agent.events import AnswerStreamed, ConversationCompacted, WarningIssued
from turnlog.agent.model_names import get_max_output_tokens
from turnlog.agent.record.line_bodies import INTERRUPTED_TEXT
from turnlog.agent.spending_tally import count_window_tokens
from turnlog.agent.thinking_choice import ThinkingFields, build_thinking_fields
from turnlog.model.answer import AnswerAssembler, ModelAnswer
from turnlog.model.cancel import Cancel
from turnlog.model.events import RetryStarted
from turnlog.model.failures import KeyRejected, ModelError, RateLimited, RequestCancelled, RequestRejected, ServerBusy
from turnlog.model.request import ModelRequest

_OVERLOADED_STATUS = 529
_MAX_OVERLOADED_ANSWERS = 3
"""How often in a row a server may be overloaded before the fallback model takes over, as in Claude Code."""
TASK_BUDGET_BETA = "task-budgets-2026-03-13"
PAUSED_STOP_REASON = "pause_turn"
"""The stop reason of a paused answer (from long-running tools), which the server continues once it is sent back."""


class AnswerRequests:
    """The requests of one actor."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._paused: ModelAnswer | None = None
        """A paused answer, with the blocks that have not been written yet."""
        self._busy_model = ""
        """The model that fallback models stand in for until the turn ends."""

    @property
    def is_paused(self) -> bool:
        return self._paused is not None

    def drop_paused_answer(self) -> None:
        """Forget a paused answer, and the server's calls in it that will have no result."""
        self._paused = None
        self._actor.conversation.drop_open_server_calls()

    def build_request(self, further: str = "", conversation: AgentConversation | None = None) -> ModelRequest:
        """Build the next request; `further` is an extra question that does not become part of the conversation."""
        source = conversation or self._actor.conversation
        tools = [
            {"name": name, "description": tool.description, "input_schema": dict(tool.schema)}
            for name, tool in self._actor.list_tools().items()
        ]
        max_output_tokens = get_max_output_tokens(self._actor.setup.name, self._actor.setup.environ)
        fields = build_thinking_fields(self._actor.setup.name, max_output_tokens, self._actor.setup.thinking)
        extra, betas = _add_task_budget(self._actor.setup.task_tokens, fields)
        return ModelRequest(
            self._actor.setup.name,
            source.build_messages(self._actor.setup.name, further),
            max_output_tokens,
            self._actor.setup.system,
            tools,
            thinking=fields.thinking,
            extra=extra,
            betas=tuple(dict.fromkeys((*betas, *self._actor.setup.betas))),
        )

    def request_answer(self, cancel: Cancel) -> ModelAnswer:
        """Request an answer; if the request is too long, shorten the conversation, or use the fallback model if the
        server is overloaded, and try again.
        """
        try:
            return self._request_answer(cancel)
        except ServerBusy as error:
            if not self._switch_to_fallback(error):
                raise
            return self.request_answer(cancel)
        except RequestRejected as error:
            if self._paused or not is_too_long_error(error) or len(self._actor.conversation.messages) < 2:
                raise
            self._actor.tell(WarningIssued(f"{error}; shortening the conversation"))
        return self._create_compactor().ask_with_more_room(partial(self._request_answer, cancel), cancel)

    def _switch_to_fallback(self, error: ServerBusy) -> bool:
        """Continue with the next fallback model; return False if there is none, or if an answer has already begun."""
        setup, name, fallback = self._actor.setup, self._actor.setup.name, self._find_fallback()
        if fallback is None:
            return False
        self._busy_model = self._busy_model or name
        setup.name = fallback
        self._actor.tell(WarningIssued(f"{name}: {error}; continuing this turn with {fallback}"))
        return True

    def _give_up_overloaded_model(self, retry: RetryStarted) -> None:
        """Raise ServerBusy instead of retrying if the fallback model should answer."""
        is_overloaded = retry.status == _OVERLOADED_STATUS and retry.attempt > _MAX_OVERLOADED_ANSWERS
        if is_overloaded and self._find_fallback() is not None:
            raise ServerBusy(retry.reason, status=retry.status)

    def _find_fallback(self) -> str | None:
        """Return the next fallback model, unless an answer has already begun."""
        name, names = self._actor.setup.name, [*self._actor.setup.fallbacks]
        later = names[names.index(name) + 1 :] if name in names else names
        return later[0] if later and not self._paused else None

    def restore_model(self) -> None:
        """Try the first model again in the next turn, unless the person has chosen another one."""
        if self._busy_model and self._actor.setup.name in self._actor.setup.fallbacks:
            self._actor.setup.name = self._busy_model
        self._busy_model = ""

    def _request_answer(self, cancel: Cancel) -> ModelAnswer:
        """Request an answer and record it block by block once it ends; if it is interrupted, record its text."""
        assembler, start = AnswerAssembler(), time.monotonic()
        try:
            for event in self._actor.setup.model.stream(self.build_request(), cancel):
                assembler.add_event(event)
                if isinstance(event, RetryStarted):
                    self._give_up_overloaded_model(event)
                    self._actor.record.write_retry(event)
                    self._actor.tell(WarningIssued(f"{event.reason}; retrying in {event.wait:.0f} s"))
                self._actor.tell(AnswerStreamed(event, self._actor.agent))
        except RequestCancelled:
            self._write_partial_answer(assembler.build_answer())
            raise
        answer = assembler.build_answer()
        self._write_answer(answer)
        self._actor.conversation.add_answer(answer.content, self._actor.setup.name)
        self._actor.conversation.used = count_window_tokens(answer.usage) or self._actor.conversation.used
        self._actor.spent.add_answer(answer, (time.monotonic() - start) * 1000)
        self._actor.usage = answer.usage
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
        name = self._actor.record.write_answer(replace(answer, content=settled), goes_on=before is not None)
        self._paused = replace(answer, id=name, content=tuple(open_calls)) if is_paused else None

    def _write_partial_answer(self, answer: ModelAnswer) -> None:
        """Record the text of an answer that the person interrupted."""
        texts = tuple(block for block in answer.content if block.get("type") == "text")
        if texts:
            self._actor.record.write_answer(replace(answer, content=texts, stop_reason=None, stop_sequence=None))
            self._actor.conversation.add_answer(texts, self._actor.setup.name)
        self._actor.record.write_interruption()
        self._actor.conversation.add_user_content(INTERRUPTED_TEXT)

    def record_failure(self, error: ModelError) -> str:
        text = f"API Error: {error}"
        if is_too_long_error(error):
            text = f"{text}. {TOO_LONG_HINT.format(session=self._actor.record.session_id)}"
        self._actor.record.write_failure(text, _classify_error(error), error.status, error.kind)
        return text

    def make_room(self, cancel: Cancel) -> None:
        """Compact the conversation before the window is full."""
        if is_compaction_due(self._actor.setup, self._actor.conversation):
            compactor = self._create_compactor()
            try:
                if not compactor.clear_old_results():
                    self._actor.tell(compactor.replace_with_summary("auto", "", cancel))
            except RequestCancelled:
                pass  # the next step notices the cancellation
            except ModelError as error:
                self._actor.tell(WarningIssued(f"the conversation could not be summarised: {error}"))

    def compact(self, instructions: str, cancel: Cancel) -> ConversationCompacted:
        """Replace the conversation with a summary at the person's request."""
        event = self._create_compactor().replace_with_summary("manual", instructions, cancel)
        self._actor.tell(event)
        return event

    def _create_compactor(self) -> Compactor:
        actor = self._actor
        return Compactor(
            actor.setup,
            actor.record,
            actor.conversation,
            actor.spent,
            actor.tell,
            self.build_request,
            actor.lifecycle,
        )


def _add_task_budget(tokens: int | None, fields: ThinkingFields) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the further fields and betas of a request that tells the model its budget."""
    if tokens is None:
        return fields.extra, fields.betas
    config = {**fields.extra.get("output_config", {}), "task_budget": {"type": "tokens", "total": tokens}}
    return {**fields.extra, "output_config": config}, (*fields.betas, TASK_BUDGET_BETA)


def _classify_error(error: ModelError) -> str:
    """Return Claude Code's name for an error."""
    known = ((RateLimited, "rate_limit"), (ServerBusy, "server_error"), (KeyRejected, "authentication_failed"))
    return next((name for kind, name in known if isinstance(error, kind)), "unknown")
