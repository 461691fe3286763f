"""Plays back sessions: event by event, or as asciinema recordings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify, locate_session, open_session
from turnlog.api.values import RuleFindings, list_rule_findings
from turnlog.errors import UsageError
from turnlog.export.destination import check_destination, write_export_file
from turnlog.export.redaction import ExportRedaction
from turnlog.live.events.event import AnyEvent
from turnlog.live.replay.cast import (
    DEFAULT_COLUMNS,
    DEFAULT_ROWS,
    MAX_COLUMNS,
    MAX_ROWS,
    MIN_COLUMNS,
    MIN_ROWS,
    iter_cast_lines,
)
from turnlog.live.replay.clock import DEFAULT_MAX_GAP_SECONDS, check_speed
from turnlog.live.replay.replayed_session import ReplayedSession
from turnlog.redact.rules import SecretRules
from turnlog.session.session import Session


class ReplayOptions(Struct, frozen=True):
    """Which part of a session a replay plays, and how fast."""

    speed: float = 1.0
    """From 0.25 to 32."""
    from_turn: int | None = None
    """The first turn; None for the start."""
    until_turn: int | None = None
    """The last turn; None for the end."""
    max_gap: float | None = DEFAULT_MAX_GAP_SECONDS
    """Longer silences are shortened to this many seconds of session time; None keeps them."""


class ReplayedEvent(Struct, frozen=True):
    """An event and the time at which the replay reaches it."""

    at: float
    """Seconds since the start of the replay, at the chosen speed."""
    elapsed: float
    """Seconds since the start of the session, or of the first turn that is played."""
    turn: int
    event: AnyEvent


class RecordResult(Struct, frozen=True):
    """A recording that was written."""

    session: Path
    output: Path
    bytes: int
    seconds: float
    """The length of the recording."""
    events: int
    """How many events of the session it shows."""
    redacted: int | None
    """How many secrets were replaced; None if redaction was switched off."""
    rules: tuple[RuleFindings, ...]


def replay_session(
    session: str | Path,
    options: ReplayOptions = ReplayOptions(),  # noqa: B008 - a value, not an object
    *,
    redact: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> Iterator[ReplayedEvent]:
    """Yield the events of a session in order, each with the time at which a replay shows it, without waiting.

    `redact` replaces API keys, tokens and passwords with placeholders.
    """
    with open_replay(session, options, redact=redact, config=config, notify=notify) as replay:
        for cue in replay.cues:
            yield ReplayedEvent(round(cue.at / options.speed, 3), round(cue.elapsed, 3), cue.turn, cue.event)


@contextmanager
def open_replay(
    session: str | Path,
    options: ReplayOptions = ReplayOptions(),  # noqa: B008 - a value, not an object
    *,
    redact: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> Iterator[ReplayedSession]:
    """Open a session to play it back; `redact` replaces API keys, tokens and passwords with placeholders."""
    from turnlog.api.session import open_redacted_session

    check_replay_options(options)
    config = config or load_config()
    if not redact:
        with open_session(session, config, notify) as opened:
            yield _build_replay(opened, options)
        return
    with open_redacted_session(session, config, notify) as copy:
        yield _build_replay(copy.session, options)


def record_session(
    session: str | Path,
    output: str | Path,
    options: ReplayOptions = ReplayOptions(),  # noqa: B008 - a value, not an object
    *,
    redact: bool = True,
    columns: int = DEFAULT_COLUMNS,
    rows: int = DEFAULT_ROWS,
    force: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> RecordResult:
    """Write the replay of a session as an asciinema recording (version 2), without API keys, tokens and passwords.

    `redact=False` keeps them. An existing file is replaced only with `force`.
    """
    check_replay_options(options)
    check_recording_size(columns, rows)
    goal = Path(output)
    check_destination(goal, force=force, option="--record")
    if goal.is_dir():
        raise UsageError(f"{goal}: a folder, not a file; choose a different name with --record")
    config = config or load_config()
    path = locate_session(session, config, notify)
    redaction = ExportRedaction(SecretRules()) if redact else None
    gap = timedelta(minutes=config.gap_minutes)
    with _copy_for_recording(path, redaction) as source, Session.open(source, gap=gap) as opened:
        replay = _build_replay(opened, options)
        if not replay.cues:
            raise UsageError(f"{path}: there is nothing to record; the session has no messages")
        limit = None if options.max_gap is None else round(options.max_gap / options.speed, 3)
        lines = iter_cast_lines(replay, speed=options.speed, idle_limit=limit, columns=columns, rows=rows)
        size = write_export_file(goal, lines, force=force)
        report = redaction.build_report() if redaction is not None else None
        return RecordResult(
            session=path,
            output=goal,
            bytes=size,
            seconds=round(replay.duration / options.speed, 3),
            events=len(replay.cues),
            redacted=None if report is None else report.replacement_count,
            rules=() if report is None else list_rule_findings(report),
        )


def check_replay_options(options: ReplayOptions) -> None:
    """Raise UsageError if a replay does not support these options."""
    check_speed(options.speed)
    first, last = options.from_turn, options.until_turn
    if any(turn is not None and turn < 1 for turn in (first, last)):
        raise UsageError("turns are numbered from 1")
    if first is not None and last is not None and last < first:
        raise UsageError(f"the last turn to replay ({last}) is before the first ({first})")
    if options.max_gap is not None and not options.max_gap >= 0:
        raise UsageError(f"max_gap {options.max_gap} is negative")


def check_recording_size(columns: int, rows: int) -> None:
    """Raise UsageError if a recording can't have this size."""
    if not (MIN_COLUMNS <= columns <= MAX_COLUMNS and MIN_ROWS <= rows <= MAX_ROWS):
        raise UsageError(
            f"size {columns}x{rows} is outside the range from {MIN_COLUMNS}x{MIN_ROWS} to {MAX_COLUMNS}x{MAX_ROWS}"
        )


@contextmanager
def _copy_for_recording(path: Path, redaction: ExportRedaction | None) -> Iterator[Path]:
    if redaction is None:
        yield path
        return
    redaction.learn_secrets([path])
    with redaction.copy_redacted(path) as copy:
        yield copy


def _build_replay(session: Session, options: ReplayOptions) -> ReplayedSession:
    return ReplayedSession(session, max_gap=options.max_gap, from_turn=options.from_turn, until_turn=options.until_turn)
