"""What can go wrong, as one tree.

    TurnlogError            a failure with a one-line message for people; exit status 1
    |-- UsageError          the words of the call are off; exit status 2
    |-- NotFound            no session, file or entry of that name
    |-- Ambiguous           several sessions fit; exit status 2
    |-- Unreadable          a file that can't be opened or is no session
    |-- Changed             a file changed under our hands
    |-- Busy                another process is at it
    |-- BrokenPlugin        a plugin of another package can't be loaded, or failed
    `-- Refused             the real client would not resume this session, with its reason

Bad content is never an exception: it is counted and explained (see `entries.entry.Scrap` and `session.check`).
"""

from __future__ import annotations


class TurnlogError(Exception):
    """A failure that is told to the user in one line."""

    exit_status = 1


class UsageError(TurnlogError):
    """The words of the call are off."""

    exit_status = 2


class NotFound(TurnlogError):
    """There is no session, file or entry of that name."""


class Ambiguous(TurnlogError):
    """Several sessions fit the given name."""

    exit_status = 2


class Unreadable(TurnlogError):
    """A file can't be opened or read."""


class Changed(TurnlogError):
    """A file was replaced or cut while it was being read."""


class Busy(TurnlogError):
    """Another process is at it: a client has the session open, or another turnlog writes."""


class BrokenPlugin(TurnlogError):
    """A plugin of another package can't be loaded, or failed; it concerns the whole run, not one session."""

    def __init__(self, message: str, problem: str = "") -> None:
        super().__init__(message)
        self.problem = problem or message
        """What is wrong, without the name of the plugin and the remedy."""


class Refused(TurnlogError):
    """The real client would not resume this session."""
