"""Sending sessions that are there already: which, to whom, and how far it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.cli.config import Config, trace_dir
from turnlog.cli.named import folders
from turnlog.cli.output import dump, remark, say
from turnlog.cli.progress import Progress, progress
from turnlog.cli.sessions.catalogue import catalogue
from turnlog.cli.terminal import line
from turnlog.cli.trace.strays import find_traceable, traceable_files
from turnlog.cli.when import beginning
from turnlog.demo import is_demo
from turnlog.entries.clients import clients
from turnlog.errors import NotFound, TurnlogError, UsageError
from turnlog.render.figures import count
from turnlog.session.clock import moment
from turnlog.trace.harvest import Harvested, harvest, preview
from turnlog.trace.outbox.delivery import Delivered, deliver
from turnlog.trace.outbox.outbox import FILE, Outbox, OutboxFull
from turnlog.trace.outbox.standing import Standing
from turnlog.trace.recovery import is_over
from turnlog.trace.spans.content import Content
from turnlog.trace.spans.span import Told
from turnlog.trace.targets.target import Target
from turnlog.trace.targets.targets import configured, needed
from turnlog.trace.wire.otlp import readable
from turnlog.trace.wire.post import Poster

_MADE_UP = "the sessions of the demo are made up, and are not sent"
_NO_TARGET = Target("no target", "http://127.0.0.1/v1/traces")
"""What a dry run shows is shown for, where no target is configured."""
_PATIENCE = 20.0
"""How long a server that does not answer is waited for, in seconds, before only the outbox is filled."""


class Wish(NamedTuple):
    """The words of the call."""

    session: str | None = None
    project: str | None = None
    since: str | None = None
    everything: bool = False
    names: tuple[str, ...] = ()
    content: Content | None = None
    nest: bool = False
    dry_run: bool = False
    as_json: bool = False


class Sent(NamedTuple):
    """What was done for one target."""

    target: Target
    sessions: int
    found: Harvested
    standing: Standing
    skipped: list[str]
    """Sessions that could not be read, and why."""
    rejected: int = 0
    """Spans that the server said it did not take, although it accepted the request."""
    rejection: str | None = None

    @property
    def refused(self) -> int:
        """How many spans the server did not take and will not be sent again by themselves."""
        return self.standing.quarantined_spans + self.rejected


def run(wish: Wish, config: Config) -> int:
    """Do what the words say; the exit status."""
    paths = _chosen(wish, config)
    found = (configured if wish.dry_run else needed)(config.trace, os.environ, wish.names)
    targets = [_adjusted(target, wish) for target in found or [_NO_TARGET]]
    homes = {*folders(config), *(path.parents[2] for path in paths if len(path.parents) > 2)}
    live = {client.session_id for home in homes for client in clients(home)}
    with Outbox.open(trace_dir() / FILE) as outbox:
        if wish.dry_run:
            dump({"targets": [_previewed(paths, outbox, target, live) for target in targets]})
            return 0
        done = [_sent(paths, outbox, target, live) for target in targets]
    if wish.as_json:
        dump({"targets": [_document(item) for item in done]})
    else:
        say(_lines(done))
    for item in done:
        _mention_refused(item)
    return 1 if any(item.standing.pending_spans or item.skipped or item.refused for item in done) else 0


def _mention_refused(item: Sent) -> None:
    if item.refused:
        why = item.rejection if item.rejected else item.standing.refusal
        remedy = "; `turnlog trace flush --quarantined` sends them again" if item.standing.quarantined_spans else ""
        spans = "1 span was" if item.refused == 1 else f"{item.refused:,} spans were"
        remark(f"{item.target.shown}: {spans} refused by the server ({why or 'without a reason'}){remedy}")


def _chosen(wish: Wish, config: Config) -> list[Path]:
    """The files of the sessions that are meant, older ones first: an original comes before its copies."""
    many = wish.project is not None or wish.since is not None or wish.everything
    if (wish.session is not None) == many:
        raise UsageError("which sessions? Give one, or --project, --since or --all")
    if wish.session is not None:
        path = find_traceable(wish.session, config)
        if is_demo(path) and not wish.dry_run:
            raise NotFound(f"{path}: {_MADE_UP}")
        return [path]
    found = catalogue(folders(config), wish.project, everything=True)
    start = moment(beginning(wish.since)) if wish.since else None
    files = traceable_files(found.rows, config, wish.project)
    chosen = [file.path for file in files if start is None or file.time >= start.timestamp()]
    if found.is_demo and not wish.dry_run:
        raise NotFound(f"there are no Claude Code sessions on this machine; {_MADE_UP}")
    if not chosen:
        raise NotFound("no session fits; `turnlog ls` lists all")
    return chosen


def _adjusted(target: Target, wish: Wish) -> Target:
    return replace(target, content=wish.content or target.content, nest=wish.nest or target.nest)


def _told(path: Path, live: Iterable[str]) -> Told:
    return Told(over=path.stem not in live and is_over(path))


def _sent(paths: list[Path], outbox: Outbox, target: Target, live: set[str]) -> Sent:
    tell = progress(f"sending to {line(target.name)}: {{done:,}} of {{total:,}} bytes …")
    sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
    total, past, found, skipped = sum(sizes), 0, Harvested(), []
    results: list[Delivered] = []
    with Poster(target) as poster, _cleared(tell):
        for path, size in zip(paths, sizes, strict=True):
            try:
                found = found.plus(harvest(path, outbox, target, _told(path, live)))
            except OutboxFull:
                raise
            except TurnlogError as error:
                skipped.append(str(error))
            results.append(deliver(outbox, poster))
            past += size
            if tell:
                tell(past, total)
        results.append(deliver(outbox, poster, patience=_PATIENCE))
    rejection = next((result.rejection for result in reversed(results) if result.rejection), None)
    rejected = sum(result.rejected for result in results)
    return Sent(target, len(paths), found, outbox.standing(target.key), skipped, rejected, rejection)


@contextmanager
def _cleared(tell: Progress | None) -> Iterator[None]:
    """Let the line that says how far it is go, however far that was."""
    try:
        yield
    finally:
        if tell:
            tell(0, 0)


def _previewed(paths: list[Path], outbox: Outbox, target: Target, live: set[str]) -> dict[str, Any]:
    spans: list[dict[str, Any]] = []
    shown: dict[bytes, bytes] = {}
    for path in paths:
        try:
            spans += readable(preview(path, outbox, target, _told(path, live), shown))
        except TurnlogError as error:
            remark(f"left out: {error}")
    return {"target": None if target.name == _NO_TARGET.name else target.shown, "spans": spans}


def _document(item: Sent) -> dict[str, Any]:
    return {
        "target": item.target.shown,
        "sessions": item.sessions,
        "spans": item.found.put,
        "known": item.found.known,
        "not_final": item.found.waiting,
        "unreadable_lines": item.found.scraps,
        "pending": item.standing.pending_spans,
        "quarantined": item.standing.quarantined_spans,
        "rejected": item.rejected,
        "refusal": item.rejection or item.standing.refusal,
        "last_error": item.standing.last_error,
        "skipped": item.skipped,
    }


def _lines(done: Iterable[Sent]) -> Iterator[str]:
    for item in done:
        found = item.found
        yield f"{line(item.target.shown)}: {count(item.sessions, 'session')}, {count(found.put, 'new span')}"
        notes = [
            (found.known, "were sent, or put into the outbox, before"),
            (found.waiting, "are not final yet"),
            (item.standing.pending_spans, "wait in the outbox"),
            (item.standing.quarantined_spans, "are in quarantine: the server refused them"),
            (item.rejected, "were dropped by the server"),
        ]
        yield from (f"  {number:,} {words}" for number, words in notes if number)
        if found.scraps:
            yield f"  {count(found.scraps, 'line')} could not be read"
        if item.standing.pending_spans and item.standing.last_error:
            yield f"  last error: {line(item.standing.last_error)}"
        yield from (f"  left out: {line(reason)}" for reason in item.skipped)
