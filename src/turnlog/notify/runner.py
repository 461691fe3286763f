"""The loop that watches sessions and sends notifications, in one process at a time for each data folder.

Watching, sending and computing costs each have their own threads, so that neither a server that hangs nor a large
session delays anything else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from turnlog.errors import TurnlogError
from turnlog.notify.channels import NotifyChannel
from turnlog.notify.delivery import (
    LOCAL_MAX_AGE_SECONDS,
    BurstLimit,
    SendNotification,
    deliver_next,
    send_through_channel,
)
from turnlog.notify.notification import (
    Notification,
    RedactText,
    build_redaction,
    combine_notifications,
    compose_notification,
    make_notification_id,
)
from turnlog.notify.queue import MIN_COMBINED_MESSAGES, NotifyQueue
from turnlog.notify.settings import NotifyConfig
from turnlog.notify.triggers import DAY_PATH, Alert, AlertRecord, SessionSnapshot, TriggerMachine, encode_record
from turnlog.store.file_lock import try_lock_file

LOCK_FILE_NAME = "notify.lock"
_POLL_SECONDS = 0.5
_IDLE_WAIT_SECONDS = 5.0
_MIN_COST_SECONDS = 15.0
_COST_SHARE = 20.0
"""Computing costs takes at most this part of the time."""
_STOP_TIMEOUT_SECONDS = 3.0
_LOCK_TRIES, _LOCK_RETRY_SECONDS = 5, 0.1
_MAX_UNSTORED = 1_000

TellUser = Callable[[str], object]


class SessionSource(Protocol):
    """Reports what sessions are doing."""

    def poll(self) -> Sequence[SessionSnapshot | str]:
        """Return the sessions that have changed, and the paths of those that are gone."""


class CostReading(NamedTuple):
    """What sessions have cost so far, in dollars."""

    sessions: dict[str, float]
    """By session id."""
    day: str
    today: float


ReadCosts = Callable[[], CostReading]


@contextmanager
def hold_notifier_lock(folder: Path) -> Iterator[bool]:
    """Try to become the process that sends notifications; yield whether this succeeded."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for attempt in range(_LOCK_TRIES):
        with try_lock_file(folder / LOCK_FILE_NAME) as is_mine:
            if is_mine or attempt == _LOCK_TRIES - 1:
                yield is_mine
                return
        time.sleep(_LOCK_RETRY_SECONDS)  # `turnlog notify status` holds the lock for a moment


def is_notifier_running(folder: Path) -> bool:
    """Return whether a process is sending notifications now."""
    if not (folder / LOCK_FILE_NAME).exists():
        return False
    with try_lock_file(folder / LOCK_FILE_NAME) as is_mine:
        return not is_mine


class SessionNotifier:
    """Turns what sessions do into messages in the queue."""

    def __init__(
        self,
        config: NotifyConfig,
        queue: NotifyQueue,
        source: SessionSource,
        *,
        clock: Callable[[], float] = time.time,
        redact: RedactText | None = None,
        on_notification: Callable[[Notification], object] | None = None,
    ) -> None:
        self.config = config
        self.costs: CostReading | None = None
        """The latest costs; set by another thread."""
        self.has_changes = True
        """Whether something has changed since the costs were computed."""
        self._queue = queue
        self._source = source
        self._clock = clock
        self._redact = redact or build_redaction()
        self._on_notice = on_notification
        self._machine = TriggerMachine(config.rules, queue.load_records())
        self._sessions: dict[str, SessionSnapshot] = {}
        self._applied_costs: CostReading | None = None
        self._stored = {path: encode_record(record) for path, record in self._machine.records.items()}
        self._records: dict[str, AlertRecord] = {}
        self._notices: list[tuple[str, float, Notification]] = []
        self._outdated: list[str] = []
        self._page_notices: list[Notification] = []

    def is_quiet(self) -> bool:
        """Return whether these are quiet hours."""
        quiet = self.config.quiet
        return quiet is not None and quiet.contains(datetime.fromtimestamp(self._clock()).astimezone())

    def run_round(self) -> bool:
        """Look at all sessions once; return whether there are new messages in the queue."""
        now, is_quiet = self._clock(), self.is_quiet()
        due = self._read_changes() | self._machine.held_paths
        costs = self.costs
        if costs is not self._applied_costs:
            self._applied_costs = costs
            due |= self._sessions.keys()
        alerts: list[Alert] = []
        for path in sorted(due & self._sessions.keys()):
            session = self._sessions[path]
            cost = costs.sessions.get(session.session_id) if costs else None
            alerts += self._machine.check_session(session, now, cost=cost, is_quiet=is_quiet)
            self._note_record(path)
        if costs is not None and self.config.daily_cost is not None:
            alerts += self._machine.check_day(costs.day, costs.today, self.config.daily_cost, is_quiet=is_quiet)
            self._note_record(DAY_PATH)
        page_notices = [self._add_notices(alert, now) for alert in alerts]
        self._outdated += self._machine.take_outdated_messages()
        if len(page_notices) >= MIN_COMBINED_MESSAGES:
            page_notices = [combine_notifications(page_notices, make_notification_id())]
        self._page_notices += page_notices
        return self._store_changes()

    def _read_changes(self) -> set[str]:
        changed = set()
        for item in self._source.poll():
            if isinstance(item, str):
                self._sessions.pop(item, None)
                self._forget_session(item)
            elif self.config.allows_project(item.project):
                self._sessions[item.path] = item
                changed.add(item.path)
            else:
                self._sessions.pop(item.path, None)
                self._forget_session(item.path)
        self.has_changes = self.has_changes or bool(changed)
        return changed

    def _forget_session(self, path: str) -> None:
        self._machine.forget_session(path)
        self._note_record(path)

    def _note_record(self, path: str) -> None:
        record = self._machine.records.get(path)
        if record is None or (record == AlertRecord() and path not in self._stored):
            return
        if self._stored.get(path) != (data := encode_record(record)):
            self._stored[path] = data
            self._records[path] = record

    def _add_notices(self, alert: Alert, now: float) -> Notification:
        """Add the messages about an alert; return the one for pages."""
        key = make_notification_id()
        self._machine.name_message(alert, key)
        if alert.session is not None:
            self._note_record(alert.session.path)
        by_content = {
            content: compose_notification(alert, content, self._redact, key=key, now=now)
            for content in {self.config.content, *(channel.content for channel in self.config.channels)}
        }
        for channel in self.config.channels:
            age = LOCAL_MAX_AGE_SECONDS if channel.is_local else self.config.max_age_hours * 3600
            self._notices.append((channel.name, now + age, by_content[channel.content]))
        return by_content[self.config.content]

    def _store_changes(self) -> bool:
        """Store everything that is new; if that fails, it is kept and stored in the next round."""
        if not (self._records or self._notices or self._page_notices or self._outdated):
            return False
        del self._notices[:-_MAX_UNSTORED], self._page_notices[:-_MAX_UNSTORED]
        self._queue.store_changes(self._records, self._notices, self._page_notices, self._outdated)
        stored = self._page_notices
        self._records, self._notices, self._page_notices, self._outdated = {}, [], [], []
        if self._on_notice is not None:
            for notice in stored:
                self._on_notice(notice)
        return bool(stored)


class NotifierThreads:
    """Runs a notifier with its sending threads until it is stopped."""

    def __init__(
        self,
        config: NotifyConfig,
        folder: Path,
        source: SessionSource,
        *,
        read_costs: ReadCosts | None = None,
        tell: TellUser = str,
        on_notification: Callable[[Notification], object] | None = None,
        send: SendNotification = send_through_channel,
    ) -> None:
        self._config = config
        self._folder = folder
        self._source = source
        self._read_costs = read_costs if config.counts_cost else None
        self._tell = tell
        self._on_notice = on_notification
        self._send = send
        self._ending = threading.Event()
        self._wakes = {channel.name: threading.Event() for channel in config.channels}
        self._problems: set[str] = set()

    def run(self, should_stop: Callable[[], bool]) -> None:
        """Watch and notify until `should_stop` returns True; the caller holds the lock."""
        with NotifyQueue(self._folder) as queue:
            queue.prune_records()
            notifier = SessionNotifier(self._config, queue, self._source, on_notification=self._on_notice)
            threads = [
                threading.Thread(target=self._serve_channel, args=[channel, notifier], name="notify", daemon=True)
                for channel in self._config.channels
            ]
            if self._read_costs is not None:
                threads.append(threading.Thread(target=self._watch_costs, args=[notifier], name="costs", daemon=True))
            for thread in threads:
                thread.start()
            try:
                while not should_stop():
                    self._watch_once(notifier)
            finally:
                self._end_threads(threads)

    def _watch_once(self, notifier: SessionNotifier) -> None:
        started = time.monotonic()
        with self._report_problems():
            if notifier.run_round():
                for wake in self._wakes.values():
                    wake.set()
        self._ending.wait(max(_POLL_SECONDS, 4 * (time.monotonic() - started)))

    def _end_threads(self, threads: Sequence[threading.Thread]) -> None:
        self._ending.set()
        for wake in self._wakes.values():
            wake.set()
        deadline = time.monotonic() + _STOP_TIMEOUT_SECONDS
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))

    def _serve_channel(self, channel: NotifyChannel, notifier: SessionNotifier) -> None:
        wake = self._wakes[channel.name]
        bursts = {True: BurstLimit(), False: BurstLimit()}
        while not self._ending.is_set():
            with self._report_problems(), NotifyQueue(self._folder) as queue:
                while not self._ending.is_set():
                    wake.clear()
                    if notifier.is_quiet() or not self._deliver_next(queue, channel, bursts):
                        waits = [
                            queue.compute_wait(channel.name),
                            *(burst.compute_pause() for burst in bursts.values()),
                        ]
                        wake.wait(min([_IDLE_WAIT_SECONDS, *(wait for wait in waits if wait)]))
            self._ending.wait(_IDLE_WAIT_SECONDS)

    def _deliver_next(self, queue: NotifyQueue, channel: NotifyChannel, bursts: Mapping[bool, BurstLimit]) -> bool:
        """Deliver the next message, an urgent one first; return whether there was any."""
        queue.combine_messages(channel.name)
        for is_urgent, burst in bursts.items():
            if burst.compute_pause():
                continue
            if deliver_next(queue, channel, self._send, is_urgent=is_urgent) is not None:
                burst.add_message()
                return True
        return False

    def _watch_costs(self, notifier: SessionNotifier) -> None:
        pause = 0.0
        while not self._ending.wait(pause):
            pause = _MIN_COST_SECONDS
            if notifier.has_changes and self._read_costs is not None:
                notifier.has_changes = False
                started = time.monotonic()
                with self._report_problems():
                    notifier.costs = self._read_costs()
                pause = max(pause, _COST_SHARE * (time.monotonic() - started))

    @contextmanager
    def _report_problems(self) -> Iterator[None]:
        """Report a problem once and continue, since it may be temporary, such as a full disk."""
        try:
            yield
        except (TurnlogError, OSError) as error:
            if str(error) not in self._problems:
                self._problems.add(str(error))
                self._tell(str(error))
