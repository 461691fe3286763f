"""The channels of a server: one for each session that somebody follows, and one for the board."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from turnlog.entries.clients import Client, clients
from turnlog.live.board import Board, Row
from turnlog.live.events import Event, event, missed, told
from turnlog.live.follow import MAIN, Follow
from turnlog.live.opening import Opening
from turnlog.live.states import State, column, now, state
from turnlog.web.answers import templates
from turnlog.web.live.scribe import scribe
from turnlog.web.live.stream import Channel
from turnlog.web.place import Place

_AT_WORK = ("answering", "running", "waiting", "permission")
_FRESH = 600.0
"""A sub-agent whose file was not written for so many seconds is not at work, whatever it says."""
_CLIENTS = 1.0


class SessionChannel(Channel):
    """A session that is followed."""

    def __init__(self, path: Path, ref: str, place: Place) -> None:
        super().__init__(place.ending)
        self.ref = ref
        self.follow = Follow(path, Opening(place.timelines))
        self._scribe = scribe(ref, self.follow.crew.members.values())
        self._config_dirs = place.config_dirs
        self._client: Client | None = None
        self._asked = float("-inf")
        self._state = b""

    def _look(self) -> Sequence[Event]:
        found = [told(happening, self.follow.cursor(), self._scribe) for happening in self.follow.poll()]
        self.follow.rest()
        doing = self._doing()
        if doing.data != self._state:
            self._state = doing.data
            found.append(doing)
        return found

    def _missed(self, cursor: str | None) -> Iterator[Event]:
        doing = self._doing()
        if cursor == doing.cursor:
            return iter([doing])
        return self._all(missed(self.follow).since(cursor, self._scribe, self.at_work()), doing)

    @staticmethod
    def _all(events: Iterator[Event], doing: Event) -> Iterator[Event]:
        yield from events
        yield doing

    def _close(self) -> None:
        self.follow.close()

    def first(self) -> list[Event]:
        """What a page shows that is opened now."""
        with self._lock:
            found = missed(self.follow).since(None, self._scribe, self.at_work())
            doing = self._doing()
        return [*found, doing]

    def at_work(self) -> frozenset[str]:
        """The sub-agents that are at work."""
        doing = self._streams()
        return frozenset(name for name, one in doing.items() if one.kind in _AT_WORK)

    def _streams(self) -> dict[str, State]:
        """What each sub-agent is doing."""
        found = {}
        for name, fold in self.follow.folds.items():
            if name != MAIN:
                written = datetime.fromtimestamp(self.follow.written[name], UTC)
                is_fresh = time.time() - self.follow.written[name] < _FRESH
                doing = state(fold, now(), msgspec.structs.replace(self.follow.signs(), written=written))
                silent = State("silent", "nothing was written for long", doing.since)
                found[name] = doing if is_fresh or doing.kind not in _AT_WORK else silent
        return found

    def _doing(self) -> Event:
        """The event that says what everybody is doing."""
        signs = self.follow.signs()
        if (client := self._registered()) is not None:
            signs = msgspec.structs.replace(
                signs, is_open=client.is_here, status=client.status, waiting_for=client.waiting_for
            )
        doing = state(self.follow.folds[MAIN], now(), signs)
        streams = {
            name: {"kind": one.kind, "words": one.words, "since": one.since} for name, one in self._streams().items()
        }
        fields = msgspec.to_builtins(doing)
        return event("state", self.follow.cursor(), **fields, column=column(doing, now(), signs), streams=streams)

    def _registered(self) -> Client | None:
        if time.monotonic() - self._asked > _CLIENTS:
            self._asked = time.monotonic()
            known = [one for folder in self._config_dirs for one in clients(folder)]
            self._client = next((one for one in known if one.session_id == self.follow.path.stem), None)
        return self._client


class BoardChannel(Channel):
    """All sessions of the machine."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.ending)
        self._place = place
        self._board = Board(place.config_dirs)
        self._looked = -1.0
        self._refs: dict[str, str] = {}

    def _look(self) -> Sequence[Event]:
        self._looked = time.monotonic()
        changed = self._board.poll()
        found = []
        for row in changed:
            if isinstance(row, str):
                found.append(event("gone", "", ref=self._refs.pop(row, "")))
            else:
                found.append(event("row", "", session=self._told(row), html=card(self._told(row))))
        return found

    def _missed(self, cursor: str | None) -> Iterator[Event]:
        if self._looked < 0:
            self._looked = time.monotonic()
            self._board.poll()
        rows = [self._told(row) for row in self._sorted()]
        return iter([event("board", "", sessions=[{"session": row, "html": card(row)} for row in rows])])

    def _close(self) -> None:
        pass

    def _pace(self) -> float:
        return max(super()._pace(), 0.4)

    def rows(self) -> list[dict[str, Any]]:
        """The sessions as they are now."""
        if self._looked < 0 or time.monotonic() - self._looked > 1:
            self.look()
        with self._lock:
            return [self._told(row) for row in self._sorted()]

    @property
    def size(self) -> int:
        """How many files are followed."""
        return self._board.size

    def _sorted(self) -> list[Row]:
        return sorted(self._board.rows.values(), key=lambda row: -row.written)

    def _told(self, row: Row) -> dict[str, Any]:
        if row.path not in self._refs:
            self._refs[row.path] = self._ref(row)
        return {
            "ref": self._refs[row.path],
            "session_id": row.session_id,
            "title": row.title or "(no title)",
            "project": row.project,
            "git_branch": row.git_branch,
            "column": row.column,
            "written": datetime.fromtimestamp(row.written, UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "state": msgspec.to_builtins(row.state),
        }

    def _ref(self, row: Row) -> str:
        refs = self._place.refs()
        if row.session_id not in refs.doubled:
            return row.session_id
        sql = "SELECT session FROM file WHERE kind = 'session' AND path = ?"
        found = self._place.store.db.execute(sql, (row.path,)).fetchone()
        return refs.of(found[0], row.session_id) if found else row.session_id


def card(row: dict[str, Any]) -> str:
    """A session of the board as HTML."""
    return templates().get_template("live_card.html").render(row=row)


class Channels:
    """The channels of one server."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._sessions: dict[Path, SessionChannel] = {}
        self._board: BoardChannel | None = None

    def session(self, path: Path, ref: str) -> SessionChannel:
        """The channel of a session; for a thread, since opening one reads files."""
        with self._lock:
            self._sessions = {key: one for key, one in self._sessions.items() if not one.is_closed}
            if path not in self._sessions:
                self._sessions[path] = SessionChannel(path, ref, self._place)
            return self._sessions[path]

    def board(self) -> BoardChannel:
        """The channel of the board."""
        with self._lock:
            if self._board is None or self._board.is_closed:
                self._board = BoardChannel(self._place)
            return self._board
