"""The calls of one actor: which ones have no result yet, which continue in the background, and how each ended.

Memory is bounded: only a limited number of calls, tasks and early results is tracked, each reduced to the fields that
later events need.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeVar

from turnlog.live.activity import MAX_OPEN_CALLS, STOPPING_TOOLS, find_task_reference, is_task_over
from turnlog.live.events.categories import MAX_TOOL_NAME_CHARS, find_category
from turnlog.live.events.event import (
    MAX_EVENT_TEXT_CHARS,
    AgentFinished,
    AgentStarted,
    AnyEvent,
    CallFinished,
    Category,
    ErrorOccurred,
    Outcome,
    PlanProposed,
    QuestionAsked,
    TodosChanged,
    ToolCalled,
    WorkShipped,
)
from turnlog.live.events.line_bodies import AnswerBlock, ResultBlock, ResultLine
from turnlog.live.events.shipments import (
    Shipment,
    ShipmentKind,
    confirm_shipments,
    find_intended_shipments,
)
from turnlog.live.events.todo_list import TODO_TOOLS, TodoList, keep_todo_input
from turnlog.render.call_titles import build_call_title
from turnlog.render.values import pick_text, to_dict, to_dict_list
from turnlog.session.calls import AGENT_TOOLS, judge_call_outcome
from turnlog.session.clock import parse_timestamp
from turnlog.session.failures import has_failed
from turnlog.session.notices import Notice

MAX_ID_CHARS = 200
_MAX_EARLY_RESULTS = 50
_MAX_QUESTIONS = 20
_MAX_SHIPPED_URLS = 1000
_OUTCOMES: dict[str, Outcome] = {
    "answered": "ok",
    "error": "failed",
    "denied": "rejected",
    "interrupted": "interrupted",
    "launched": "background",
}
_TASK_OUTCOMES: dict[str | None, Outcome] = {"failed": "failed", "killed": "interrupted", "stopped": "interrupted"}
_RUNNING_STATUSES = frozenset({"running", "pending", "in_progress", "queued"})
_ASYNC_AGENT_WORDS = "Async agent launched successfully"
_AGENT_ID_WORDS = re.compile(r"^agentId: ([\w-]{1,200})", re.MULTILINE)
_BACKGROUND_WORDS = re.compile(r"Command running in background with ID: ([\w-]{1,200})")
_MAX_SEARCHED_CHARS = 4000
_FAILED_EXIT = re.compile(r"exit code [1-9]")

EventPlace = dict[str, Any]
"""The fields that all events of an entry share."""


class TrackedCall(NamedTuple):
    """A call that has no result yet or continues in the background."""

    id: str
    tool: str
    category: Category
    time: str | None
    todos: dict[str, Any] | None = None
    """The input of a tool that changes the list of tasks."""
    shipments: tuple[ShipmentKind, ...] = ()
    task: str = ""
    """The background task that it refers to."""

    @property
    def is_agent(self) -> bool:
        return self.tool in AGENT_TOOLS


class _CallResult(NamedTuple):
    """The result of a call, reduced to what events need."""

    outcome: Outcome
    text: str
    fields: dict[str, Any]
    shipments: list[Shipment]


class CallTracker:
    """Turns calls, results and notifications into events."""

    def __init__(self) -> None:
        self.open_calls: dict[str, TrackedCall] = {}
        self._background: dict[str, TrackedCall] = {}
        """Calls that continue after their result, by task id."""
        self._early: dict[str, tuple[EventPlace, ResultBlock, ResultLine]] = {}
        """Results that were written before their calls."""
        self._todos = TodoList()
        self._shipped_urls: dict[str, None] = {}

    # -- calls

    def start_call(self, at: EventPlace, block: AnswerBlock, call_id: str, cwd: str | None) -> list[AnyEvent]:
        """Return the events of a call, and those of its result if the result was written first."""
        tool = block.name[:MAX_TOOL_NAME_CHARS] if isinstance(block.name, str) else ""
        arguments = block.input
        call = TrackedCall(
            call_id,
            tool,
            find_category(tool),
            at["time"],
            keep_todo_input(tool, arguments) if tool in TODO_TOOLS else None,
            find_intended_shipments(tool, arguments),
            find_task_reference(tool, arguments)[:MAX_ID_CHARS],
        )
        _add_bounded(self.open_calls, call_id, call, MAX_OPEN_CALLS)
        title = build_call_title(tool, arguments, cwd)
        events: list[AnyEvent] = [ToolCalled(**at, call=call_id, tool=tool, category=call.category, title=title)]
        events += _describe_special_call(at, call, to_dict(arguments))
        if early := self._early.pop(call_id, None):
            events += self._finish_call(*early)
        return events

    # -- results

    def add_results(self, at: EventPlace, line: ResultLine) -> list[AnyEvent]:
        """Return the events of the results in a user entry."""
        return [
            event
            for block in line.blocks
            if block.type == "tool_result"
            for event in self._finish_call(at, block, line)
        ]

    def finish_server_call(self, at: EventPlace, block: AnswerBlock) -> list[AnyEvent]:
        """Return the events of a result that the API itself added to an answer."""
        call = self.open_calls.pop(to_id(block.tool_use_id), None)
        if call is None:
            return []
        kind = block.content.get("type") if isinstance(block.content, dict) else ""
        outcome: Outcome = "failed" if isinstance(kind, str) and kind.endswith("error") else "ok"
        return self._describe_result(at, call, _CallResult(outcome, "", {}, []))

    def _finish_call(self, at: EventPlace, block: ResultBlock, line: ResultLine) -> list[AnyEvent]:
        call = self.open_calls.pop(call_id := to_id(block.tool_use_id), None)
        if call is None:
            if call_id:
                _add_bounded(self._early, call_id, (at, *_detach_result(block, line)), _MAX_EARLY_RESULTS)
            return []
        return self._describe_result(at, call, _read_result(call, block, line))

    def _describe_result(self, at: EventPlace, call: TrackedCall, result: _CallResult) -> list[AnyEvent]:
        text = result.text[:MAX_EVENT_TEXT_CHARS]
        events: list[AnyEvent] = [_build_call_finished(at, call, result.outcome, text)]
        if result.outcome == "failed":
            events.append(ErrorOccurred(**at, source="call", text=text, call=call.id))
        if call.is_agent:
            events += self._finish_agent(at, call, result)
        elif result.outcome == "background":
            self._keep_background_call(call, to_id(result.fields.get("backgroundTaskId")))
        if result.outcome != "ok":
            return events
        if call.task and (call.tool in STOPPING_TOOLS or is_task_over(result.fields)):
            events += self._finish_referenced_task(at, call, result.fields)
        if call.todos is not None:
            items = self._todos.apply_call(call.tool, call.todos, result.fields, result.text)
            events += [] if items is None else [TodosChanged(**at, items=items)]
        for shipment in result.shipments:
            events += self.ship(at, shipment)
        return events

    # -- agents and background tasks

    def _finish_agent(self, at: EventPlace, call: TrackedCall, result: _CallResult) -> list[AnyEvent]:
        agent = to_id(result.fields.get("agentId")) or to_id(result.fields.get("agent_id"))
        if result.outcome == "background":
            self._keep_background_call(call, agent)
            return []
        return [AgentFinished(**at, call=call.id, agent=agent or None, outcome=result.outcome)]

    def _keep_background_call(self, call: TrackedCall, task: str) -> None:
        kept = TrackedCall(call.id, call.tool, call.category, call.time)
        _add_bounded(self._background, task or f"@{call.id}", kept, MAX_OPEN_CALLS)

    def _finish_referenced_task(self, at: EventPlace, call: TrackedCall, fields: dict[str, Any]) -> list[AnyEvent]:
        """Return the end of a task that a call stopped, or whose end the call reported."""
        task = to_dict(fields.get("task"))
        status = "stopped" if call.tool in STOPPING_TOOLS else task.get("status") or fields.get("status")
        return self.finish_task(at, Notice(call.task, None, str(status), None))

    def finish_task(self, at: EventPlace, notice: Notice) -> list[AnyEvent]:
        """Return the end of exactly the background task that a notification reports."""
        if notice.status in _RUNNING_STATUSES:
            return []
        key = (notice.task_id or "")[:MAX_ID_CHARS]
        if key not in self._background:
            call_id = (notice.call_id or "")[:MAX_ID_CHARS]
            key = next((task for task, call in self._background.items() if call_id and call.id == call_id), "")
        call = self._background.pop(key, None)
        if call is None:
            return []
        outcome = _TASK_OUTCOMES.get(notice.status, "ok")
        if call.is_agent:
            agent = None if key.startswith("@") else key
            return [AgentFinished(**at, call=call.id, agent=agent, outcome=outcome)]
        summary = notice.summary or ""
        if outcome == "ok" and _FAILED_EXIT.search(summary):
            outcome = "failed"
        events: list[AnyEvent] = [_build_call_finished(at, call, outcome, summary[:MAX_EVENT_TEXT_CHARS])]
        if outcome == "failed":
            events.append(ErrorOccurred(**at, source="call", text=summary[:MAX_EVENT_TEXT_CHARS], call=call.id))
        return events

    def abandon_calls(self, at: EventPlace) -> list[AnyEvent]:
        """Return the end of calls whose results will never arrive, because the turn is over."""
        events: list[AnyEvent] = []
        place: EventPlace = {**at, "confidence": "inferred"}
        for call in self.open_calls.values():
            events.append(_build_call_finished(place, call, "interrupted", ""))
            if call.is_agent:
                events.append(AgentFinished(**place, call=call.id, outcome="interrupted"))
        self.open_calls.clear()
        return events

    # -- pushes and pull requests

    def ship(self, at: EventPlace, shipment: Shipment) -> list[AnyEvent]:
        """Return a push or a pull request; return each pull request only once, even if it is mentioned again."""
        if shipment.url is not None:
            if shipment.url in self._shipped_urls:
                return []
            _add_bounded(self._shipped_urls, shipment.url, None, _MAX_SHIPPED_URLS)
        return [WorkShipped(**{**at, "confidence": shipment.confidence}, kind=shipment.kind, url=shipment.url)]


def to_id(value: object) -> str:
    """Return the id of a call or task; return an empty string if the value is not an id."""
    return value[:MAX_ID_CHARS] if isinstance(value, str) else ""


def compute_seconds(start: str | None, end: str | None) -> float | None:
    """Return the seconds between two timestamps; None if one is missing or they are in the wrong order."""
    then, now = parse_timestamp(start), parse_timestamp(end)
    if then is None or now is None or now < then:
        return None
    return round((now - then).total_seconds(), 3)


def _build_call_finished(at: EventPlace, call: TrackedCall, outcome: Outcome, text: str) -> CallFinished:
    return CallFinished(
        **at,
        call=call.id,
        tool=call.tool,
        category=call.category,
        outcome=outcome,
        text=text,
        seconds=compute_seconds(call.time, at["time"]),
    )


def _describe_special_call(at: EventPlace, call: TrackedCall, arguments: dict[str, Any]) -> list[AnyEvent]:
    """Return the event of a call that starts an agent, asks a question or proposes a plan."""
    if call.is_agent:
        kind = pick_text(arguments.get("subagent_type"))[:MAX_ID_CHARS]
        description = pick_text(arguments.get("description"))[:MAX_ID_CHARS]
        return [AgentStarted(**at, call=call.id, agent_type=kind, description=description)]
    if call.tool == "AskUserQuestion":
        asked = to_dict_list(arguments.get("questions")) or [arguments]
        texts = [pick_text(item.get("question"), item.get("header")) for item in asked[:_MAX_QUESTIONS]]
        return [QuestionAsked(**at, call=call.id, questions=[text[:MAX_EVENT_TEXT_CHARS] for text in texts if text])]
    if call.tool == "ExitPlanMode":
        return [PlanProposed(**at, call=call.id, text=pick_text(arguments.get("plan"))[:MAX_EVENT_TEXT_CHARS])]
    return []


def _read_result(call: TrackedCall, block: ResultBlock, line: ResultLine) -> _CallResult:
    text = block.read_text()
    failed = has_failed(block.is_error, text, line.record)
    body = {"toolUseResult": line.record, "toolDenialKind": line.denial}
    outcome = _OUTCOMES[judge_call_outcome(body, text, is_error=failed)]
    fields = line.fields
    if outcome == "ok" and line.record is None:  # so it is in the files of many sub-agents
        outcome, fields = _read_result_words(call, text)
    shipments = confirm_shipments(call.shipments, text) if call.shipments and outcome == "ok" else []
    return _CallResult(outcome, text, fields, shipments)


def _read_result_words(call: TrackedCall, text: str) -> tuple[Outcome, dict[str, Any]]:
    """Read from a result's text, if there is no record, whether the call continues and the id of its agent."""
    if call.is_agent:
        named = _AGENT_ID_WORDS.search(text[-_MAX_SEARCHED_CHARS:])
        fields = {"agentId": named[1]} if named else {}
        return "background" if text.startswith(_ASYNC_AGENT_WORDS) else "ok", fields
    started = _BACKGROUND_WORDS.match(text) if call.category == "run" else None
    return ("background", {"backgroundTaskId": started[1]}) if started else ("ok", {})


def _detach_result(block: ResultBlock, line: ResultLine) -> tuple[ResultBlock, ResultLine]:
    """Copy a result without the bytes of its line, which may be huge."""
    text = block.read_text()[: 4 * MAX_EVENT_TEXT_CHARS]
    kept = ResultBlock(block.type, block.tool_use_id, block.is_error, text)
    names = ("interrupted", "isAsync", "backgroundTaskId", "agentId", "agent_id", "taskId", "status", "success")
    record = line.record
    if isinstance(record, dict):
        record = {name: record[name] for name in names if isinstance(record.get(name), str | bool)}
    elif isinstance(record, str):
        record = record[:MAX_EVENT_TEXT_CHARS]
    return kept, ResultLine([], record, bool(line.denial))


_Value = TypeVar("_Value")


def _add_bounded(values: dict[str, _Value], key: str, value: _Value, limit: int) -> None:
    """Add a value; if there are too many, remove the oldest."""
    values[key] = value
    if len(values) > limit:
        del values[next(iter(values))]
