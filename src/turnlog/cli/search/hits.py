"""What `turnlog search` prints: hits by session, and what was searched and what not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turnlog.cli import when
from turnlog.cli.config import data_dir
from turnlog.cli.output import dump, remark, say
from turnlog.cli.terminal import Screen, cut, line, screen, visible, width
from turnlog.entries.layout import is_session_id
from turnlog.render.figures import count
from turnlog.store.search.found import Answered, document, loosened_words, searched
from turnlog.store.search.places import Session, known_sessions
from turnlog.store.search.search import Found, Group, Hit, Neighbour, Wish
from turnlog.store.search.trashed import trashed

if TYPE_CHECKING:
    import apsw

    from turnlog.cli.config import Config
    from turnlog.store.index.refresh import Refreshed
    from turnlog.store.search.query import Query
    from turnlog.store.search.scan import Scanned
    from turnlog.store.search.snippet import Snippet
    from turnlog.store.search.syntax import QueryError

_INDENT = 14
_MARKS = ("«", "»")
_AROUND_CARET = 60
_LISTED = 3


class Page:
    """The results of one search on their way to the output."""

    def __init__(self, query: str, wish: Wish, as_json: bool) -> None:
        self.query = query
        self.wish = wish
        self.as_json = as_json
        self.screen = Screen()
        self.has_agents = False

    def wish_on(self, config: Config) -> Wish:
        """The wish, with snippets as wide as the terminal."""
        self.screen = Screen() if self.as_json else screen(config.color)
        if self.screen.width is None:
            return self.wish
        return self.wish._replace(width=max(self.screen.width - _INDENT - 4, 20))

    def searched(self, db: apsw.Connection, done: Refreshed, query: Query | None) -> None:
        """Note what there is to search."""
        self.db = db
        self.trash = trashed(db, data_dir())
        self.scope = searched(db, done, query, self.trash)

    def show(self, found: Found, scan: Scanned | None = None) -> None:
        """Print what was found."""
        sessions = known_sessions(self.db, [group.session for group in found.groups])
        if self.as_json:
            dump(document(self.query, Answered(self.scope, found, sessions, scan)))
        else:
            say(self._lines(found, sessions))
            for text in self._remarks(found, scan):
                remark(text)

    def _lines(self, found: Found, sessions: dict[int, Session]) -> Iterator[str]:
        for number, group in enumerate(found.groups):
            if number:
                yield ""
            yield self._heading(sessions[group.session], group)
            for hit in group.hits:
                yield from self._hit(hit, sessions[group.session])
            if group.total > len(group.hits):
                more = f"{group.total - len(group.hits):,}{'+' if found.is_bounded else ''} more"
                yield self.screen.paint(f"  {'':{_INDENT - 2}}{more}", "dim")

    def _heading(self, session: Session, group: Group) -> str:
        time = (when.ago if self.screen.width else when.absolute)(group.time) if group.time else "unknown time"
        name = line(session.project_name) or "–"
        note = " (deleted)" if session.is_gone else ""
        start = f"{session.uuid[:8] if is_session_id(session.uuid) else session.path}  {time}  {name}{note}  "
        title = self.screen.fit(line((session.title or "(no title)")[:1000]), width(start))
        return self.screen.paint(visible(start), "yellow") + self.screen.paint(title, "bold")

    def _hit(self, hit: Hit, session: Session) -> Iterator[str]:
        for neighbour in hit.before:
            yield self._beside(neighbour)
        is_agent = bool(session.agents.get(hit.file))
        self.has_agents |= is_agent
        label = f"{hit.kind} ·" if is_agent else hit.kind
        yield f"  {self.screen.paint(f'{label} '.ljust(_INDENT - 2), 'cyan')}{self._snippet(hit.snippet)}"
        for neighbour in hit.after:
            yield self._beside(neighbour)

    def _beside(self, neighbour: Neighbour) -> str:
        text = visible(neighbour.snippet.text) if neighbour.snippet else "(gone)"
        return self.screen.paint(self.screen.fit(f"    {f'{neighbour.kind} '.ljust(_INDENT - 4)}{text}"), "dim")

    def _snippet(self, snippet: Snippet | None) -> str:
        """A snippet with its matches painted, or marked where a terminal shows no colours."""
        if snippet is None:
            return self.screen.paint("(the text is gone)", "dim")
        left = self.screen.width - _INDENT if self.screen.width else None
        shown, done = [], 0
        for start, end in (*snippet.ranges, (len(snippet.text), len(snippet.text))):
            for text, is_match in ((snippet.text[done:start], False), (snippet.text[start:end], True)):
                piece = visible(text)
                if left is not None:
                    piece = cut(piece, max(left, 0))
                    left -= width(piece)
                shown.append(self._marked(piece) if is_match else piece)
            done = end
        return "".join(shown)

    def _marked(self, text: str) -> str:
        if self.screen.color or not self.screen.width or not text:
            return self.screen.paint(text, "bold", "red")
        return text.join(_MARKS)

    def _remarks(self, found: Found, scan: Scanned | None) -> Iterator[str]:
        scope, plus = self.scope, "+" if found.is_bounded else ""
        if self.has_agents:
            yield "·: said or done by a sub-agent."
        for item in found.loosened:
            yield line(loosened_words(item.typed, item.how, item.words))
        if found.is_scattered:
            yield "No single text has all of this; these sessions have all of it in several texts."
        hits = f"{found.total:,}{plus} hit{'' if found.total == 1 and not plus else 's'}"
        where = f"{found.sessions:,}{plus} session{'' if found.sessions == 1 and not plus else 's'}"
        shown = f", {len(found.groups)} shown (--limit)" if len(found.groups) < found.sessions or plus else ""
        deleted = f" ({scope.deleted:,} deleted)" if scope.deleted else ""
        total = f"{count(scope.texts, 'text')} of {count(scope.sessions, 'session')}{deleted}"
        yield f"{f'{hits} in {where}{shown}' if found.total else 'Nothing found'}. Searched {total}."
        if scan is not None:
            yield from _scan_remarks(scan)
        if not scope.is_complete:
            yield "The index is not complete yet: there may be more."
        if scope.ignored:
            yield f"No letter or digit in it, so not searched for: {' '.join(scope.ignored)} (--substring finds it)."
        if scope.cut_texts and scan is None:
            yield f"{count(scope.cut_texts, 'text')} searched up to 32 million characters only; --substring reads all."
        if found.cut:
            yield f"Part of very many identifiers, not all of them looked for: {line(', '.join(found.cut))}."
        if found.left_out.sessions:
            command, effect = found.left_out.remedy
            yield f"{found.left_out.words}; `{line(command)}` {effect}."
        if found.unread:
            gone = f"The text of {count(found.unread, 'hit')} can't be shown"
            yield f"{gone}: it was deleted or changed and is not in the archive, or its file can't be read."


def _scan_remarks(scan: Scanned) -> Iterator[str]:
    speed = f"{scan.bytes / 1e6:,.0f} MB in {scan.seconds:.1f} s"
    stopped = "interrupted" if scan.is_interrupted else "enough found"
    left = f"; {stopped}: {count(scan.left, 'older file')} not read" if scan.left else ""
    yield f"Read {count(scan.files, 'file')}, {speed}{left}."
    for reason in scan.failures[:_LISTED]:
        yield f"Not read: {reason}"
    if len(scan.failures) > _LISTED:
        yield f"… and {len(scan.failures) - _LISTED:,} more files that can't be read."


def explain(error: QueryError) -> None:
    """Say what is wrong with a query, and point at the place."""
    if sys.stderr is None:
        return
    start = max(error.at - _AROUND_CARET, 0)
    before = ("…" if start else "") + visible(error.query[start : error.at])
    after = visible(error.query[error.at : error.at + _AROUND_CARET])
    sys.stderr.write(f"turnlog: {line(str(error))}\n  {before}{after}\n  {' ' * width(before)}^\n")
    sys.stderr.flush()
