"""Sends existing sessions to tracing backends."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.api.config import Config, load_config, trace_dir
from turnlog.api.lookup import Notify, list_config_folders
from turnlog.api.trace_spans import SessionSpan, to_session_spans
from turnlog.demo import is_demo
from turnlog.entries.agents import list_folders_once
from turnlog.entries.clients import list_clients
from turnlog.errors import BrokenPlugin, NotFound, TurnlogError, UsageError
from turnlog.session.clock import parse_timestamp
from turnlog.trace.harvest import HarvestResult, harvest_session, preview_spans
from turnlog.trace.outbox.delivery import DeliveryResult, deliver_batches
from turnlog.trace.outbox.outbox import OUTBOX_FILE_NAME, Outbox, OutboxFull
from turnlog.trace.recovery import is_session_over
from turnlog.trace.spans.content import ContentLevel
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.targets.targets import list_configured_targets, require_targets
from turnlog.trace.wire.poster import Poster

if TYPE_CHECKING:
    from turnlog.api.index import Progress

_DEMO_REASON = "demo sessions are not sent"
_NO_TARGET = TraceTarget("no target", "http://127.0.0.1/v1/traces")
"""The target of a preview if none is configured."""
_SERVER_TIMEOUT_SECONDS = 20.0
"""Seconds to wait for a server at the end; after that, spans are left in the outbox."""


class TargetPreview(Struct, frozen=True):
    """The spans that would be sent to a target."""

    target: str | None
    """None if no target is configured."""
    spans: tuple[SessionSpan, ...]


class TracePreview(Struct, frozen=True):
    """The spans that would be sent, by target."""

    targets: tuple[TargetPreview, ...]


class TargetBackfill(Struct, frozen=True):
    """The result of sending sessions to one target."""

    target: str
    sessions: int
    spans: int
    """Spans that were new to the target."""
    known: int
    not_final: int
    unreadable_lines: int
    pending: int
    quarantined: int
    rejected: int
    """Spans that the server dropped although it accepted the request."""
    refusal: str | None
    last_error: str | None
    skipped: list[str]
    """Sessions that could not be read, with the reason."""

    @property
    def refused_spans(self) -> int:
        """The number of spans that the server refused and that won't be resent automatically."""
        return self.quarantined + self.rejected


class BackfillReport(Struct, frozen=True):
    """The result of sending sessions, by target."""

    targets: tuple[TargetBackfill, ...]

    @property
    def is_complete(self) -> bool:
        """True if everything was sent and accepted."""
        return not any(item.pending or item.skipped or item.refused_spans for item in self.targets)


@list_folders_once()
def backfill_traces(
    session: str | Path | None = None,
    *,
    project: str | None = None,
    since: str | None = None,
    everything: bool = False,
    targets: Sequence[str] = (),
    content: ContentLevel | None = None,
    nest: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> BackfillReport:
    """Send existing sessions to tracing backends: one session, a project's sessions, those since a given day, or all.

    Each span is sent once, when it is final; the call can be interrupted and repeated. `since` is a day such as
    `2026-11-03`, `yesterday` or `30d`.
    """
    config = config or load_config()
    paths = _choose_sessions(session, project, since, everything, config, notify)
    if any(map(is_demo, paths)):
        place = "there are no Claude Code sessions on this machine" if session is None else str(paths[0])
        raise NotFound(f"{place}; {_DEMO_REASON}" if session is None else f"{place}: {_DEMO_REASON}")
    chosen = [_adjust_target(item, content, nest) for item in require_targets(config.trace, os.environ, targets)]
    live = _find_live_sessions(paths, config)
    with Outbox.open(trace_dir() / OUTBOX_FILE_NAME) as outbox:
        done = tuple(_send_sessions(paths, outbox, target, live, progress) for target in chosen)
    return BackfillReport(done)


@list_folders_once()
def preview_traces(
    session: str | Path | None = None,
    *,
    project: str | None = None,
    since: str | None = None,
    everything: bool = False,
    targets: Sequence[str] = (),
    content: ContentLevel | None = None,
    nest: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> TracePreview:
    """Return what `backfill_traces` would send; no target is needed."""
    config = config or load_config()
    paths = _choose_sessions(session, project, since, everything, config, notify)
    found = list_configured_targets(config.trace, os.environ, targets) or [_NO_TARGET]
    live = _find_live_sessions(paths, config)
    with Outbox.open(trace_dir() / OUTBOX_FILE_NAME) as outbox:
        done = [_preview_target(paths, outbox, _adjust_target(item, content, nest), live, notify) for item in found]
    return TracePreview(tuple(done))


def _choose_sessions(
    session: str | Path | None,
    project: str | None,
    since: str | None,
    everything: bool,
    config: Config,
    notify: Notify | None,
) -> list[Path]:
    """Choose the files of the sessions, oldest first, so that originals come before their copies."""
    from turnlog.api.sessions import load_catalogue
    from turnlog.api.tools import to_day_start
    from turnlog.api.traceable import find_traceable, traceable_files

    if (session is not None) == (project is not None or since is not None or everything):
        raise UsageError("use either session or at least one of project, since and everything")
    if session is not None:
        return [find_traceable(session, config, notify)]
    found = load_catalogue(list_config_folders(config), project, everything=True)
    start = parse_timestamp(to_day_start(since)) if since else None
    files = traceable_files(found.rows, config, project)
    chosen = [file.path for file in files if start is None or file.time >= start.timestamp()]
    if not chosen:
        raise NotFound("no session matches; `turnlog ls` lists all sessions")
    return chosen


def _adjust_target(target: TraceTarget, content: ContentLevel | None, nest: bool) -> TraceTarget:
    return replace(target, content=content or target.content, nest=nest or target.nest)


def _find_live_sessions(paths: Sequence[Path], config: Config) -> set[str]:
    homes = {*list_config_folders(config), *(path.parents[2] for path in paths if len(path.parents) > 2)}
    return {client.session_id for home in homes for client in list_clients(home)}


def _read_signals(path: Path, live: Collection[str]) -> SessionSignals:
    return SessionSignals(over=path.stem not in live and is_session_over(path))


def _send_sessions(
    paths: list[Path], outbox: Outbox, target: TraceTarget, live: set[str], progress: Progress | None
) -> TargetBackfill:
    sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
    total, bytes_read, found, skipped = sum(sizes), 0, HarvestResult(), []
    results: list[DeliveryResult] = []
    with Poster(target) as poster:
        for path, size in zip(paths, sizes, strict=True):
            try:
                found = found.plus(harvest_session(path, outbox, target, _read_signals(path, live)))
            except (OutboxFull, BrokenPlugin):
                raise
            except TurnlogError as error:
                skipped.append(str(error))
            results.append(deliver_batches(outbox, poster))
            bytes_read += size
            if progress:
                progress(bytes_read, total)
        results.append(deliver_batches(outbox, poster, patience=_SERVER_TIMEOUT_SECONDS))
    status = outbox.read_status(target.key)
    rejection = next((result.rejection for result in reversed(results) if result.rejection), None)
    return TargetBackfill(
        target=target.display_name,
        sessions=len(paths),
        spans=found.put,
        known=found.known,
        not_final=found.waiting,
        unreadable_lines=found.scraps,
        pending=status.pending_spans,
        quarantined=status.quarantined_spans,
        rejected=sum(result.rejected for result in results),
        refusal=rejection or status.refusal,
        last_error=status.last_error,
        skipped=skipped,
    )


def _preview_target(
    paths: list[Path], outbox: Outbox, target: TraceTarget, live: set[str], notify: Notify | None
) -> TargetPreview:
    spans: list[SessionSpan] = []
    shown: dict[bytes, bytes] = {}
    for path in paths:
        try:
            spans += to_session_spans(preview_spans(path, outbox, target, _read_signals(path, live), shown))
        except BrokenPlugin:
            raise
        except TurnlogError as error:
            if notify:
                notify(f"Left out: {error}")
    return TargetPreview(None if target.name == _NO_TARGET.name else target.display_name, tuple(spans))
