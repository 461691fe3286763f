"""Notifies a user about sessions: runs the notifier, tests its channels, and reports what is waiting."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turnlog.api.config import Config, config_file, data_dir, load_config
from turnlog.api.lookup import Notify, list_config_folders
from turnlog.errors import Busy, UsageError
from turnlog.notify.channels import BROWSER_NAME, NotifyChannel
from turnlog.notify.notification import Notification, compose_test_notification
from turnlog.notify.queue import QUEUE_FILE_NAME, ChannelState, NotifyQueue
from turnlog.notify.settings import NotifyConfig, parse_notify_config
from turnlog.session.clock import to_iso_time

if TYPE_CHECKING:
    from turnlog.live.board import BoardRow
    from turnlog.notify.runner import CostReading, NotifierThreads, SessionSource
    from turnlog.notify.triggers import SessionSnapshot

_MAX_SINCE_CHARS = 64
NO_CHANNEL_REMEDY = "add a table such as [notify.channels.desktop]; see docs/notify.md"


# -- settings


def load_notify_config(config: Config | None = None) -> NotifyConfig:
    """Read the [notify] table of the settings; raise UsageError if it contains a mistake."""
    return parse_notify_config((config or load_config()).notify, os.environ, str(config_file()))


def find_permission_problem(settings: NotifyConfig) -> str | None:
    """Return a warning if other users of the machine can read secrets in the settings file."""
    path = config_file()
    if os.name != "posix" or not settings.has_inline_secrets:
        return None
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        return f"{path} contains secrets, and other users can read it; run `chmod 600 {path}`"
    return None


def _require_channels(settings: NotifyConfig) -> None:
    if not settings.channels:
        raise UsageError(f"{config_file()}: [notify]: no channel is configured; {NO_CHANNEL_REMEDY}")


# -- running


def run_notifier(
    *,
    stop: threading.Event | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
    on_start: Callable[[], object] | None = None,
    on_notification: Callable[[Notification], object] | None = None,
) -> None:
    """Watch all sessions and send notifications until `stop` is set; raise Busy if another process already does so.

    `on_start` is called once no other process can send notifications, `on_notification` with each message, and `notify`
    with problems.
    """
    from turnlog.notify.runner import hold_notifier_lock

    config = config or load_config()
    settings = load_notify_config(config)
    _require_channels(settings)
    ending = stop or threading.Event()
    with hold_notifier_lock(data_dir()) as is_mine:
        if not is_mine:
            raise Busy("`turnlog notify run` or `turnlog web` is already notifying in another process; stop it first")
        if on_start is not None:
            on_start()
        folders = list_config_folders(config)
        build_notifier(settings, config, folders, data_dir(), notify, on_notification).run(ending.is_set)


def build_notifier(
    settings: NotifyConfig,
    config: Config,
    config_dirs: Sequence[Path],
    folder: Path,
    notify: Notify | None = None,
    on_notification: Callable[[Notification], object] | None = None,
) -> NotifierThreads:
    """Build a notifier for the sessions in some config folders; the caller must hold the data folder's lock."""
    from turnlog.notify.runner import NotifierThreads

    return NotifierThreads(
        settings,
        folder,
        _open_board_source(config_dirs),
        read_costs=lambda: _read_costs(config),
        tell=notify or str,
        on_notification=on_notification,
    )


def _open_board_source(config_dirs: Sequence[Path]) -> SessionSource:
    from turnlog.live.board import Board
    from turnlog.live.hook_reports import HookReports

    board = Board(config_dirs, reports=HookReports(data_dir()))

    class BoardSource:
        def poll(self) -> list[SessionSnapshot | str]:
            return [_to_storable(row) if isinstance(row, str) else to_snapshot(row) for row in board.poll()]

    return BoardSource()


def to_snapshot(row: BoardRow) -> SessionSnapshot:
    """Convert a row of the board to the snapshot that the notifier examines."""
    from turnlog.notify.triggers import SessionSnapshot

    state = row.state
    return SessionSnapshot(
        path=_to_storable(row.path),
        session_id=_to_storable(row.session_id),
        title=row.title,
        project=row.project,
        column=row.column,
        state=state.kind,
        words=state.words,
        since=_to_storable(state.since)[:_MAX_SINCE_CHARS] if state.since else None,
        is_sure=getattr(state, "confidence", "inferred") == "sure",
        context=state.context,
        window=state.window,
    )


def _to_storable(text: str) -> str:
    """Replace lone surrogates, which neither JSON nor SQLite can store."""
    return text.encode("utf-8", "backslashreplace").decode()


def _read_costs(config: Config) -> CostReading:
    """Read from the index the cost of each session that was active today, and today's total."""
    from turnlog.api.usage import UsageAmounts, report_usage
    from turnlog.notify.runner import CostReading

    day = datetime.now().astimezone().date()
    table = report_usage("session", since=day, config=config)
    today, costs = 0.0, {}
    for row in table.rows:
        own, whole = row.amounts, row.whole
        if isinstance(own, UsageAmounts):
            today += own.cost_usd
            costs[row.labels["session_id"]] = whole.cost_usd if isinstance(whole, UsageAmounts) else own.cost_usd
    return CostReading(costs, day.isoformat(), today)


# -- testing the channels


class ChannelTest(Struct, frozen=True):
    """The outcome of a test message."""

    channel: str
    place: str
    sent: bool
    reason: str | None
    """Why it was not sent."""


class NotifyTestReport(Struct, frozen=True):
    """The outcomes of the test messages, by channel."""

    channels: tuple[ChannelTest, ...]
    warning: str | None
    """A problem with the settings file."""

    @property
    def is_complete(self) -> bool:
        """Whether all messages were sent."""
        return all(item.sent for item in self.channels)


def send_test_notifications(channels: Sequence[str] = (), *, config: Config | None = None) -> NotifyTestReport:
    """Send a test message through the given channels, or through all; `browser` means the web app's open pages."""
    from turnlog.notify.delivery import send_through_channel

    settings = load_notify_config(config)
    known = {channel.name: channel for channel in settings.channels}
    for name in channels:
        if name not in known and name != BROWSER_NAME:
            choices = ", ".join([*known, BROWSER_NAME])
            raise UsageError(f"unknown channel {name!r}; choose from {choices}")
    if not channels:
        _require_channels(settings)
    notice = compose_test_notification(datetime.now(UTC).timestamp())
    results = []
    for name in dict.fromkeys(channels or known):
        if name == BROWSER_NAME:
            results.append(_send_test_to_pages(notice))
        else:
            outcome = send_through_channel(known[name], notice, 0)
            is_sent = outcome.result == "sent"
            results.append(ChannelTest(name, known[name].place, is_sent, None if is_sent else outcome.reason))
    return NotifyTestReport(tuple(results), find_permission_problem(settings))


def _send_test_to_pages(notice: Notification) -> ChannelTest:
    """Leave a message for the open pages; while one of them listens, a process notifies."""
    from turnlog.notify.runner import is_notifier_running

    place = "the open pages that have notifications on"
    if not is_notifier_running(data_dir()):
        remedy = "open Live in `turnlog web`, and press “Notify me in this browser”"
        return ChannelTest(BROWSER_NAME, place, False, f"no page is listening; {remedy}")
    with NotifyQueue(data_dir()) as queue:
        queue.store_changes({}, page_notices=[notice])
    return ChannelTest(BROWSER_NAME, place, True, None)


# -- status


class NotifyChannelStatus(Struct, frozen=True):
    """A channel and the messages that are waiting for it."""

    channel: str
    place: str | None
    """Its kind and server; None if it is no longer configured."""
    configured: bool
    content: str | None
    waiting: int
    oldest: str | None
    """When the oldest waiting message was created."""
    sent: int
    last_success: str | None
    dropped: int
    """Messages that were refused or became too old."""
    fails: int
    """Failures since the last success."""
    next_attempt: str | None
    last_error: str | None
    failed: str | None
    """When the last error happened."""


class NotifyStatus(Struct, frozen=True):
    """The settings and state of notifications."""

    config_file: Path
    queue: Path
    running: bool
    """Whether a process is sending notifications now."""
    quiet_hours: str | None
    quiet_now: bool
    on: tuple[str, ...]
    """The kinds of events that are reported."""
    problem: str | None
    """What is wrong with the settings; nothing is sent until it is corrected."""
    warning: str | None
    channels: tuple[NotifyChannelStatus, ...]


def read_notify_status(*, config: Config | None = None) -> NotifyStatus:
    """Read which channels are configured, how many messages are waiting for each, and why."""
    from turnlog.notify.runner import is_notifier_running
    from turnlog.notify.triggers import ALERT_KINDS

    problem = None
    try:
        settings = load_notify_config(config)
    except UsageError as error:
        settings, problem = NotifyConfig(), str(error)
    quiet = settings.quiet
    return NotifyStatus(
        config_file(),
        data_dir() / QUEUE_FILE_NAME,
        is_notifier_running(data_dir()),
        str(quiet) if quiet else None,
        quiet is not None and quiet.contains(datetime.now().astimezone()),
        tuple(kind for kind in ALERT_KINDS if kind in settings.kinds and (kind != "cost" or settings.counts_cost)),
        problem,
        find_permission_problem(settings),
        tuple(_list_channel_statuses(settings)),
    )


def _list_channel_statuses(settings: NotifyConfig) -> list[NotifyChannelStatus]:
    states: dict[str, ChannelState] = {}
    if (data_dir() / QUEUE_FILE_NAME).exists():
        with NotifyQueue(data_dir()) as queue:
            states = {state.name: state for state in queue.list_channel_states()}
    channels = {channel.name: channel for channel in settings.channels}
    names = [*channels, *(name for name in states if name not in channels)]
    return [_to_channel_status(channels.get(name), states.get(name, ChannelState(name))) for name in names]


def _to_channel_status(channel: NotifyChannel | None, state: ChannelState) -> NotifyChannelStatus:
    times: dict[str, Any] = {
        "oldest": state.oldest,
        "last_success": state.succeeded,
        "next_attempt": state.next_attempt,
        "failed": state.failed,
    }
    return NotifyChannelStatus(
        channel=state.name,
        place=channel.place if channel else None,
        configured=channel is not None,
        content=channel.content if channel else None,
        waiting=state.waiting,
        sent=state.sent,
        dropped=state.dropped,
        fails=state.fails,
        last_error=state.error,
        **{
            name: None if time is None else to_iso_time(datetime.fromtimestamp(time, UTC))
            for name, time in times.items()
        },
    )
