"""Times of entries as elements that a script can write in another way."""

from __future__ import annotations

from markupsafe import Markup

from turnlog.session.clock import parse_timestamp
from turnlog.web.amounts import format_datetime_attribute, format_local_time


def render_time(text: str | None) -> Markup:
    """A time, in the time zone of this machine; nothing where there is none."""
    found = parse_timestamp(text)
    if found is None:
        return Markup("")
    seconds = found.timestamp()
    return Markup('<time datetime="{}">{}</time>').format(
        format_datetime_attribute(seconds), format_local_time(seconds)
    )


def count_seconds_between(started: str | None, ended: str | None) -> float | None:
    """Seconds from one time to another; None where one is not known."""
    begin, end = parse_timestamp(started), parse_timestamp(ended)
    return (end - begin).total_seconds() if begin and end else None
