"""The update channels of a server: one for each followed session, and one for the board."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from turnlog.api.documents import to_document
from turnlog.api.watch import BoardSession, sort_board, to_board_session
from turnlog.entries.layout import is_missing
from turnlog.live.board import Board, BoardRow
from turnlog.live.client_watch import ClientWatch
from turnlog.live.crew import CrewMember
from turnlog.live.demo_player import DemoPlayer
from turnlog.live.follower import MAIN_STREAM, SessionFollower
from turnlog.live.hook_reports import HookReports
from turnlog.live.page_updates import ItemRenderer, PageUpdate, build_catch_up, build_page_update, to_page_update
from turnlog.live.session_costs import CostBook
from turnlog.live.session_watch import (
    DELETED_SESSION,
    JudgedSession,
    SessionWatch,
    describe_session_file,
    estimate_first_activity,
    judge_agent_state,
)
from turnlog.live.states import SessionState, choose_column, get_current_time
from turnlog.live.window_start import StartFinder
from turnlog.render.html import HtmlWriter
from turnlog.render.text_folds import shorten_views
from turnlog.render.view import to_agent_view
from turnlog.render.view_builder import build_item_views
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineAgent, TimelineHead, TimelineItem
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR
from turnlog.web.answers import load_templates
from turnlog.web.live.event_channels import EventChannel
from turnlog.web.live.stream import Channel
from turnlog.web.machine import Machine
from turnlog.web.reading.links import PageLinks, key_prefix


def build_item_renderer(ref: str, members: Iterable[CrewMember]) -> ItemRenderer:
    """Return a function that renders a session's items; `members` are its sub-agents at the time of rendering."""

    def render_items(excerpt: Excerpt, items: Sequence[TimelineItem], agent: str | None) -> list[str]:
        links = PageLinks(ref, agent)
        html = HtmlWriter(links.picture, links, buttons=True)
        prefix = key_prefix(agent)
        views = shorten_views(build_item_views(excerpt, items, _build_head(members)), items)
        return [str(html.write_view(to_agent_view(view, prefix) if agent else view)) for view in views]

    return render_items


def _build_head(members: Iterable[CrewMember]) -> TimelineHead:
    """Build a head with only the sub-agents and the calls that started them."""
    helpers = [
        TimelineAgent(member.agent_id, "subagent", member.type or None, member.description or None, member.call or None,
               None, None, None, 0, 0, 0, 0, 0, 0.0)
        for member in list(members)
    ]  # fmt: skip
    return TimelineHead(None, None, 0, [], [], [], helpers, [], [], [], [], [], [], None, None, 0.0, 0, 0, 0, 0)


_WORKING_STATES = ("answering", "running", "retrying", "waiting", "permission")
_FRESH_SECONDS = 600.0
"""A sub-agent whose file has not been written for this long is not working, whatever its last entry says."""
_BUSY_POLL_SECONDS = 0.2
"""Between two polls of the board while a client has a session open: its state can change at any moment."""


class SessionChannel(Channel):
    """The updates of one followed session."""

    def __init__(self, path: Path, ref: str, machine: Machine, clients: ClientWatch) -> None:
        super().__init__(machine.ending)
        self.ref = ref
        self._clients = clients
        self._watch = SessionWatch(describe_session_file(path))
        self.follow = SessionFollower(path, StartFinder(machine.timelines))
        self._render_items = build_item_renderer(ref, self.follow.crew.members.values())
        self._state = b""

    def _poll_updates(self) -> Sequence[PageUpdate]:
        updates = [
            to_page_update(change, self.follow.build_cursor(), self._render_items) for change in self.follow.poll()
        ]
        self.follow.release_resting_streams()
        state = self._build_state_update()
        if state.data != self._state:
            self._state = state.data
            updates.append(state)
        return updates

    def _read_missed_updates(self, cursor: str | None) -> Iterator[PageUpdate]:
        state = self._build_state_update()
        if cursor == state.cursor:
            return iter([state])
        return self._chain_updates(
            build_catch_up(self.follow).iter_updates_since(cursor, self._render_items, self.find_working_agents()),
            state,
        )

    @staticmethod
    def _chain_updates(updates: Iterator[PageUpdate], state: PageUpdate) -> Iterator[PageUpdate]:
        yield from updates
        yield state

    def _close_source(self) -> None:
        self.follow.close()

    def read_first_updates(self) -> list[PageUpdate]:
        """Return the updates that fill a newly opened page."""
        with self._lock:
            updates = build_catch_up(self.follow).iter_updates_since(
                None, self._render_items, self.find_working_agents()
            )
            state = self._build_state_update()
        return [*updates, state]

    def find_working_agents(self) -> frozenset[str]:
        states = self._judge_agents(self._judge_session())
        return frozenset(name for name, state in states.items() if state.kind in _WORKING_STATES)

    def _judge_session(self) -> JudgedSession:
        """Determine the state of the session exactly as the board does."""
        now = time.time()
        self._clients.poll()
        try:
            self._watch.read_new_lines(now)
            self._watch.read_agents(now, time.monotonic())
        except OSError:
            if is_missing(self.follow.path):
                return DELETED_SESSION
        return self._watch.judge(now, self._clients)

    def _judge_agents(self, judged: JudgedSession) -> dict[str, SessionState]:
        """Return the state of each sub-agent."""
        states, now = {}, time.time()
        for name, fold in self.follow.folds.items():
            if name != MAIN_STREAM:
                written = estimate_first_activity(fold, self.follow.written[name], now)
                state = judge_agent_state(fold, written, now, judged)
                silent = SessionState("silent", "nothing written for a long time", state.since, confidence="inferred")
                is_fresh = now - written < _FRESH_SECONDS
                states[name] = state if is_fresh or state.kind not in _WORKING_STATES else silent
        return states

    def _build_state_update(self) -> PageUpdate:
        """Build the update with the state of the session and its sub-agents."""
        judged = self._judge_session()
        streams = {
            name: {"kind": one.kind, "words": one.words, "since": one.since}
            for name, one in self._judge_agents(judged).items()
        }
        return build_page_update(
            "state",
            self.follow.build_cursor(),
            **msgspec.to_builtins(judged.state),
            column=choose_column(judged.state, get_current_time(), judged.signs),
            streams=streams,
        )


class BoardChannel(Channel):
    """The updates of all sessions on the machine."""

    def __init__(self, machine: Machine, clients: ClientWatch, config_dirs: Sequence[Path]) -> None:
        super().__init__(machine.ending)
        self._machine = machine
        self._board = Board(config_dirs, clients=clients)
        self._costs = CostBook()
        self._polled = -1.0
        self._refs: dict[str, str] = {}
        self._ended_costs: dict[str, tuple[float, float | None]] = {}
        self._sent: dict[str, BoardSession] = {}

    def add_config_dir(self, folder: Path) -> None:
        """Show the sessions of one more config folder."""
        with self._lock:
            self._board.add_config_dir(folder)

    def _poll_updates(self) -> Sequence[PageUpdate]:
        """Return the sessions that are new or different, and those that are gone."""
        before, self._sent = self._sent, self._list_sessions()
        updates = [
            build_page_update("gone", "", ref=session.ref) for path, session in before.items() if path not in self._sent
        ]
        for path, session in self._sent.items():
            if before.get(path) != session:
                document = to_document(session)
                updates.append(build_page_update("row", "", session=document, html=render_board_card(document)))
        return updates

    def _list_sessions(self) -> dict[str, BoardSession]:
        self._polled = time.monotonic()
        self._board.poll()
        rows = self._board.rows
        self._refs = {path: ref for path, ref in self._refs.items() if path in rows}
        self._ended_costs = {path: cost for path, cost in self._ended_costs.items() if path in rows}
        self._costs.read({path: row.written for path, row in rows.items() if row.column != "ended"})
        return {path: self._describe_row(row) for path, row in rows.items()}

    def _describe_row(self, row: BoardRow) -> BoardSession:
        if row.path not in self._refs:
            self._refs[row.path] = self._find_ref(row)
        cost = self._find_indexed_cost(row) if row.column == "ended" else self._costs.get(row.path)
        return to_board_session(row, cost, self._refs[row.path])

    def _find_indexed_cost(self, row: BoardRow) -> float | None:
        """Return what the index knows of a session that has ended; reading all of today's files would take long."""
        known = self._ended_costs.get(row.path)
        if known is None or known[0] != row.written or known[1] is None:
            which = "session = (SELECT session FROM file WHERE path = ?)"
            query = f"SELECT iif(count(*), total(cost), NULL) FROM spend WHERE {which}"
            cost: Any = self._machine.store.db.execute(query, (row.path,)).get
            known = row.written, None if cost is None else cost / PICO_PER_DOLLAR
            self._ended_costs[row.path] = known
        return known[1]

    def _read_missed_updates(self, cursor: str | None) -> Iterator[PageUpdate]:
        if self._polled < 0:
            self._sent = self._list_sessions()
        documents = [to_document(session) for session in sort_board(self._sent.values())]
        cards = [{"session": document, "html": render_board_card(document)} for document in documents]
        return iter([build_page_update("board", "", sessions=cards)])

    def _close_source(self) -> None:
        pass

    def _choose_pause(self) -> float:
        return _BUSY_POLL_SECONDS if self._board.clients.open_sessions else max(super()._choose_pause(), 0.4)

    def list_rows(self) -> list[dict[str, Any]]:
        if self._polled < 0 or time.monotonic() - self._polled > 1:
            self.poll()
        with self._lock:
            return [to_document(session) for session in sort_board(self._sent.values())]

    @property
    def size(self) -> int:
        """The number of files that are followed."""
        return self._board.size

    def _find_ref(self, row: BoardRow) -> str:
        refs = self._machine.load_refs()
        if row.session_id not in refs.doubled:
            return row.session_id
        sql = "SELECT session FROM file WHERE kind = 'session' AND path = ?"
        known = self._machine.store.db.execute(sql, (row.path,)).fetchone()
        return refs.format_ref(known[0], row.session_id) if known else row.session_id


def render_board_card(row: dict[str, Any]) -> str:
    return load_templates().get_template("live_card.html").render(row=row)


class Channels:
    """Opens and shares the channels of one server."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._lock = threading.Lock()
        self._clients = ClientWatch(machine.config_dirs, reports=HookReports(machine.data_dir))
        self._sessions: dict[Path, SessionChannel] = {}
        self._events: dict[Path | None, EventChannel] = {}
        self._board: BoardChannel | None = None
        self._demo: DemoPlayer | None = None

    @property
    def config_dirs(self) -> list[Path]:
        """The machine's config folders, and the demo's while it is playing."""
        return [*self._machine.config_dirs, *([self._demo.config_dir] if self._demo else [])]

    def open_session(self, path: Path, ref: str) -> SessionChannel:
        """Return the channel of a session; call it in a thread, since opening one reads files."""
        with self._lock:
            self._sessions = {key: channel for key, channel in self._sessions.items() if not channel.is_closed}
            if path not in self._sessions:
                self._sessions[path] = SessionChannel(path, ref, self._machine, self._clients)
            return self._sessions[path]

    def open_events(self, path: Path | None = None) -> EventChannel:
        """Return the events of a session, or of all; call it in a thread, since opening them reads files."""
        with self._lock:
            self._events = {key: channel for key, channel in self._events.items() if not channel.is_closed}
            if path not in self._events:
                self._events[path] = EventChannel(self._machine, self.config_dirs, path)
            return self._events[path]

    def open_board(self) -> BoardChannel:
        with self._lock:
            if self._board is None or self._board.is_closed:
                self._board = BoardChannel(self._machine, self._clients, self.config_dirs)
            return self._board

    def play_demo(self) -> str:
        """Play the demo session unless it is already playing; return its id."""
        with self._lock:
            if self._demo is not None and self._demo.is_playing:
                return self._demo.session_id
            if self._demo is not None:
                self._demo.close()
            self._demo = DemoPlayer()
            self._machine.played_dir = self._demo.config_dir
            self._clients.add_config_dir(self._demo.config_dir)
            everything = self._events.get(None)
            for channel in (self._board, everything):
                if channel is not None:
                    channel.add_config_dir(self._demo.config_dir)
            self._demo.start()
            return self._demo.session_id

    def close(self) -> None:
        """Stop the demo, and delete what it wrote."""
        with self._lock:
            if self._demo is not None:
                self._demo.close()
                self._demo = self._machine.played_dir = None
