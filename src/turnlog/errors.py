"""The exceptions that turnlog raises, as a tree.

    TurnlogError            a failure with a one-line message for the user; exit status 1
    |-- UsageError          the arguments are wrong; exit status 2
    |-- NotFound            no session, file or entry has that name
    |-- Ambiguous           several sessions match; exit status 2
    |-- Unreadable          a file that can't be opened or is not a session
    |-- Changed             a file changed while turnlog was using it
    |-- Busy                another process is using the session
    |-- BrokenPlugin        a plugin from another package can't be loaded or has failed
    `-- Refused             Claude Code would not resume this session; includes the reason

Malformed content is never an exception: it is counted and explained (see `entries.entry.Scrap` and `session.check`).
"""

from __future__ import annotations


class TurnlogError(Exception):
    """A failure that is shown to the user as a single line."""

    exit_status = 1


class UsageError(TurnlogError):
    """The arguments are wrong."""

    exit_status = 2


class NotFound(TurnlogError):
    """No session, file or entry has that name."""


class Ambiguous(TurnlogError):
    """Several sessions match a name."""

    exit_status = 2


class Unreadable(TurnlogError):
    """A file can't be opened or read."""


class Changed(TurnlogError):
    """A file was replaced, written or truncated while turnlog was using it."""


class Busy(TurnlogError):
    """Another process is using the session: a client has it open, or another turnlog process is writing to it."""


class BrokenPlugin(TurnlogError):
    """A plugin from another package can't be loaded or has failed; the whole run is affected, not just one session."""

    def __init__(self, message: str, problem: str = "") -> None:
        super().__init__(message)
        self.problem = problem or message
        """The problem, without the plugin's name and the remedy."""


class Refused(TurnlogError):
    """Claude Code would not resume this session."""
