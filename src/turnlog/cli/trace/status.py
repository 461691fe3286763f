"""`turnlog trace status`: how it stands with each tracing backend."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from turnlog.cli import time_format
from turnlog.cli.rows import format_table_number, render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.errors import UsageError
from turnlog.render.figures import format_count
from turnlog.trace.outbox.outbox import OUTBOX_FILE_NAME, Outbox
from turnlog.trace.outbox.target_status import TargetStatus
from turnlog.trace.targets.targets import NO_TARGET_REMEDY, list_configured_targets
from turnlog.trace.trouble import TroubleNote, read_last_trouble


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def status(as_json: bool) -> None:
    """Say what was sent to each target, and what waits.

    What a server does not take now is tried again later, by the next turn's hook or by `turnlog trace flush`. What it
    refuses stays in quarantine, with the server's words, until `turnlog trace flush --quarantined`.

    \b
    Examples:
      turnlog trace status
      turnlog trace status --json | jq '.targets[].pending_spans'
    """
    from turnlog.api.config import load_config, trace_dir
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    state = read_tracing_status(trace_dir(), config.trace)
    if as_json:
        print_json(to_tracing_status_document(state))
    else:
        print_lines(render_tracing_status(state, detect_screen(config.color)))


_DEFINITION = (
    "Numbers are spans; each counts once a target. Sent: the server has accepted it. Pending: it waits in the outbox."
    " Quarantined: the server refused it. Repeated: it was sent again, for it was not known whether it had arrived."
)
_TABLE_HEAD = ("target", "sent", "pending", "quarantined", "repeated", "oldest pending", "last success")


class TracingStatus(NamedTuple):
    """What is known of all targets."""

    outbox: Path
    size: int
    """Bytes that it takes on the disk."""
    targets: list[TargetStatus]
    configured: frozenset[str]
    """The keys of those that are configured."""
    problem: str | None
    """What is wrong with the settings."""
    trouble: TroubleNote | None
    """What last went wrong in the background."""


def read_tracing_status(folder: Path, settings: Mapping[str, Any]) -> TracingStatus:
    """How it stands; nothing is made where there is nothing yet."""
    path, problem = folder / OUTBOX_FILE_NAME, None
    try:
        here = {target.key: target.display_name for target in list_configured_targets(settings, os.environ)}
    except UsageError as error:
        here, problem = {}, str(error)
    known: list[TargetStatus] = []
    if path.exists():
        with Outbox.open(path) as outbox:
            known = [item._replace(shown=here.get(item.key, item.shown)) for item in outbox.list_statuses()]
    fresh = [TargetStatus(key, shown) for key, shown in here.items() if key not in {item.key for item in known}]
    size = sum(part.stat().st_size for part in (path, path.with_name(f"{OUTBOX_FILE_NAME}-wal")) if part.exists())
    return TracingStatus(path, size, known + fresh, frozenset(here), problem, read_last_trouble(folder))


def to_tracing_status_document(state: TracingStatus) -> dict[str, Any]:
    """The same as JSON."""
    trouble = state.trouble and {"time": time_format.to_json_time(state.trouble.time), "words": state.trouble.words}
    return {
        "outbox": str(state.outbox),
        "bytes": state.size,
        "problem": state.problem,
        "trouble": trouble,
        "targets": [_to_target_document(item, item.key in state.configured) for item in state.targets],
    }


def _to_target_document(item: TargetStatus, is_configured: bool) -> dict[str, Any]:
    times = ("oldest", "last_success", "failed", "warned", "held_since", "next_attempt")
    facts = {
        name: time_format.to_json_time(value) if name in times else value for name, value in item._asdict().items()
    }
    return {"target": facts.pop("shown"), "configured": is_configured, **facts}


def render_tracing_status(state: TracingStatus, screen: TerminalScreen) -> Iterator[str]:
    """The same for people."""
    if state.problem:
        yield f"The settings are off: {to_visible_line(state.problem)}"
    if state.trouble:
        yield (
            f"In the background, {time_format.format_time_ago(state.trouble.time)}: "
            f"{to_visible_line(state.trouble.words)}"
        )
    if not state.targets:
        yield from screen.wrap_prose(f"Nothing is traced: there is no target. To have one, {NO_TARGET_REMEDY}.")
        return
    yield from render_table_rows(_TABLE_HEAD, map(_build_cells, state.targets), screen, numbers=range(1, 5))
    for item in state.targets:
        yield from (
            f"{to_visible_line(item.shown)}: {to_visible_line(note)}"
            for note in _list_notes(item, item.key in state.configured)
        )
    yield from screen.wrap_prose(_DEFINITION, "dim")
    yield f"The outbox is {to_visible_line(str(state.outbox))} ({time_format.format_size(state.size)})."


def _build_cells(item: TargetStatus) -> tuple[str, ...]:
    amounts = (item.sent_spans, item.pending_spans, item.quarantined_spans, item.repeated_spans)
    times = (item.oldest, item.last_success)
    return (
        to_visible_line(item.shown),
        *map(format_table_number, amounts),
        *("·" if time is None else time_format.format_time_ago(time) for time in times),
    )


def _list_notes(item: TargetStatus, is_configured: bool) -> Iterator[str]:
    """What is to be known beside the numbers."""
    if not is_configured and item.pending_batches:
        yield "is not configured, so what is pending stays here"
    if item.held_back and item.held_since is not None:
        yield f"new spans are held back since {time_format.format_epoch_time(item.held_since)}: {item.held_back}"
    if item.last_error and item.failed is not None and item.pending_batches:
        yield f"failed {time_format.format_time_ago(item.failed)}: {item.last_error}{_describe_retry(item)}"
    if item.quarantined_batches:
        refused = f"{format_count(item.quarantined_batches, 'request')} refused ({item.refusal})"
        yield f"{refused}; when the cause is removed, `turnlog trace flush --quarantined` tries again"
    if item.warning and item.warned is not None:
        partials = format_count(item.partials, "request")
        yield f"{partials} accepted only in part, the last {time_format.format_time_ago(item.warned)}: {item.warning}"


def _describe_retry(item: TargetStatus) -> str:
    if item.next_attempt is None:
        return ""
    wait = max(item.next_attempt - time.time(), 0)
    return (
        f" ({format_count(item.fails, 'failure')} in a row; asked again in "
        f"{time_format.format_milliseconds(wait * 1000)} at the earliest)"
    )
