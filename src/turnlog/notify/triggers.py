"""Finds the moments at which a user should be notified: once for each state of a session.

    needs      the session waits for a person: for permission, an answer, a plan, or whatever Claude Code reports
    failed     the API failed, and there is no further attempt
    finished   the model has answered, or its client has exited, after enough minutes of work
    context    the context window is nearly full
    cost       the session, or all sessions of a day, have reached a limit

An inferred state is reported only after it has lasted two seconds. A state is reported once, and again only after the
session has left it and entered it again. Because a session can go from one question to the next between two checks, a
state also counts as new if its start has changed. The record of a session (`AlertRecord`) is stored in the same
transaction as the messages, so a restart neither repeats a notification nor loses one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct, field

from turnlog.session.clock import parse_timestamp

AlertKind = Literal["needs", "failed", "finished", "context", "cost"]
ALERT_KINDS: tuple[AlertKind, ...] = get_args(AlertKind)

HOLD_SECONDS = 2.0
"""How long an inferred state must hold, and how long a sure one must be absent before it counts as new."""
CONTEXT_MARGIN_PERCENT = 5
"""How far the context must fall below the limit before it can be reported again."""
URGENT_KINDS: frozenset[AlertKind] = frozenset({"needs", "failed"})
"""Alerts that need a person at once; when the state is over, a message that was not delivered yet would be untrue."""
_FINISHED_STATES = frozenset({"finished", "ended", "background"})
"""States after a turn: a client that runs one prompt exits at once, and a background command may run forever."""
DAY_PATH = "day"
"""The path under which the cost of a day is remembered; session paths are absolute."""


class SessionSnapshot(Struct, frozen=True):
    """What is known about a session at a moment."""

    path: str
    session_id: str
    title: str
    project: str
    column: str
    """needs, working, idle or ended."""
    state: str
    """The kind of state, such as `running` or `permission`."""
    words: str
    """The state in words."""
    since: str | None = None
    """When the state started."""
    is_sure: bool = False
    """Whether Claude Code itself reported the state."""
    context: int = 0
    """Tokens in the context window."""
    window: int | None = None
    """The size of the window; None for an unknown model."""


class AlertRules(NamedTuple):
    """Which states are reported."""

    kinds: frozenset[AlertKind] = frozenset(ALERT_KINDS)
    work_seconds: float = 300.0
    """A session is reported as finished only after this much work."""
    context_percent: int = 90
    session_cost: float | None = None
    """In dollars; None if there is no limit."""


class Alert(NamedTuple):
    """Something that a user should be notified about."""

    kind: AlertKind
    session: SessionSnapshot | None
    """None if it is about all sessions of a day."""
    work_seconds: float = 0.0
    amount: float = 0.0
    """The percentage of the context window, or dollars."""


class AlertMark(Struct, omit_defaults=True):
    """A state that was reported."""

    since: str | None = None
    words: str = ""
    """A hash of its words; the words themselves may contain secrets and are not stored."""
    left: float | None = None
    """When the session left it; None while it holds."""
    notice: str = ""
    """The id of the message about it; empty once it no longer matters whether that was delivered."""


class AlertRecord(Struct, omit_defaults=True):
    """What is remembered about a session across restarts."""

    worked: float = 0.0
    """Seconds of work since the last rest or report, without the current stretch."""
    working_from: float | None = None
    """When the current stretch of work started."""
    rests_from: float | None = None
    """When it came to rest after its work: neither working nor waiting for a person."""
    was_active: bool = False
    """Whether it has been seen working or waiting; limits are not reported for other sessions."""
    marks: dict[str, AlertMark] = field(default_factory=dict)


class TriggerMachine:
    """Follows sessions through their states, and returns alerts."""

    def __init__(self, rules: AlertRules, records: Mapping[str, AlertRecord] | None = None) -> None:
        self._rules = rules
        self.records: dict[str, AlertRecord] = dict(records or {})
        self._seen: set[str] = set()
        """Sessions that have been checked since the program started."""
        self._held: dict[str, dict[AlertKind, float]] = {}
        """States that must hold for a while before they are reported, with the time at which they were first seen."""
        self._outdated: list[str] = []

    @property
    def held_paths(self) -> frozenset[str]:
        """The sessions with a state that will be reported if it lasts."""
        return frozenset(self._held)

    def check_session(
        self, session: SessionSnapshot, now: float, *, cost: float | None = None, is_quiet: bool = False
    ) -> list[Alert]:
        """Return what to report about a session now; during quiet hours, states are only followed."""
        record = self.records.setdefault(session.path, AlertRecord())
        _track_work(record, session, now, was_watched=session.path in self._seen)
        alerts: list[Alert] = []
        for kind in ALERT_KINDS:
            if kind in self._rules.kinds:
                alerts += self._check_kind(kind, session, record, now, cost, is_quiet)
        self._seen.add(session.path)
        return alerts

    def forget_session(self, path: str) -> None:
        """Stop following a session that is no longer on the board; what was notified is still remembered."""
        self._held.pop(path, None)
        self._seen.discard(path)
        if (record := self.records.get(path)) is not None:
            for kind in URGENT_KINDS & record.marks.keys():
                self._outdate(record.marks[kind])

    def name_message(self, alert: Alert, key: str) -> None:
        """Remember the id of the message about an alert."""
        if alert.session is not None and (mark := self.records[alert.session.path].marks.get(alert.kind)) is not None:
            mark.notice = key

    def take_outdated_messages(self) -> list[str]:
        """Return the ids of the messages about states that were left since the last call."""
        outdated, self._outdated = self._outdated, []
        return outdated

    def _outdate(self, mark: AlertMark) -> None:
        if mark.notice:
            self._outdated.append(mark.notice)
            mark.notice = ""

    def check_day(self, day: str, cost: float, limit: float, *, is_quiet: bool = False) -> list[Alert]:
        """Return what to report about a day's cost, at most once a day."""
        record = self.records.setdefault(DAY_PATH, AlertRecord())
        mark = record.marks.get("cost")
        if "cost" not in self._rules.kinds or is_quiet or cost < limit or (mark is not None and mark.since == day):
            return []
        record.marks["cost"] = AlertMark(day)
        return [Alert("cost", None, amount=cost)]

    def _check_kind(
        self,
        kind: AlertKind,
        session: SessionSnapshot,
        record: AlertRecord,
        now: float,
        cost: float | None,
        is_quiet: bool,
    ) -> Iterator[Alert]:
        alert = self._judge(kind, session, record, cost)
        mark = record.marks.get(kind)
        held = self._held.get(session.path, {})
        if alert is None:
            held.pop(kind, None)
            self._leave(kind, session, record, mark, now)
        elif mark is not None and kind not in held and not self._is_new(kind, session, mark, now):
            mark.left = None
        else:
            held_from = held[kind] = min(held.get(kind, now), now)  # the clock may have been set back
            if not is_quiet and now - held_from >= _choose_delay(kind, session):
                del held[kind]
                if mark is not None and kind in URGENT_KINDS:
                    self._outdate(mark)
                record.marks[kind] = AlertMark(session.since, _hash_words(session.words))
                if kind == "finished":
                    record.worked = 0.0
                yield alert
        if held:
            self._held[session.path] = held
        else:
            self._held.pop(session.path, None)

    def _judge(
        self, kind: AlertKind, session: SessionSnapshot, record: AlertRecord, cost: float | None
    ) -> Alert | None:
        """Return the alert if the session is in its state now."""
        rules = self._rules
        match kind:
            case "needs":
                holds = session.column == "needs" and session.state != "error"
                return Alert(kind, session) if holds else None
            case "failed":
                holds = session.column == "needs" and session.state == "error"
                return Alert(kind, session) if holds else None
            case "finished":
                is_done = session.state in _FINISHED_STATES and session.column != "working"
                holds = is_done and record.worked > 0 and record.worked >= rules.work_seconds
                return Alert(kind, session, record.worked) if holds else None
            case "context":
                percent = measure_context(session)
                holds = record.was_active and percent >= rules.context_percent
                return Alert(kind, session, amount=percent) if holds else None
            case "cost":
                limit = rules.session_cost
                holds = record.was_active and limit is not None and cost is not None and cost >= limit
                return Alert(kind, session, amount=cost or 0.0) if holds else None

    def _leave(
        self, kind: AlertKind, session: SessionSnapshot, record: AlertRecord, mark: AlertMark | None, now: float
    ) -> None:
        """Remember when a notified state was left."""
        if kind == "context":
            if session.window and measure_context(session) < self._rules.context_percent - CONTEXT_MARGIN_PERCENT:
                record.marks.pop(kind, None)
        elif mark is not None and mark.left is None:
            mark.left = now
            if kind in URGENT_KINDS:
                self._outdate(mark)

    def _is_new(self, kind: AlertKind, session: SessionSnapshot, mark: AlertMark, now: float) -> bool:
        """Return whether the current state differs from the one that was reported."""
        if kind in ("context", "cost"):
            return False
        has_other_start = session.since != mark.since
        if kind == "finished":  # work is only counted while it is observed
            return has_other_start or session.since is None
        if session.path not in self._seen:  # the session may have left the state while the program was not running
            return has_other_start
        if mark.left is None:
            return has_other_start and _hash_words(session.words) != mark.words
        was_entered_again = now - mark.left >= HOLD_SECONDS and (session.is_sure or session.since is None)
        return has_other_start or was_entered_again


def _track_work(record: AlertRecord, session: SessionSnapshot, now: float, *, was_watched: bool) -> None:
    """Add up the time that a session works; time that it waits for a person doesn't count.

    If it stopped working while it wasn't being watched, its work ended when its current state started, not now.
    """
    is_working = session.column == "working"
    record.was_active = record.was_active or is_working or session.column == "needs"
    if is_working and record.working_from is None:
        if record.rests_from is not None and now - record.rests_from >= HOLD_SECONDS:
            record.worked = 0.0
        record.working_from, record.rests_from = now, None
    elif not is_working and record.working_from is not None:
        stopped = None if was_watched else parse_timestamp(session.since)
        end = now if stopped is None else min(now, stopped.timestamp())
        record.worked += max(end - record.working_from, 0.0)
        record.working_from = None
    if not is_working and session.column != "needs" and record.rests_from is None:
        record.rests_from = now


def measure_context(session: SessionSnapshot) -> float:
    """Return how full the context window is, in percent; 0 if its size is unknown."""
    return 100.0 * session.context / session.window if session.window else 0.0


def _choose_delay(kind: AlertKind, session: SessionSnapshot) -> float:
    if kind in ("context", "cost"):
        return 0.0
    # A prompt that was typed ahead follows a finished turn at once.
    return 0.0 if session.is_sure and kind != "finished" else HOLD_SECONDS


def _hash_words(words: str) -> str:
    return sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def encode_record(record: AlertRecord) -> bytes:
    return msgspec.json.encode(record)


def decode_records(rows: Iterable[tuple[str, bytes]]) -> dict[str, AlertRecord]:
    """Decode stored records; skip those that can't be decoded."""
    records = {}
    for path, data in rows:
        try:
            records[path] = msgspec.json.decode(data, type=AlertRecord)
        except (msgspec.DecodeError, ValueError):
            continue
    return records
