"""`turnlog trace status`: show what was sent to each tracing backend and what is waiting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.trace_outbox import TargetState, TraceStatus
    from turnlog.cli.terminal import TerminalScreen

_DEFINITION = (
    "Numbers are spans, counted once per target. Sent: accepted by the server. Pending: waiting in the outbox."
    " Quarantined: refused by the server. Repeated: sent again because it was unknown whether they had arrived."
)
_TABLE_HEAD = ("target", "sent", "pending", "quarantined", "repeated", "oldest pending", "last success")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def status(as_json: bool) -> None:
    """Show what was sent to each target and what is waiting.

    If a server can't be reached, turnlog tries again when the hook runs after the next turn, or when you run `turnlog
    trace flush`. Spans that a server refuses are quarantined, together with the server's message, until you run
    `turnlog trace flush --quarantined`.

    \b
    Examples:
      turnlog trace status
      turnlog trace status --json | jq '.targets[].pending_spans'
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.trace_outbox import read_trace_status
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    state = read_trace_status(config=config)
    if as_json:
        print_json(to_document(state))
    else:
        print_lines(_render_status(state, detect_screen(config.color)))


def _render_status(state: TraceStatus, screen: TerminalScreen) -> Iterator[str]:
    from turnlog.cli import time_format
    from turnlog.cli.rows import render_table_rows
    from turnlog.cli.terminal import to_visible_line
    from turnlog.trace.targets.targets import NO_TARGET_REMEDY

    if state.problem:
        yield f"The settings are invalid: {to_visible_line(state.problem)}"
    if state.trouble:
        yield (f"In the background, {_format_ago(state.trouble.time)}: {to_visible_line(state.trouble.words)}")
    if not state.targets:
        yield from screen.wrap_prose(f"Nothing is traced: no target is configured. To add one, {NO_TARGET_REMEDY}.")
        return
    yield from render_table_rows(_TABLE_HEAD, map(_build_cells, state.targets), screen, numbers=range(1, 5))
    for item in state.targets:
        yield from (f"{to_visible_line(item.target)}: {to_visible_line(note)}" for note in _list_notes(item))
    yield from screen.wrap_prose(_DEFINITION, "dim")
    yield f"The outbox is {to_visible_line(str(state.outbox))} ({time_format.format_size(state.bytes)})."


def _build_cells(item: TargetState) -> tuple[str, ...]:
    from turnlog.cli.rows import format_table_number
    from turnlog.cli.terminal import to_visible_line

    amounts = (item.sent_spans, item.pending_spans, item.quarantined_spans, item.repeated_spans)
    times = (item.oldest, item.last_success)
    return (
        to_visible_line(item.target),
        *map(format_table_number, amounts),
        *("·" if time is None else _format_ago(time) for time in times),
    )


def _list_notes(item: TargetState) -> Iterator[str]:
    """Describe what the numbers don't show."""
    from turnlog.cli import time_format
    from turnlog.render.figures import format_count

    if not item.configured and item.pending_batches:
        yield "not configured; its pending spans are kept in the outbox"
    if item.held_back and item.held_since is not None:
        yield f"new spans have been held back since {time_format.format_client_time(item.held_since)}: {item.held_back}"
    if item.last_error and item.failed is not None and item.pending_batches:
        yield f"failed {_format_ago(item.failed)}: {item.last_error}{_describe_retry(item)}"
    if item.quarantined_batches:
        refused = f"{format_count(item.quarantined_batches, 'request')} refused ({item.refusal})"
        yield f"{refused}; fix the cause, then run `turnlog trace flush --quarantined`"
    if item.warning and item.warned is not None:
        partials = format_count(item.partials, "request")
        yield f"{partials} accepted only in part, the last {_format_ago(item.warned)}: {item.warning}"


def _describe_retry(item: TargetState) -> str:
    from turnlog.cli import time_format
    from turnlog.render.figures import format_count

    if item.next_attempt is None:
        return ""
    wait = max(_to_seconds(item.next_attempt) - time.time(), 0)
    return (
        f" ({format_count(item.fails, 'failure')} in a row; next attempt in "
        f"{time_format.format_milliseconds(wait * 1000)} at the earliest)"
    )


def _format_ago(text: str) -> str:
    from turnlog.cli import time_format

    return time_format.format_time_ago(_to_seconds(text))


def _to_seconds(text: str) -> float:
    from turnlog.session.clock import parse_timestamp

    found = parse_timestamp(text)
    return found.timestamp() if found else 0.0
