"""Reports that a sub-agent has come to an end: they stand in the stream of the one that started it."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.entries.entry import Entry
from turnlog.session.agents import SubAgent
from turnlog.session.calls import AGENT_TOOLS, Call
from turnlog.session.failures import to_result_text
from turnlog.trace.spans.stream import ActorStream
from turnlog.trace.spans.stretches import EndReport

_LAUNCHED_TEXT = "Async agent launched"
"""What the result says of an agent in the background; in sub-agents' files some clients write nothing else."""


def iter_end_reports(
    agent: SubAgent, call: Call, caller: ActorStream, main: ActorStream, turn: Entry
) -> Iterator[EndReport]:
    """When the end of a sub-agent was reported, and when the session had gone on after that."""
    reports = sorted(_iter_report_times(agent, call, caller, main))
    yield from (EndReport(report, certain=False) for report in reports)
    # An agent that was stopped does not rest. That no line of it is merely late shows when the next turn begins.
    later = (work.start for work in main.works if work.start.index > turn.index and work.is_asked)
    if reports and (asked := next(later, None)) and (time := main.clock.read_time(asked)) is not None:
        yield from (EndReport(max(report, time), certain=True) for report in reports)


def _iter_report_times(agent: SubAgent, call: Call, caller: ActorStream, main: ActorStream) -> Iterator[int]:
    """The times of the result of its call, and of notifications."""
    if call.result is not None and not _is_launch_result(caller, call):
        yield from _iter_entry_time(caller, call.result)
    for stream in (main,) if caller is main else (main, caller):
        for notification in stream.notifications:
            if call.id == notification.notice.call_id or agent.agent_id == notification.notice.task_id:
                yield from _iter_entry_time(stream, notification.entry)


def _is_launch_result(caller: ActorStream, call: Call) -> bool:
    if call.name not in AGENT_TOOLS:
        return False
    detail = caller.session.read_detail(call)
    return detail.outcome == "launched" or to_result_text(detail.result).startswith(_LAUNCHED_TEXT)


def _iter_entry_time(stream: ActorStream, entry: Entry) -> Iterator[int]:
    if (time := stream.clock.read_time(entry)) is not None:
        yield time
