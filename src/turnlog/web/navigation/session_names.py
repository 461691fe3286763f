"""Sessions by the names that people use in addresses: the start of an id, a title or a part of one, or `last`.

/s/22161731                          the command line prints ids in this form
/replay/Volume%20discounts
/live/last                           the session with the newest message
/api/s/2216/turns
/compare?left=2216&right=last
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import apsw

from turnlog.entries.layout import list_session_files
from turnlog.errors import TurnlogError
from turnlog.session.clock import to_epoch_seconds
from turnlog.web.machine import Machine, SessionRefs

LAST_NAME = "last"
MAX_CANDIDATES = 20
MAX_CLOSEST = 5
MAX_NAME_CHARS = 200
"""Longer names are cut in messages."""
_MIN_ID_CHARS = 4
_ID_START_PATTERN = re.compile(r"[0-9a-f]{4,8}|[0-9a-f]{8}-[0-9a-f-]{0,27}|[0-9a-f]{9,32}", re.IGNORECASE | re.ASCII)
_WHOLE_REF_PATTERN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.\d+)?", re.IGNORECASE | re.ASCII)
_SESSION_QUERY = """
    SELECT session.id, uuid, custom, ai, summary, title, ended, mtime_ns, coalesce(cwd, name.text),
           gone IS NULL AND (talks OR offset = 0 AND size > 0) -- what was not read yet may be a conversation
    FROM file JOIN session ON session.id = file.session JOIN name ON name.id = project WHERE file.kind = 'session'
"""


class SessionCandidate(NamedTuple):
    ref: str
    uuid: str
    title: str
    project: str


class SessionNameError(TurnlogError):
    """No session, or more than one, has the name in an address."""

    def __init__(
        self, name: str, candidates: Sequence[SessionCandidate], total: int, build_address: Callable[[str], str]
    ) -> None:
        self.name = name[:MAX_NAME_CHARS]
        self.candidates = candidates
        """Those that have the name, or else those with the most similar names."""
        self.total = total
        """How many sessions have the name."""
        self.build_address = build_address
        """Returns the address that was asked for with a reference instead of the name."""
        super().__init__(self.explanation)

    @property
    def status(self) -> int:
        return 300 if self.total else 404

    @property
    def explanation(self) -> str:
        if self.total:
            return f"{self.total} sessions are called {self.name!r}; use more of the id or of the title"
        if is_whole_ref(self.name):
            return f"no session {self.name}; if it is new, try again in a moment"
        return (
            f"no session is called {self.name!r}; use an id, the start of one ({_MIN_ID_CHARS} characters or more), a"
            f" title, or {LAST_NAME!r}"
        )


class _NamedSession(NamedTuple):
    number: int
    uuid: str
    titles: tuple[str, ...]
    """The shown one last."""
    ended: float
    project: str
    is_talking: bool
    """Whether it has a conversation and was not deleted."""

    @property
    def folded_titles(self) -> list[str]:
        return [_fold_text(title) for title in self.titles]


def is_whole_ref(ref: str) -> bool:
    """Return whether a text is a session's whole reference rather than a name."""
    return _WHOLE_REF_PATTERN.fullmatch(ref) is not None


def resolve_session_name(machine: Machine, name: str, build_address: Callable[[str], str] = str) -> str:
    """Return the reference of the session with a name; raise `SessionNameError` unless there is exactly one."""
    if is_whole_ref(name):
        return name
    sessions = _list_sessions(machine.store.db)
    found = _match_sessions(sessions, name)
    if not found and (ref := _find_unindexed_session(machine, name)):
        return ref
    refs = machine.load_refs()
    if len(found) == 1:
        return refs.format_ref(found[0].number, found[0].uuid)
    shown = found[:MAX_CANDIDATES] or _find_closest(sessions, name)
    raise SessionNameError(name, [_to_candidate(item, refs) for item in shown], len(found), build_address)


def build_unknown_error(machine: Machine, ref: str, build_address: Callable[[str], str]) -> SessionNameError:
    """Build the error for a whole reference that no session has."""
    closest = _find_closest(_list_sessions(machine.store.db), ref)
    refs = machine.load_refs()
    return SessionNameError(ref, [_to_candidate(item, refs) for item in closest], 0, build_address)


def list_newest_sessions(machine: Machine, count: int) -> list[SessionCandidate]:
    """List the sessions with the newest messages."""
    talking = [session for session in _list_sessions(machine.store.db) if session.is_talking]
    talking.sort(key=lambda session: session.ended, reverse=True)
    refs = machine.load_refs()
    return [_to_candidate(session, refs) for session in talking[:count]]


def _list_sessions(db: apsw.Connection) -> list[_NamedSession]:
    rows: Any = db.execute(_SESSION_QUERY)
    return [
        _NamedSession(
            number, uuid, tuple(filter(None, titles)), to_epoch_seconds(ended) or mtime / 1e9, project, bool(is_talking)
        )
        for number, uuid, *titles, ended, mtime, project, is_talking in rows
    ]


def _match_sessions(sessions: list[_NamedSession], name: str) -> list[_NamedSession]:
    """Find the sessions with an id or its start, else those with a title, else those whose title contains the name."""
    text = _fold_text(name)
    talking = [session for session in sessions if session.is_talking] or sessions
    if text == LAST_NAME:
        return sorted(talking, key=lambda session: session.ended, reverse=True)[:1]
    if _ID_START_PATTERN.fullmatch(text) and (by_id := [item for item in sessions if item.uuid.startswith(text)]):
        return by_id
    for group in (talking, sessions):
        exact = [session for session in group if text in session.folded_titles]
        found = exact or [item for item in group if text and any(text in title for title in item.folded_titles)]
        if found:
            return sorted(found, key=lambda session: session.ended, reverse=True)
    return []


def _find_unindexed_session(machine: Machine, name: str) -> str | None:
    """Find a session that is too new for the index by the start of its id."""
    text = name.lower()
    if not _ID_START_PATTERN.fullmatch(text):
        return None
    files = (file for folder in machine.config_dirs for file in list_session_files(folder))
    found = {file.session_id for file in files if file.session_id.startswith(text)}
    return found.pop() if len(found) == 1 else None


def _find_closest(sessions: list[_NamedSession], name: str) -> list[_NamedSession]:
    """Find the sessions whose ids or titles are most similar to a name."""
    from difflib import get_close_matches  # slow to import, and rarely needed

    text = _fold_text(name)[:MAX_NAME_CHARS]
    newest = sorted(sessions, key=lambda session: session.ended)  # of equal names, the newest is found
    by_id = {session.uuid[: max(len(text), _MIN_ID_CHARS)]: session for session in newest}
    by_title = {title[:MAX_NAME_CHARS]: session for session in newest for title in session.folded_titles}
    words = [word for word in text.split() if len(word) >= _MIN_ID_CHARS]
    near = [by_id[key] for key in get_close_matches(text, by_id, MAX_CLOSEST, 0.7)] if text else []
    near += [by_title[key] for key in get_close_matches(text, by_title, MAX_CLOSEST, 0.5)] if text else []
    near += [session for title, session in by_title.items() if any(word in title for word in words)][-MAX_CLOSEST:]
    return list({session.number: session for session in near}.values())[:MAX_CLOSEST]


def _to_candidate(session: _NamedSession, refs: SessionRefs) -> SessionCandidate:
    ref = refs.format_ref(session.number, session.uuid)
    return SessionCandidate(ref, session.uuid, session.titles[-1] if session.titles else "(no title)", session.project)


def _fold_text(text: str) -> str:
    return " ".join(text.split()).casefold()
