"""What happened in a session, event by event."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify, locate_session
from turnlog.errors import Unreadable
from turnlog.live.events.event import AnyEvent
from turnlog.live.events.file_events import iter_session_events


def iter_events(
    session: str | Path, *, config: Config | None = None, notify: Notify | None = None
) -> Iterator[AnyEvent]:
    """Iterate over what happened in a session and its sub-agents, in chronological order (docs/events.md).

    The files are read while you iterate, so even a large session needs little memory. A session that is still being
    written ends where its files end now.
    """
    path = locate_session(session, config or load_config(), notify)
    if not path.exists():
        raise Unreadable(f"{path}: No such file or directory")
    return iter_session_events(path)
