"""`turnlog trace backfill`: send what was never sent of sessions that are there already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from turnlog.api.config import Config, trace_dir
from turnlog.api.lookup import list_config_folders
from turnlog.api.sessions import load_catalogue
from turnlog.api.tools import to_day_start
from turnlog.cli.output import print_json, print_lines, print_remark
from turnlog.cli.progress import ProgressCallback, show_progress
from turnlog.cli.terminal import to_visible_line
from turnlog.cli.trace.strays import find_traceable, traceable_files
from turnlog.demo import is_demo
from turnlog.entries.clients import list_clients
from turnlog.errors import BrokenPlugin, NotFound, TurnlogError, UsageError
from turnlog.render.figures import format_count
from turnlog.session.clock import parse_timestamp
from turnlog.trace.harvest import HarvestResult, harvest_session, preview_spans
from turnlog.trace.outbox.delivery import DeliveryResult, deliver_batches
from turnlog.trace.outbox.outbox import OUTBOX_FILE_NAME, Outbox, OutboxFull
from turnlog.trace.outbox.target_status import TargetStatus
from turnlog.trace.recovery import is_session_over
from turnlog.trace.spans.content import ContentLevel
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.targets.targets import list_configured_targets, require_targets
from turnlog.trace.wire.otlp import to_readable_spans
from turnlog.trace.wire.poster import Poster


@click.command()
@click.argument("session", required=False)
@click.option("-p", "--project", metavar="P", help="All sessions of this folder and those below it, or of that name.")
@click.option("--since", metavar="DAY", help="Only sessions that were at work since then: 2026-11-03, yesterday, 30d.")
@click.option("-a", "--all", "everything", is_flag=True, help="All sessions of this machine.")
@click.option("-t", "--target", "names", metavar="NAME", multiple=True, help="Only to this target; may be repeated.")
@click.option(
    "--content",
    type=click.Choice(("full", "redacted", "none")),
    help="How much of texts is sent; without it, what the target's settings say, or redacted.",
)
@click.option("--nest", is_flag=True, help="Put calls under the generation that made them, not beside it.")
@click.option("--dry-run", is_flag=True, help="Send nothing; print what would be sent as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON (docs/json.md).")
def backfill(session: str | None, **words: Any) -> int:
    """Send sessions that are there already to the tracing backends.

    It is the work of the hook, over the whole history: each span is sent once, when it is final, to every target
    (docs/trace.md says how targets are named). It may be interrupted and repeated: nothing is sent twice. SESSION is a
    path, an id or the start of one, a title, or `last`. The exit status is 1 if something was not sent, or if the
    server refused it. --dry-run needs no target.

    \b
    Examples:
      turnlog trace backfill last --dry-run
      turnlog trace backfill --project . --target phoenix
      turnlog trace backfill --since 30d
    """
    from turnlog.api.config import load_config

    return run_backfill(BackfillOptions(session, **words), load_config())


_DEMO_REASON = "the sessions of the demo are made up, and are not sent"
_NO_TARGET = TraceTarget("no target", "http://127.0.0.1/v1/traces")
"""What a dry run shows is shown for, where no target is configured."""
_SERVER_TIMEOUT_SECONDS = 20.0
"""How long a server that does not answer is waited for, in seconds, before only the outbox is filled."""


class BackfillOptions(NamedTuple):
    """The words of the call."""

    session: str | None = None
    project: str | None = None
    since: str | None = None
    everything: bool = False
    names: tuple[str, ...] = ()
    content: ContentLevel | None = None
    nest: bool = False
    dry_run: bool = False
    as_json: bool = False


class BackfillResult(NamedTuple):
    """What was done for one target."""

    target: TraceTarget
    sessions: int
    found: HarvestResult
    standing: TargetStatus
    skipped: list[str]
    """Sessions that could not be read, and why."""
    rejected: int = 0
    """Spans that the server said it did not take, although it accepted the request."""
    rejection: str | None = None

    @property
    def refused_spans(self) -> int:
        """How many spans the server did not take and will not be sent again by themselves."""
        return self.standing.quarantined_spans + self.rejected


def run_backfill(wish: BackfillOptions, config: Config) -> int:
    """Do what the words say; the exit status."""
    paths = _choose_sessions(wish, config)
    found = (list_configured_targets if wish.dry_run else require_targets)(config.trace, os.environ, wish.names)
    targets = [_adjust_target(target, wish) for target in found or [_NO_TARGET]]
    homes = {*list_config_folders(config), *(path.parents[2] for path in paths if len(path.parents) > 2)}
    live = {client.session_id for home in homes for client in list_clients(home)}
    with Outbox.open(trace_dir() / OUTBOX_FILE_NAME) as outbox:
        if wish.dry_run:
            print_json({"targets": [_preview_spans(paths, outbox, target, live) for target in targets]})
            return 0
        done = [_send_sessions(paths, outbox, target, live) for target in targets]
    if wish.as_json:
        print_json({"targets": [_to_result_document(item) for item in done]})
    else:
        print_lines(_render_results(done))
    for item in done:
        _mention_refused(item)
    return 1 if any(item.standing.pending_spans or item.skipped or item.refused_spans for item in done) else 0


def _mention_refused(item: BackfillResult) -> None:
    if item.refused_spans:
        why = item.rejection if item.rejected else item.standing.refusal
        remedy = "; `turnlog trace flush --quarantined` sends them again" if item.standing.quarantined_spans else ""
        spans = "1 span was" if item.refused_spans == 1 else f"{item.refused_spans:,} spans were"
        print_remark(f"{item.target.display_name}: {spans} refused by the server ({why or 'without a reason'}){remedy}")


def _choose_sessions(wish: BackfillOptions, config: Config) -> list[Path]:
    """The files of the sessions that are meant, older ones first: an original comes before its copies."""
    many = wish.project is not None or wish.since is not None or wish.everything
    if (wish.session is not None) == many:
        raise UsageError("which sessions? Give one, or --project, --since or --all")
    if wish.session is not None:
        path = find_traceable(wish.session, config)
        if is_demo(path) and not wish.dry_run:
            raise NotFound(f"{path}: {_DEMO_REASON}")
        return [path]
    found = load_catalogue(list_config_folders(config), wish.project, everything=True)
    start = parse_timestamp(to_day_start(wish.since)) if wish.since else None
    files = traceable_files(found.rows, config, wish.project)
    chosen = [file.path for file in files if start is None or file.time >= start.timestamp()]
    if found.is_demo and not wish.dry_run:
        raise NotFound(f"there are no Claude Code sessions on this machine; {_DEMO_REASON}")
    if not chosen:
        raise NotFound("no session fits; `turnlog ls` lists all")
    return chosen


def _adjust_target(target: TraceTarget, wish: BackfillOptions) -> TraceTarget:
    return replace(target, content=wish.content or target.content, nest=wish.nest or target.nest)


def _read_session_state(path: Path, live: Iterable[str]) -> SessionSignals:
    return SessionSignals(over=path.stem not in live and is_session_over(path))


def _send_sessions(paths: list[Path], outbox: Outbox, target: TraceTarget, live: set[str]) -> BackfillResult:
    tell = show_progress(f"sending to {to_visible_line(target.name)}: {{done:,}} of {{total:,}} bytes …")
    sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
    total, past, found, skipped = sum(sizes), 0, HarvestResult(), []
    results: list[DeliveryResult] = []
    with Poster(target) as poster, _clear_progress(tell):
        for path, size in zip(paths, sizes, strict=True):
            try:
                found = found.plus(harvest_session(path, outbox, target, _read_session_state(path, live)))
            except (OutboxFull, BrokenPlugin):
                raise
            except TurnlogError as error:
                skipped.append(str(error))
            results.append(deliver_batches(outbox, poster))
            past += size
            if tell:
                tell(past, total)
        results.append(deliver_batches(outbox, poster, patience=_SERVER_TIMEOUT_SECONDS))
    rejection = next((result.rejection for result in reversed(results) if result.rejection), None)
    rejected = sum(result.rejected for result in results)
    return BackfillResult(target, len(paths), found, outbox.read_status(target.key), skipped, rejected, rejection)


@contextmanager
def _clear_progress(tell: ProgressCallback | None) -> Iterator[None]:
    """Let the line that says how far it is go, however far that was."""
    try:
        yield
    finally:
        if tell:
            tell(0, 0)


def _preview_spans(paths: list[Path], outbox: Outbox, target: TraceTarget, live: set[str]) -> dict[str, Any]:
    spans: list[dict[str, Any]] = []
    shown: dict[bytes, bytes] = {}
    for path in paths:
        try:
            spans += to_readable_spans(preview_spans(path, outbox, target, _read_session_state(path, live), shown))
        except BrokenPlugin:
            raise
        except TurnlogError as error:
            print_remark(f"left out: {error}")
    return {"target": None if target.name == _NO_TARGET.name else target.display_name, "spans": spans}


def _to_result_document(item: BackfillResult) -> dict[str, Any]:
    return {
        "target": item.target.display_name,
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


def _render_results(done: Iterable[BackfillResult]) -> Iterator[str]:
    for item in done:
        found = item.found
        yield (
            f"{to_visible_line(item.target.display_name)}: {format_count(item.sessions, 'session')}, "
            f"{format_count(found.put, 'new span')}"
        )
        notes = [
            (found.known, "were sent, or put into the outbox, before"),
            (found.waiting, "are not final yet"),
            (item.standing.pending_spans, "wait in the outbox"),
            (item.standing.quarantined_spans, "are in quarantine: the server refused them"),
            (item.rejected, "were dropped by the server"),
        ]
        yield from (f"  {number:,} {words}" for number, words in notes if number)
        if found.scraps:
            yield f"  {format_count(found.scraps, 'line')} could not be read"
        if item.standing.pending_spans and item.standing.last_error:
            yield f"  last error: {to_visible_line(item.standing.last_error)}"
        yield from (f"  left out: {to_visible_line(reason)}" for reason in item.skipped)
