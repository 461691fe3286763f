"""Times of entries as elements that a script can write in another way."""

from __future__ import annotations

from markupsafe import Markup

from turnlog.session.clock import moment
from turnlog.web.amounts import local, stamp


def clock(text: str | None) -> Markup:
    """A time, in the time zone of this machine; nothing where there is none."""
    found = moment(text)
    if found is None:
        return Markup("")
    seconds = found.timestamp()
    return Markup('<time datetime="{}">{}</time>').format(stamp(seconds), local(seconds))


def between(started: str | None, ended: str | None) -> float | None:
    """Seconds from one time to another; None where one is not known."""
    begin, end = moment(started), moment(ended)
    return (end - begin).total_seconds() if begin and end else None
