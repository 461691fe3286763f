"""Read, search, follow, count, trace, share, keep and edit the session files that Claude Code writes.

    import turnlog

    session = turnlog.open("~/.claude/projects/…/….jsonl")     # or an id, the start of one, a title, "last"
    for turn in session.turns:
        print(turn.index, turn.kind, turn.text, turn.outcome)
    session.messages, session.calls, session.graph, session.usage
    session.conversation().messages                             # what the client would send if resumed now

What the words mean is in docs/glossary.md. Nothing is imported before it is used.
"""

from __future__ import annotations

from turnlog._version import __version__

TYPE_CHECKING = False  # as in typing, whose import alone would double the time of `turnlog --version`
if TYPE_CHECKING:
    from turnlog.entries.entry import Entry, Scrap
    from turnlog.entries.reader import Transcript
    from turnlog.errors import TurnlogError
    from turnlog.session.calls import Call
    from turnlog.session.health.check import Finding, check
    from turnlog.session.message_usage import Usage
    from turnlog.session.messages import Message
    from turnlog.session.open import open, sessions
    from turnlog.session.session import Session
    from turnlog.session.turns import Turn

_WHERE = {
    "Call": "turnlog.session.calls",
    "Entry": "turnlog.entries.entry",
    "Finding": "turnlog.session.health.check",
    "Message": "turnlog.session.messages",
    "Scrap": "turnlog.entries.entry",
    "Session": "turnlog.session.session",
    "Transcript": "turnlog.entries.reader",
    "Turn": "turnlog.session.turns",
    "TurnlogError": "turnlog.errors",
    "Usage": "turnlog.session.message_usage",
    "check": "turnlog.session.health.check",
    "open": "turnlog.session.open",
    "sessions": "turnlog.session.open",
}

__all__ = [
    "Call",
    "Entry",
    "Finding",
    "Message",
    "Scrap",
    "Session",
    "Transcript",
    "Turn",
    "TurnlogError",
    "Usage",
    "__version__",
    "check",
    "open",
    "sessions",
]


if not TYPE_CHECKING:  # a type checker knows the names, and shall complain of others

    def __getattr__(name: str) -> object:
        if name not in _WHERE:
            raise AttributeError(f"module 'turnlog' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
