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

from turnlog.agent.calls import Call, Calls, Halted
from turnlog.agent.compaction import HINT, Compaction, is_due, is_too_long
from turnlog.agent.context import Context, context
from turnlog.agent.conversation import Content, Conversation, open_calls, reminder
from turnlog.agent.delegation import Delegation
from turnlog.agent.events import Compacted, Event, Said, Streamed, TurnEnded, Warned
from turnlog.agent.models import most_tokens, thinking
from turnlog.agent.permissions.decision import MODES
from turnlog.agent.person import Person
from turnlog.agent.record.lines import INTERRUPTED, INTERRUPTED_CALL
from turnlog.agent.record.record import Record
from turnlog.agent.setup import Setup
from turnlog.agent.spending import Exhausted, Spent, filled
from turnlog.agent.tools.files import Files
from turnlog.agent.tools.shells import Shells
from turnlog.agent.tools.tool import Object, Place, Question, Result, Scene, Tool, an_object
from turnlog.model.answer import Answer, Folding
from turnlog.model.cancel import Cancel
from turnlog.model.events import Retrying
from turnlog.model.failures import Busied, Cancelled, ModelError, RateLimited, Rejected, Unauthorised
from turnlog.model.request import Request

GO_ON = (
    "Output token limit hit. Go on exactly where you were cut off, without an apology and without repeating anything."
)
BETWEEN_CALLS = "interleaved-thinking-2025-05-14"
"""What lets a model that is to think do so behind results too."""
PAUSED = "pause_turn"
"""Why an answer ends that the server goes on with, if it is given back: its own tools need longer."""
_LONGER = 3
"""How often an answer that was cut by its limit is gone on with."""
_PAUSES = 10
"""How often one is that was paused."""

Watch = Callable[[Event], None]


class Loop:
    """One actor at work: the session itself, or a sub-agent."""

    def __init__(
        self,
        setup: Setup,
        record: Record,
        conversation: Conversation,
        watch: Watch,
        person: Person,
        *,
        spent: Spent | None = None,
        shared: Shared | None = None,
        agent: str | None = None,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self.setup = setup
        self.record = record
        self.conversation = conversation
        self.spent = spent or Spent()
        self.shared = shared or Shared(record.folder)
        self.usage: Object = {}
        """Of the last answer."""
        self._paused: Answer | None = None
        """An answer that the server will go on with, and what of it is not written yet."""
        self._person = person
        self._agent = agent
        self._tools = dict(tools if tools is not None else setup.tools)
        lock = threading.Lock()

        def told(event: Event) -> None:
            with lock:
                watch(event)

        self.tell = told
        self.calls = Calls(setup, record, person, told, self._scene, agent)
        record.watch = lambda entry: told(Said(entry, agent))
        self._delegation = Delegation(self, watch, person)

    # -- turns

    def turn(self, content: Content, cancel: Cancel, **fields: Any) -> TurnEnded:
        """One turn of a person: from what they say until the model comes to rest."""
        if not cancel.is_set:
            self._make_room(cancel)  # before the prompt: a summary would swallow it
        self.record.prompt(content, **fields)
        self.conversation.said(content)
        return self.work(cancel)

    def work(self, cancel: Cancel) -> TurnEnded:
        """Go on from what was said last."""
        began, asked, text, reason = time.monotonic(), 0, "", "finished"
        try:
            for asked, text in enumerate(self._steps(cancel), 1):  # noqa: B007 - where it ended is what is wanted
                pass
        except Exhausted as limit:
            reason, text = limit.reason, str(limit)
        except (Halted, Cancelled):
            reason = "interrupted"
        except ModelError as error:
            reason, text = "error", self._failed(error)
        finally:
            self._paused = None
            self.conversation.rest()
        took = round((time.monotonic() - began) * 1000)
        if self._agent is None:
            self.record.turn_ended(took)
        ended = TurnEnded(reason, text, took, asked)
        if self._agent is None:
            self.tell(ended)
        return ended

    def _steps(self, cancel: Cancel) -> Iterator[str]:
        """The text of each answer; a step is a request, and the calls of its answer."""
        asked, longer, pauses = 0, 0, 0
        while True:
            self.spent.check(self.setup.limits, asked)
            if not self._paused:
                self._prepare(cancel, is_first=not asked)
            answer = self._asked(cancel)
            asked += 1
            calls = [Call(str(c.get("id")), str(c.get("name")), an_object(c.get("input"))) for c in answer.calls]
            if calls:
                try:
                    self.conversation.resulted(self.calls.run(calls, self.tools(), cancel))
                except Halted as halted:
                    self._halted(halted)
                    raise
            yield answer.text
            if calls:
                continue
            if self._paused and pauses < _PAUSES:
                pauses += 1
                continue
            if not answer.is_cut or longer >= _LONGER:
                return
            longer += 1
            self.record.prompt(GO_ON, meta=True)
            self.conversation.said(GO_ON)

    def _prepare(self, cancel: Cancel, *, is_first: bool) -> None:
        """Make room; tell the model which commands in the background have ended, and what others did to its files."""
        if not is_first:
            self._make_room(cancel)
        for text in self.shared.news() if self._agent is None else ():
            self.record.prompt(text, meta=True)
            self.conversation.said(text)

    def _halted(self, halted: Halted) -> None:
        """The person stopped it while calls were at work: the model finds that out with the next prompt."""
        self.conversation.resulted(halted.results)
        self.record.interrupted(for_tool=True)
        self.conversation.said(INTERRUPTED_CALL)

    # -- requests

    def tools(self) -> dict[str, Tool]:
        """The tools that may be used, in their order."""
        return {name: tool for name, tool in self._tools.items() if not self.setup.guard.is_hidden(name)}

    def request(self, further: str = "", conversation: Conversation | None = None) -> Request:
        """What would be sent now; `further` is asked beyond what was said, without becoming a part of it."""
        said = conversation or self.conversation
        offered = [
            {"name": name, "description": tool.description, "input_schema": dict(tool.schema)}
            for name, tool in self.tools().items()
        ]
        most = most_tokens(self.setup.name, self.setup.environ)
        thought = thinking(most, self.setup.environ)
        return Request(
            self.setup.name,
            said.to_send(self.setup.name, further),
            most,
            self.setup.system,
            offered,
            thinking=thought,
            betas=(BETWEEN_CALLS,) if thought else (),
        )

    def _asked(self, cancel: Cancel) -> Answer:
        """Ask the model; what the API finds too long is made shorter and asked again."""
        try:
            return self._answer(cancel)
        except Rejected as error:
            if self._paused or not is_too_long(error) or len(self.conversation.messages) < 2:
                raise
            self.tell(Warned(f"{error}; room is made in the conversation"))
        return Compaction(self).rescued(partial(self._answer, cancel), cancel)

    def _answer(self, cancel: Cancel) -> Answer:
        """Ask the model; the answer is written block by block when it is complete, or as far as it came."""
        folding, began = Folding(), time.monotonic()
        try:
            for event in self.setup.model.stream(self.request(), cancel):
                folding.add(event)
                if isinstance(event, Retrying):
                    self.record.retrying(event)
                    self.tell(Warned(f"{event.reason}; trying again in {event.wait:.0f} s"))
                self.tell(Streamed(event, self._agent))
        except Cancelled:
            self._broken_off(folding.answer())
            raise
        answer = folding.answer()
        self._written(answer)
        self.conversation.answered(answer.content, self.setup.name)
        self.conversation.used = filled(answer.usage) or self.conversation.used
        self.spent.add(answer, (time.monotonic() - began) * 1000)
        self.usage = answer.usage
        return answer

    def _written(self, answer: Answer) -> None:
        """Write an answer down; what follows a pause belongs to the answer before: only so do both clients send it.

        Calls of the server's that it has not answered yet wait: nobody could go on from there without the rest.
        """
        before, is_paused = self._paused, answer.stop_reason == PAUSED and not answer.calls
        if before:
            answer = replace(answer, id=before.id, content=(*before.content, *answer.content))
        waiting = open_calls(answer.content) if is_paused else []
        told = tuple(block for block in answer.content if block not in waiting)
        name = self.record.answer(replace(answer, content=told), goes_on=before is not None)
        self._paused = replace(answer, id=name, content=tuple(waiting)) if is_paused else None

    def _broken_off(self, answer: Answer) -> None:
        """The person stopped it while the model spoke: what was said stays."""
        said = tuple(block for block in answer.content if block.get("type") == "text")
        if said:
            self.record.answer(replace(answer, content=said, stop_reason=None, stop_sequence=None))
            self.conversation.answered(said, self.setup.name)
        self.record.interrupted()
        self.conversation.said(INTERRUPTED)

    def _failed(self, error: ModelError) -> str:
        text = f"API Error: {error}"
        if is_too_long(error):
            text = f"{text}. {HINT.format(session=self.record.session_id)}"
        self.record.failed(text, _named(error), error.status, error.kind)
        return text

    # -- the window

    def _make_room(self, cancel: Cancel) -> None:
        """Before the window is full, older messages make room."""
        if is_due(self.setup, self.conversation):
            compaction = Compaction(self)
            try:
                if not compaction.cleared_enough():
                    self.tell(compaction.summarised("auto", "", cancel))
            except Cancelled:
                pass  # whoever stopped it is heard at the next step
            except ModelError as error:
                self.tell(Warned(f"the conversation could not be summed up: {error}"))

    def compact(self, instructions: str, cancel: Cancel) -> Compacted:
        """Replace what was said by a summary, because the person wants it."""
        done = Compaction(self).summarised("manual", instructions, cancel)
        self.tell(done)
        return done

    def context(self) -> Context:
        """What fills the window."""
        return context(self.setup, self.conversation, self.request())

    def sent(self) -> Mapping[str, Any]:
        """The very body of the next request."""
        return self.request().body()

    # -- what tools need

    def ask(self, question: Question) -> Object | None:
        """Ask the person; who agrees to a plan lets the work begin."""
        answer = self._person.answer(question)
        if question.kind == "plan" and answer and answer.get("approved"):
            chosen = [mode for mode in MODES if mode == answer.get("mode")]
            self.setup.guard.mode = chosen[0] if chosen else "default"
            self.record.permitting(self.setup.guard.mode)
        return answer

    def delegate(self, call: str, given: Object, cancel: Cancel, progress: Callable[[Object], None]) -> Result:
        """Let a sub-agent work."""
        return self._delegation.run(call, given, cancel, progress)

    def consult(self, system: str, prompt: str, cancel: Cancel, tools: Sequence[Object] = ()) -> Sequence[Object]:
        """Ask the small model, outside of the conversation."""
        limit = min(8192, most_tokens(self.setup.small, self.setup.environ))
        conversation, found = Conversation([{"role": "user", "content": prompt}]), list[Object]()
        for _ in range(1 + _PAUSES):
            began = time.monotonic()
            request = Request(self.setup.small, conversation.messages, limit, system, tools)
            answer = self.setup.model.complete(request, cancel)
            self.spent.add(answer, (time.monotonic() - began) * 1000)
            conversation.answered(answer.content, self.setup.small)
            found += answer.content
            if answer.stop_reason != PAUSED:
                break
        return found

    def _scene(self, call: str, place: Place, cancel: Cancel, progress: Callable[[Object], None]) -> Scene:
        return Scene(
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


class Shared:
    """What all actors of a session have in common."""

    def __init__(self, folder: Path) -> None:
        self.files = Files()
        self.shells = Shells(folder / "background")
        self.todos: list[Object] = []

    def news(self) -> Iterator[str]:
        """What happened meanwhile, each time once."""
        yield from self.shells.notices()
        if self.files.written():
            from turnlog.agent.tools.changes import changes

            yield from (str(reminder(text)["text"]) for text in changes(self.files))


def _named(error: ModelError) -> str:
    """What the real client calls a failure."""
    known = ((RateLimited, "rate_limit"), (Busied, "server_error"), (Unauthorised, "authentication_failed"))
    return next((name for kind, name in known if isinstance(error, kind)), "unknown")
