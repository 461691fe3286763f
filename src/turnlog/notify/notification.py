"""The text of a notification: redacted, short, on one line each, and no more than the user allows.

    content    headline                          body
    none       A session needs you
    title      Needs you: Fix the cent rounding  webshop: waiting for permission
    text       Needs you: Fix the cent rounding  ~/code/webshop: may be waiting for permission: Bash: npm test

Titles and states come from transcripts, which others may have written. If redaction fails, none of this text is sent.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from turnlog.notify.channels import ContentLevel
from turnlog.notify.triggers import ALERT_KINDS, Alert, SessionSnapshot
from turnlog.session.clock import to_iso_time

if TYPE_CHECKING:
    from turnlog.redact.rules import SecretRules

MAX_TITLE_CHARS = 120
MAX_BODY_CHARS = 400
_MAX_COMBINED_TITLES = 5
_MAX_SOURCE_CHARS = 8_000
"""How much of a text is redacted; the rest would be cut anyway."""
_SPARE_CHARS = 1_000
"""How much is dropped from the end of a text that was cut before its redaction: it may be part of a secret."""
RedactText = Callable[[str], str]


class Notification(Struct, frozen=True, omit_defaults=True):
    """A message as it is stored and sent; the fields that `content` excludes are empty."""

    id: str
    """Unique; it stays the same when the message is sent again, so that a receiver can drop repeats."""
    kind: str
    """needs, failed, finished, context, cost or test."""
    time: str
    headline: str
    body: str = ""
    session_id: str | None = None
    title: str | None = None
    project: str | None = None
    state: str | None = None
    members: tuple[Notification, ...] = ()
    """The messages that this one combines."""

    @property
    def text(self) -> str:
        """The whole message as text for people."""
        return f"{self.headline}\n{self.body}" if self.body else self.headline


def compose_notification(
    alert: Alert, content: ContentLevel, redact: RedactText, *, key: str, now: float
) -> Notification:
    """Compose the message for an alert; if redaction fails, compose it without any text from the session."""
    plain = Notification(key, alert.kind, _format_time(now), _describe_alert(alert))
    if content == "none" or alert.session is None:
        return plain
    try:
        return _add_details(plain, alert, alert.session, content, redact)
    except Exception:  # noqa: BLE001 - a rule from another package can raise anything, and nothing unredacted may leave
        return plain


def combine_notifications(notices: Sequence[Notification], key: str) -> Notification:
    """Combine several messages into one, with how many of each kind there are and the titles of the first few."""
    members = tuple(member for notice in notices for member in notice.members or (notice,))
    kinds = [kind for kind in ALERT_KINDS if any(member.kind == kind for member in members)]
    counts = [_count_sessions(kind, sum(member.kind == kind for member in members)) for kind in kinds]
    titles = [member.title for member in members if member.title]
    names = ", ".join(titles[:_MAX_COMBINED_TITLES])
    more = len(members) - _MAX_COMBINED_TITLES
    body = clean_text(f"{names} and {more} more" if titles and more > 0 else names, MAX_BODY_CHARS)
    return Notification(key, kinds[0], max(member.time for member in members), ", ".join(counts), body, members=members)


def _count_sessions(kind: str, count: int) -> str:
    whose = "1 session" if count == 1 else f"{count} sessions"
    match kind:
        case "needs":
            return f"{whose} need{'s' if count == 1 else ''} you"
        case "failed" | "finished":
            return f"{whose} {kind}"
        case "context":
            return f"{whose} with a nearly full context window"
    return "1 cost limit" if count == 1 else f"{count} cost limits"


def compose_test_notification(now: float) -> Notification:
    """Compose the made-up message of `turnlog notify test`."""
    words = "Notifications work. No session needs you."
    return Notification(make_notification_id(), "test", _format_time(now), "Test from turnlog", words)


def _format_time(seconds: float) -> str:
    return to_iso_time(datetime.fromtimestamp(seconds, UTC)) or ""


def make_notification_id() -> str:
    return str(uuid.uuid4())


def build_redaction() -> RedactText:
    """Return a function that redacts text; the rules are loaded on the first call."""

    @cache
    def load_rules() -> SecretRules:
        from turnlog.redact.rules import SecretRules

        return SecretRules()

    def redact_text(text: str) -> str:
        from turnlog.redact.redactor import Redactor

        return Redactor(load_rules()).redact_text(text)

    return redact_text


def clean_text(text: str, limit: int) -> str:
    """Put text on one line, remove control characters, and shorten it."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _describe_alert(alert: Alert) -> str:
    """Describe an alert without any text from the session."""
    match alert.kind:
        case "needs":
            return "A session needs you"
        case "failed":
            return "A session failed"
        case "finished":
            return f"A session finished after {_format_minutes(alert.work_seconds)}"
        case "context":
            return f"The context window of a session is {int(alert.amount)} % full"
        case "cost":
            whose = "Today's sessions" if alert.session is None else "A session"
            return f"{whose} cost ${alert.amount:,.2f} so far"


def _add_details(
    plain: Notification, alert: Alert, session: SessionSnapshot, content: ContentLevel, redact: RedactText
) -> Notification:
    title = _redact_and_clean(session.title, redact, MAX_TITLE_CHARS) or "(no title)"
    folder = _shorten_home(session.project) if content == "text" else PurePath(session.project).name
    project = _redact_and_clean(folder, redact, MAX_TITLE_CHARS)
    state = _redact_and_clean(session.words, redact, MAX_BODY_CHARS) if content == "text" else None
    reason = _describe_reason(alert, session) if state is None or alert.kind in ("context", "cost") else state
    return msgspec.structs.replace(
        plain,
        headline=f"{_name_kind(alert)}: {title}",
        body=": ".join(filter(None, (project, reason))),
        session_id=_redact_and_clean(session.session_id, redact, MAX_TITLE_CHARS),
        title=title,
        project=project,
        state=state,
    )


def _name_kind(alert: Alert) -> str:
    names = {"needs": "Needs you", "failed": "Failed", "finished": "Finished", "context": "Context nearly full"}
    return names.get(alert.kind, "Cost limit")


def _describe_reason(alert: Alert, session: SessionSnapshot) -> str:
    match alert.kind:
        case "needs":
            return "waiting for permission" if session.state == "permission" else "waiting for your answer"
        case "failed":
            return "the API failed"
        case "finished":
            return f"finished after {_format_minutes(alert.work_seconds)}"
        case "context":
            return f"{int(alert.amount)} % of the context window is full"
        case "cost":
            return f"${alert.amount:,.2f} so far"


def _format_minutes(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


def _redact_and_clean(text: str, redact: RedactText, limit: int) -> str:
    """Redact text both before and after its control characters are removed, because either form may hide a secret."""
    source = text[:_MAX_SOURCE_CHARS]
    redacted = redact(source)
    if len(text) > _MAX_SOURCE_CHARS:
        redacted = redacted[: max(len(redacted) - _SPARE_CHARS, 0)]
    return clean_text(redact(clean_text(redacted, _MAX_SOURCE_CHARS)), limit)


def _shorten_home(folder: str) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - compared as text
    return "~" + folder[len(home) :] if folder == home or folder.startswith(home + os.sep) else folder
