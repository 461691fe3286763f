"""The update channels of a server: one for each followed session, and one for the board."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from turnlog.entries.layout import is_missing
from turnlog.live.board import Board, BoardRow
from turnlog.live.client_watch import ClientWatch
from turnlog.live.crew import CrewMember
from turnlog.live.follower import MAIN_STREAM, SessionFollower
from turnlog.live.hook_reports import HookReports
from turnlog.live.page_updates import ItemRenderer, PageUpdate, build_catch_up, build_page_update, to_page_update
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
from turnlog.render.view_builder import build_item_views
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineAgent, TimelineHead, TimelineItem
from turnlog.web.answers import load_templates
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
        return [str(html.write_view(msgspec.structs.replace(view, key=prefix + view.key))) for view in views]

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
        """Judge the session exactly as the board does."""
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

    def __init__(self, machine: Machine, clients: ClientWatch) -> None:
        super().__init__(machine.ending)
        self._machine = machine
        self._board = Board(machine.config_dirs, clients=clients)
        self._polled = -1.0
        self._refs: dict[str, str] = {}

    def _poll_updates(self) -> Sequence[PageUpdate]:
        self._polled = time.monotonic()
        changed = self._board.poll()
        updates = []
        for row in changed:
            if isinstance(row, str):
                updates.append(build_page_update("gone", "", ref=self._refs.pop(row, "")))
            else:
                updates.append(
                    build_page_update(
                        "row",
                        "",
                        session=self._to_row_document(row),
                        html=render_board_card(self._to_row_document(row)),
                    )
                )
        return updates

    def _read_missed_updates(self, cursor: str | None) -> Iterator[PageUpdate]:
        if self._polled < 0:
            self._polled = time.monotonic()
            self._board.poll()
        rows = [self._to_row_document(row) for row in self._sort_rows()]
        return iter(
            [
                build_page_update(
                    "board", "", sessions=[{"session": row, "html": render_board_card(row)} for row in rows]
                )
            ]
        )

    def _close_source(self) -> None:
        pass

    def _choose_pause(self) -> float:
        return max(super()._choose_pause(), 0.4)

    def list_rows(self) -> list[dict[str, Any]]:
        if self._polled < 0 or time.monotonic() - self._polled > 1:
            self.poll()
        with self._lock:
            return [self._to_row_document(row) for row in self._sort_rows()]

    @property
    def size(self) -> int:
        """The number of files that are followed."""
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
        self._board: BoardChannel | None = None

    def open_session(self, path: Path, ref: str) -> SessionChannel:
        """Return the channel of a session; call it in a thread, since opening one reads files."""
        with self._lock:
            self._sessions = {key: channel for key, channel in self._sessions.items() if not channel.is_closed}
            if path not in self._sessions:
                self._sessions[path] = SessionChannel(path, ref, self._machine, self._clients)
            return self._sessions[path]

    def open_board(self) -> BoardChannel:
        with self._lock:
            if self._board is None or self._board.is_closed:
                self._board = BoardChannel(self._machine, self._clients)
            return self._board
