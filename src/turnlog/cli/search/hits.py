"""What `turnlog search` prints: hits by session, and what was searched and what not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnlog.api.config import data_dir
from turnlog.cli import time_format
from turnlog.cli.output import print_json, print_lines, print_remark
from turnlog.cli.terminal import (
    TerminalScreen,
    cut_to_cells,
    detect_screen,
    make_visible,
    measure_width,
    to_visible_line,
)
from turnlog.entries.layout import is_session_id
from turnlog.render.figures import format_count
from turnlog.store.search.search import HitGroup, HitNeighbour, IndexHit, SearchOptions, SearchOutcome
from turnlog.store.search.search_document import (
    SearchAnswer,
    describe_loosened_words,
    read_searched_index,
    to_search_document,
)
from turnlog.store.search.searched_sessions import SearchedSession, load_searched_sessions
from turnlog.store.search.trashed_sessions import find_trashed_sessions

if TYPE_CHECKING:
    import apsw

    from turnlog.api.config import Config
    from turnlog.store.index.refresh import RefreshResult
    from turnlog.store.search.query import SearchQuery
    from turnlog.store.search.scan import ScanResult
    from turnlog.store.search.snippet import Snippet
    from turnlog.store.search.syntax import QueryError

_INDENT_CHARS = 14
_MATCH_MARKS = ("«", "»")
_MAX_CARET_CONTEXT_CHARS = 60
_MAX_LISTED_FAILURES = 3


class SearchOutput:
    """The results of one search on their way to the output."""

    def __init__(self, query: str, wish: SearchOptions, as_json: bool) -> None:
        self.query = query
        self.wish = wish
        self.as_json = as_json
        self.screen = TerminalScreen()
        self.has_agents = False

    def fit_to_terminal(self, config: Config) -> SearchOptions:
        """The wish, with snippets as wide as the terminal."""
        self.screen = TerminalScreen() if self.as_json else detect_screen(config.color)
        if self.screen.width is None:
            return self.wish
        return self.wish._replace(width=max(self.screen.width - _INDENT_CHARS - 4, 20))

    def note_scope(self, db: apsw.Connection, done: RefreshResult, query: SearchQuery | None) -> None:
        """Note what there is to search."""
        self.db = db
        self.trash = find_trashed_sessions(db, data_dir())
        self.scope = read_searched_index(db, done, query, self.trash)

    def print_results(self, found: SearchOutcome, scan: ScanResult | None = None) -> None:
        """Print what was found."""
        sessions = load_searched_sessions(self.db, [group.session for group in found.groups])
        if self.as_json:
            print_json(to_search_document(self.query, SearchAnswer(self.scope, found, sessions, scan)))
        else:
            print_lines(self._render_lines(found, sessions))
            for text in self._list_remarks(found, scan):
                print_remark(text)

    def _render_lines(self, found: SearchOutcome, sessions: dict[int, SearchedSession]) -> Iterator[str]:
        for number, group in enumerate(found.groups):
            if number:
                yield ""
            yield self._render_heading(sessions[group.session], group)
            for hit in group.hits:
                yield from self._render_hit(hit, sessions[group.session])
            if group.total > len(group.hits):
                more = f"{group.total - len(group.hits):,}{'+' if found.is_bounded else ''} more"
                yield self.screen.paint(f"  {'':{_INDENT_CHARS - 2}}{more}", "dim")

    def _render_heading(self, session: SearchedSession, group: HitGroup) -> str:
        time = (
            (time_format.format_time_ago if self.screen.width else time_format.format_epoch_time)(group.time)
            if group.time
            else "unknown time"
        )
        name = to_visible_line(session.project_name) or "–"
        note = " (deleted)" if session.is_gone else ""
        start = f"{session.uuid[:8] if is_session_id(session.uuid) else session.path}  {time}  {name}{note}  "
        title = self.screen.fit(to_visible_line((session.title or "(no title)")[:1000]), measure_width(start))
        return self.screen.paint(make_visible(start), "yellow") + self.screen.paint(title, "bold")

    def _render_hit(self, hit: IndexHit, session: SearchedSession) -> Iterator[str]:
        for neighbour in hit.before:
            yield self._render_neighbour(neighbour)
        is_agent = bool(session.agents.get(hit.file))
        self.has_agents |= is_agent
        label = f"{hit.kind} ·" if is_agent else hit.kind
        yield f"  {self.screen.paint(f'{label} '.ljust(_INDENT_CHARS - 2), 'cyan')}{self._render_snippet(hit.snippet)}"
        for neighbour in hit.after:
            yield self._render_neighbour(neighbour)

    def _render_neighbour(self, neighbour: HitNeighbour) -> str:
        text = make_visible(neighbour.snippet.text) if neighbour.snippet else "(gone)"
        return self.screen.paint(self.screen.fit(f"    {f'{neighbour.kind} '.ljust(_INDENT_CHARS - 4)}{text}"), "dim")

    def _render_snippet(self, snippet: Snippet | None) -> str:
        """A snippet with its matches painted, or marked where a terminal shows no colours."""
        if snippet is None:
            return self.screen.paint("(the text is gone)", "dim")
        left = self.screen.width - _INDENT_CHARS if self.screen.width else None
        shown, done = [], 0
        for start, end in (*snippet.ranges, (len(snippet.text), len(snippet.text))):
            for text, is_match in ((snippet.text[done:start], False), (snippet.text[start:end], True)):
                piece = make_visible(text)
                if left is not None:
                    piece = cut_to_cells(piece, max(left, 0))
                    left -= measure_width(piece)
                shown.append(self._mark_match(piece) if is_match else piece)
            done = end
        return "".join(shown)

    def _mark_match(self, text: str) -> str:
        if self.screen.color or not self.screen.width or not text:
            return self.screen.paint(text, "bold", "red")
        return text.join(_MATCH_MARKS)

    def _list_remarks(self, found: SearchOutcome, scan: ScanResult | None) -> Iterator[str]:
        scope, plus = self.scope, "+" if found.is_bounded else ""
        if self.has_agents:
            yield "·: said or done by a sub-agent."
        for item in found.loosened:
            yield to_visible_line(describe_loosened_words(item.typed, item.how, item.words))
        if found.is_scattered:
            yield "No single text has all of this; these sessions have all of it in several texts."
        hits = f"{found.total:,}{plus} hit{'' if found.total == 1 and not plus else 's'}"
        where = f"{found.sessions:,}{plus} session{'' if found.sessions == 1 and not plus else 's'}"
        shown = f", {len(found.groups)} shown (--limit)" if len(found.groups) < found.sessions or plus else ""
        deleted = f" ({scope.deleted:,} deleted)" if scope.deleted else ""
        total = f"{format_count(scope.texts, 'text')} of {format_count(scope.sessions, 'session')}{deleted}"
        yield f"{f'{hits} in {where}{shown}' if found.total else 'Nothing found'}. Searched {total}."
        if scan is not None:
            yield from _list_scan_remarks(scan)
        if not scope.is_complete:
            yield "The index is not complete yet: there may be more."
        if scope.ignored:
            yield f"No letter or digit in it, so not searched for: {' '.join(scope.ignored)} (--substring finds it)."
        if scope.cut_texts and scan is None:
            yield (
                f"{format_count(scope.cut_texts, 'text')} searched up to 32 million characters only; "
                f"--substring reads all."
            )
        if found.cut:
            yield f"Part of very many identifiers, not all of them looked for: {to_visible_line(', '.join(found.cut))}."
        if found.left_out.sessions:
            command, effect = found.left_out.remedy
            yield f"{found.left_out.words}; `{to_visible_line(command)}` {effect}."
        if found.unread:
            gone = f"The text of {format_count(found.unread, 'hit')} can't be shown"
            yield f"{gone}: it was deleted or changed and is not in the archive, or its file can't be read."


def _list_scan_remarks(scan: ScanResult) -> Iterator[str]:
    speed = f"{scan.bytes / 1e6:,.0f} MB in {scan.seconds:.1f} s"
    stopped = "interrupted" if scan.is_interrupted else "enough found"
    left = f"; {stopped}: {format_count(scan.left, 'older file')} not read" if scan.left else ""
    yield f"Read {format_count(scan.files, 'file')}, {speed}{left}."
    for reason in scan.failures[:_MAX_LISTED_FAILURES]:
        yield f"Not read: {reason}"
    if len(scan.failures) > _MAX_LISTED_FAILURES:
        yield f"… and {len(scan.failures) - _MAX_LISTED_FAILURES:,} more files that can't be read."


def explain_query_error(error: QueryError) -> None:
    """Say what is wrong with a query, and point at the place."""
    if sys.stderr is None:
        return
    start = max(error.at - _MAX_CARET_CONTEXT_CHARS, 0)
    before = ("…" if start else "") + make_visible(error.query[start : error.at])
    after = make_visible(error.query[error.at : error.at + _MAX_CARET_CONTEXT_CHARS])
    sys.stderr.write(f"turnlog: {to_visible_line(str(error))}\n  {before}{after}\n  {' ' * measure_width(before)}^\n")
    sys.stderr.flush()
