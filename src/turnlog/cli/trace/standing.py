"""How it stands with the tracing backends, in words and as JSON."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.cli import when
from turnlog.cli.rows import number, rows
from turnlog.cli.terminal import Screen, line
from turnlog.errors import UsageError
from turnlog.render.figures import count
from turnlog.trace.outbox.outbox import FILE, Outbox
from turnlog.trace.outbox.standing import Standing
from turnlog.trace.targets.targets import REMEDY, configured
from turnlog.trace.trouble import Trouble, last

_DEFINITION = (
    "Numbers are spans; each counts once a target. Sent: the server has accepted it. Pending: it waits in the outbox."
    " Quarantined: the server refused it. Repeated: it was sent again, for it was not known whether it had arrived."
)
_HEAD = ("target", "sent", "pending", "quarantined", "repeated", "oldest pending", "last success")


class Found(NamedTuple):
    """What is known of all targets."""

    outbox: Path
    size: int
    """Bytes that it takes on the disk."""
    targets: list[Standing]
    configured: frozenset[str]
    """The keys of those that are configured."""
    problem: str | None
    """What is wrong with the settings."""
    trouble: Trouble | None
    """What last went wrong in the background."""


def found(folder: Path, settings: Mapping[str, Any]) -> Found:
    """How it stands; nothing is made where there is nothing yet."""
    path, problem = folder / FILE, None
    try:
        here = {target.key: target.shown for target in configured(settings, os.environ)}
    except UsageError as error:
        here, problem = {}, str(error)
    known: list[Standing] = []
    if path.exists():
        with Outbox.open(path) as outbox:
            known = [item._replace(shown=here.get(item.key, item.shown)) for item in outbox.status()]
    fresh = [Standing(key, shown) for key, shown in here.items() if key not in {item.key for item in known}]
    size = sum(part.stat().st_size for part in (path, path.with_name(f"{FILE}-wal")) if part.exists())
    return Found(path, size, known + fresh, frozenset(here), problem, last(folder))


def document(state: Found) -> dict[str, Any]:
    """The same as JSON."""
    trouble = state.trouble and {"time": when.stamp(state.trouble.time), "words": state.trouble.words}
    return {
        "outbox": str(state.outbox),
        "bytes": state.size,
        "problem": state.problem,
        "trouble": trouble,
        "targets": [_target(item, item.key in state.configured) for item in state.targets],
    }


def _target(item: Standing, is_configured: bool) -> dict[str, Any]:
    times = ("oldest", "last_success", "failed", "warned", "held_since", "next_attempt")
    facts = {name: when.stamp(value) if name in times else value for name, value in item._asdict().items()}
    return {"target": facts.pop("shown"), "configured": is_configured, **facts}


def table(state: Found, screen: Screen) -> Iterator[str]:
    """The same for people."""
    if state.problem:
        yield f"The settings are off: {line(state.problem)}"
    if state.trouble:
        yield f"In the background, {when.ago(state.trouble.time)}: {line(state.trouble.words)}"
    if not state.targets:
        yield from screen.prose(f"Nothing is traced: there is no target. To have one, {REMEDY}.")
        return
    yield from rows(_HEAD, map(_cells, state.targets), screen, numbers=range(1, 5))
    for item in state.targets:
        yield from (f"{line(item.shown)}: {line(note)}" for note in _notes(item, item.key in state.configured))
    yield from screen.prose(_DEFINITION, "dim")
    yield f"The outbox is {line(str(state.outbox))} ({when.size(state.size)})."


def _cells(item: Standing) -> tuple[str, ...]:
    amounts = (item.sent_spans, item.pending_spans, item.quarantined_spans, item.repeated_spans)
    times = (item.oldest, item.last_success)
    return (line(item.shown), *map(number, amounts), *("·" if time is None else when.ago(time) for time in times))


def _notes(item: Standing, is_configured: bool) -> Iterator[str]:
    """What is to be known beside the numbers."""
    if not is_configured and item.pending_batches:
        yield "is not configured, so what is pending stays here"
    if item.held_back and item.held_since is not None:
        yield f"new spans are held back since {when.absolute(item.held_since)}: {item.held_back}"
    if item.last_error and item.failed is not None and item.pending_batches:
        yield f"failed {when.ago(item.failed)}: {item.last_error}{_again(item)}"
    if item.quarantined_batches:
        refused = f"{count(item.quarantined_batches, 'request')} refused ({item.refusal})"
        yield f"{refused}; when the cause is removed, `turnlog trace flush --quarantined` tries again"
    if item.warning and item.warned is not None:
        partials = count(item.partials, "request")
        yield f"{partials} accepted only in part, the last {when.ago(item.warned)}: {item.warning}"


def _again(item: Standing) -> str:
    if item.next_attempt is None:
        return ""
    wait = max(item.next_attempt - time.time(), 0)
    return f" ({count(item.fails, 'failure')} in a row; asked again in {when.lasted(wait * 1000)} at the earliest)"
