"""The channels of a server: one for each session that somebody follows, and one for the board."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from turnlog.entries.clients import Client, list_clients
from turnlog.live.board import Board, BoardRow
from turnlog.live.crew import CrewMember
from turnlog.live.events import ItemRenderer, LiveEvent, build_catch_up, build_live_event, to_live_event
from turnlog.live.follower import MAIN_STREAM, SessionFollower
from turnlog.live.states import SessionState, choose_column, get_current_time, judge_state
from turnlog.live.window_start import StartFinder
from turnlog.render.html import HtmlWriter
from turnlog.render.text_folds import shorten_views
from turnlog.render.view_builder import build_item_views
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineAgent, TimelineHead, TimelineItem
from turnlog.web.answers import load_templates
from turnlog.web.live.stream import Channel
from turnlog.web.machine import Machine
from turnlog.web.reading.links import PageLinks, key_prefix


def build_item_renderer(ref: str, members: Iterable[CrewMember]) -> ItemRenderer:
    """Writes the items of a session; `members` are its sub-agents, as known when something is written."""

    def render_items(excerpt: Excerpt, items: Sequence[TimelineItem], agent: str | None) -> list[str]:
        links = PageLinks(ref, agent)
        html = HtmlWriter(links.picture, links, buttons=True)
        before = key_prefix(agent)
        made = shorten_views(build_item_views(excerpt, items, _build_head(members)), items)
        return [str(html.write_view(msgspec.structs.replace(view, key=before + view.key))) for view in made]

    return render_items


def _build_head(members: Iterable[CrewMember]) -> TimelineHead:
    """What is known of a session beside the lines that are shown: its sub-agents, with the calls that started them."""
    helpers = [
        TimelineAgent(member.agent_id, "subagent", member.type or None, member.description or None, member.call or None,
               None, None, None, 0, 0, 0, 0, 0, 0.0)
        for member in list(members)
    ]  # fmt: skip
    return TimelineHead(None, None, 0, [], [], [], helpers, [], [], [], [], [], [], None, None, 0.0, 0, 0, 0, 0)


_WORKING_STATES = ("answering", "running", "waiting", "permission")
_FRESH_SECONDS = 600.0
"""A sub-agent whose file was not written for so many seconds is not at work, whatever it says."""
_CLIENT_POLL_SECONDS = 1.0


class SessionChannel(Channel):
    """A session that is followed."""

    def __init__(self, path: Path, ref: str, place: Machine) -> None:
        super().__init__(place.ending)
        self.ref = ref
        self.follow = SessionFollower(path, StartFinder(place.timelines))
        self._scribe = build_item_renderer(ref, self.follow.crew.members.values())
        self._config_dirs = place.config_dirs
        self._client: Client | None = None
        self._asked = float("-inf")
        self._state = b""

    def _poll_events(self) -> Sequence[LiveEvent]:
        found = [to_live_event(happening, self.follow.build_cursor(), self._scribe) for happening in self.follow.poll()]
        self.follow.release_resting_streams()
        doing = self._build_state_event()
        if doing.data != self._state:
            self._state = doing.data
            found.append(doing)
        return found

    def _read_missed_events(self, cursor: str | None) -> Iterator[LiveEvent]:
        doing = self._build_state_event()
        if cursor == doing.cursor:
            return iter([doing])
        return self._chain_events(
            build_catch_up(self.follow).iter_events_since(cursor, self._scribe, self.find_working_agents()), doing
        )

    @staticmethod
    def _chain_events(events: Iterator[LiveEvent], doing: LiveEvent) -> Iterator[LiveEvent]:
        yield from events
        yield doing

    def _close_source(self) -> None:
        self.follow.close()

    def read_first_events(self) -> list[LiveEvent]:
        """What a page shows that is opened now."""
        with self._lock:
            found = build_catch_up(self.follow).iter_events_since(None, self._scribe, self.find_working_agents())
            doing = self._build_state_event()
        return [*found, doing]

    def find_working_agents(self) -> frozenset[str]:
        """The sub-agents that are at work."""
        doing = self._judge_agents()
        return frozenset(name for name, one in doing.items() if one.kind in _WORKING_STATES)

    def _judge_agents(self) -> dict[str, SessionState]:
        """What each sub-agent is doing."""
        found = {}
        for name, fold in self.follow.folds.items():
            if name != MAIN_STREAM:
                written = datetime.fromtimestamp(self.follow.written[name], UTC)
                is_fresh = time.time() - self.follow.written[name] < _FRESH_SECONDS
                doing = judge_state(
                    fold, get_current_time(), msgspec.structs.replace(self.follow.read_signs(), written=written)
                )
                silent = SessionState("silent", "nothing was written for long", doing.since)
                found[name] = doing if is_fresh or doing.kind not in _WORKING_STATES else silent
        return found

    def _build_state_event(self) -> LiveEvent:
        """The event that says what everybody is doing."""
        signs = self.follow.read_signs()
        if (client := self._find_client()) is not None:
            signs = msgspec.structs.replace(
                signs, is_open=client.is_here, status=client.status, waiting_for=client.waiting_for
            )
        doing = judge_state(self.follow.folds[MAIN_STREAM], get_current_time(), signs)
        streams = {
            name: {"kind": one.kind, "words": one.words, "since": one.since}
            for name, one in self._judge_agents().items()
        }
        fields = msgspec.to_builtins(doing)
        return build_live_event(
            "state",
            self.follow.build_cursor(),
            **fields,
            column=choose_column(doing, get_current_time(), signs),
            streams=streams,
        )

    def _find_client(self) -> Client | None:
        if time.monotonic() - self._asked > _CLIENT_POLL_SECONDS:
            self._asked = time.monotonic()
            known = [one for folder in self._config_dirs for one in list_clients(folder)]
            self._client = next((one for one in known if one.session_id == self.follow.path.stem), None)
        return self._client


class BoardChannel(Channel):
    """All sessions of the machine."""

    def __init__(self, place: Machine) -> None:
        super().__init__(place.ending)
        self._place = place
        self._board = Board(place.config_dirs)
        self._looked = -1.0
        self._refs: dict[str, str] = {}

    def _poll_events(self) -> Sequence[LiveEvent]:
        self._looked = time.monotonic()
        changed = self._board.poll()
        found = []
        for row in changed:
            if isinstance(row, str):
                found.append(build_live_event("gone", "", ref=self._refs.pop(row, "")))
            else:
                found.append(
                    build_live_event(
                        "row",
                        "",
                        session=self._to_row_document(row),
                        html=render_board_card(self._to_row_document(row)),
                    )
                )
        return found

    def _read_missed_events(self, cursor: str | None) -> Iterator[LiveEvent]:
        if self._looked < 0:
            self._looked = time.monotonic()
            self._board.poll()
        rows = [self._to_row_document(row) for row in self._sort_rows()]
        return iter(
            [build_live_event("board", "", sessions=[{"session": row, "html": render_board_card(row)} for row in rows])]
        )

    def _close_source(self) -> None:
        pass

    def _choose_pause(self) -> float:
        return max(super()._choose_pause(), 0.4)

    def list_rows(self) -> list[dict[str, Any]]:
        """The sessions as they are now."""
        if self._looked < 0 or time.monotonic() - self._looked > 1:
            self.poll()
        with self._lock:
            return [self._to_row_document(row) for row in self._sort_rows()]

    @property
    def size(self) -> int:
        """How many files are followed."""
        return self._board.size

    def _sort_rows(self) -> list[BoardRow]:
        return sorted(self._board.rows.values(), key=lambda row: -row.written)

    def _to_row_document(self, row: BoardRow) -> dict[str, Any]:
        if row.path not in self._refs:
            self._refs[row.path] = self._find_ref(row)
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

    def _find_ref(self, row: BoardRow) -> str:
        refs = self._place.load_refs()
        if row.session_id not in refs.doubled:
            return row.session_id
        sql = "SELECT session FROM file WHERE kind = 'session' AND path = ?"
        found = self._place.store.db.execute(sql, (row.path,)).fetchone()
        return refs.format_ref(found[0], row.session_id) if found else row.session_id


def render_board_card(row: dict[str, Any]) -> str:
    """A session of the board as HTML."""
    return load_templates().get_template("live_card.html").render(row=row)


class Channels:
    """The channels of one server."""

    def __init__(self, place: Machine) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._sessions: dict[Path, SessionChannel] = {}
        self._board: BoardChannel | None = None

    def open_session(self, path: Path, ref: str) -> SessionChannel:
        """The channel of a session; for a thread, since opening one reads files."""
        with self._lock:
            self._sessions = {key: one for key, one in self._sessions.items() if not one.is_closed}
            if path not in self._sessions:
                self._sessions[path] = SessionChannel(path, ref, self._place)
            return self._sessions[path]

    def open_board(self) -> BoardChannel:
        """The channel of the board."""
        with self._lock:
            if self._board is None or self._board.is_closed:
                self._board = BoardChannel(self._place)
            return self._board
