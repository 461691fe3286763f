"""Human-readable output of `turnlog search`: hits by session, and what was and wasn't searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING

from turnlog.cli import time_format
from turnlog.cli.terminal import TerminalScreen, cut_to_cells, make_visible, measure_width, to_visible_line
from turnlog.entries.layout import is_session_id
from turnlog.render.figures import format_count
from turnlog.store.search.search import SearchOptions
from turnlog.store.search.search_answer import describe_loosened_words, describe_share
from turnlog.store.search.trashed_sessions import LeftOutHits

if TYPE_CHECKING:
    from turnlog.api.search import MatchedSession, NearbyText, ScanSummary, SearchedTexts, SearchHit, SearchReport

_INDENT_CHARS = 14
_MATCH_MARKS = ("«", "»")
_MAX_LISTED_FAILURES = 3


def choose_snippet_width(screen: TerminalScreen) -> int:
    """Choose how many characters of text to request for each hit."""
    if screen.width is None:
        return SearchOptions().width
    return max(screen.width - _INDENT_CHARS - 4, 20)


def render_search_report(report: SearchReport, screen: TerminalScreen) -> Iterator[str]:
    """Render the hits, session by session."""
    now = datetime.now(UTC)
    for number, session in enumerate(report.sessions):
        if number:
            yield ""
        yield _render_heading(session, screen, now)
        for hit in session.hits:
            yield from _render_hit(hit, screen)
        if session.total > len(session.hits):
            more = f"{session.total - len(session.hits):,}{'+' if report.total.at_least else ''} more"
            yield screen.paint(f"  {'':{_INDENT_CHARS - 2}}{more}", "dim")


def _render_heading(session: MatchedSession, screen: TerminalScreen, now: datetime) -> str:
    if screen.width:
        time = time_format.format_client_time_ago(session.newest, now)
    else:
        time = time_format.format_client_time(session.newest)
    name = to_visible_line(_name_project(session)) or "–"
    note = " (deleted)" if session.deleted else ""
    short = session.session_id[:8] if is_session_id(session.session_id) else session.path
    start = f"{short}  {time}  {name}{note}  "
    title = screen.fit(to_visible_line((session.title or "(no title)")[:1000]), measure_width(start))
    return screen.paint(make_visible(start), "yellow") + screen.paint(title, "bold")


def _name_project(session: MatchedSession) -> str:
    """Return the name of the folder that the session started in, or of Claude Code's folder for the project."""
    if session.project:
        return session.project.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    return PurePath(session.path).parent.name if session.path else ""


def _render_hit(hit: SearchHit, screen: TerminalScreen) -> Iterator[str]:
    for item in hit.before:
        yield _render_nearby(item, screen)
    label = hit.kind if hit.agent_id is None else f"{hit.kind} ·"
    snippet = render_snippet(hit.text, hit.ranges, screen)
    yield f"  {screen.paint(f'{label} '.ljust(_INDENT_CHARS - 2), 'cyan')}{snippet}"
    for item in hit.after:
        yield _render_nearby(item, screen)


def _render_nearby(item: NearbyText, screen: TerminalScreen) -> str:
    text = "(gone)" if item.text is None else make_visible(item.text)
    return screen.paint(screen.fit(f"    {f'{item.kind} '.ljust(_INDENT_CHARS - 4)}{text}"), "dim")


def render_snippet(text: str | None, ranges: Sequence[tuple[int, int]], screen: TerminalScreen) -> str:
    """Render text with its matches in colour, or marked if the terminal has no colours."""
    if text is None:
        return screen.paint("(this text is no longer available)", "dim")
    left = screen.width - _INDENT_CHARS if screen.width else None
    pieces, done = [], 0
    for start, end in (*ranges, (len(text), len(text))):
        for part, is_match in ((text[done:start], False), (text[start:end], True)):
            piece = make_visible(part)
            if left is not None:
                piece = cut_to_cells(piece, max(left, 0))
                left -= measure_width(piece)
            pieces.append(_mark_match(piece, screen) if is_match else piece)
        done = end
    return "".join(pieces)


def _mark_match(text: str, screen: TerminalScreen) -> str:
    if screen.color or not screen.width or not text:
        return screen.paint(text, "bold", "red")
    return text.join(_MATCH_MARKS)


def list_search_remarks(report: SearchReport) -> Iterator[str]:
    """Summarise what was found, what was searched, and what was not."""
    total, scope = report.total, report.searched
    if any(hit.agent_id is not None for session in report.sessions for hit in session.hits):
        yield "·: from a sub-agent."
    for item in total.loosened:
        yield to_visible_line(describe_loosened_words(item.typed, item.how, item.words))
    if total.scattered:
        yield "No single message contains all of these words; these sessions contain them across several messages."
    yield _summarize_hits(report)
    if report.scan is not None:
        yield from _list_scan_remarks(report.scan)
    yield from _list_scope_remarks(scope, is_scan=report.scan is not None)
    if total.gone:
        gone = f"The text of {format_count(total.gone, 'hit')} can't be shown"
        yield f"{gone}: it was deleted or changed and is not in the archive, or its file can't be read."


def _summarize_hits(report: SearchReport) -> str:
    total, scope, plus = report.total, report.searched, "+" if report.total.at_least else ""
    hits = f"{total.hits:,}{plus} hit{'' if total.hits == 1 and not plus else 's'}"
    where = f"{total.sessions:,}{plus} session{'' if total.sessions == 1 and not plus else 's'}"
    listed = f", {len(report.sessions)} shown (--limit)" if len(report.sessions) < total.sessions or plus else ""
    deleted = f" ({scope.deleted:,} deleted)" if scope.deleted else ""
    searched = f"{format_count(scope.texts, 'piece')} of text in {format_count(scope.sessions, 'session')}{deleted}"
    return f"{f'{hits} in {where}{listed}' if total.hits else 'Nothing found'}. Searched {searched}."


def _list_scope_remarks(scope: SearchedTexts, *, is_scan: bool) -> Iterator[str]:
    if scope.share < 1:
        yield f"{describe_share(scope.share)} `turnlog index --wait` reads the rest."
    elif not scope.complete:
        yield "The index is not complete yet; there may be more hits."
    if scope.ignored:
        yield f"Words without letters or digits were ignored: {' '.join(scope.ignored)} (--substring finds them)."
    if scope.cut_texts and not is_scan:
        pieces = f"{format_count(scope.cut_texts, 'piece')} of text"
        yield f"In {pieces}, only the first 32 million characters were searched; --substring searches everything."
    if scope.cut:
        words = to_visible_line(", ".join(scope.cut))
        yield f"Only some of the many identifiers that contain {words} were searched."
    if scope.trashed.sessions:
        left_out = LeftOutHits(tuple(scope.trashed.sessions), scope.trashed.hits)
        command, effect = left_out.remedy
        yield f"{left_out.words}; `{to_visible_line(command)}` {effect}."


def _list_scan_remarks(scan: ScanSummary) -> Iterator[str]:
    speed = f"({scan.bytes / 1e6:,.0f} MB) in {scan.seconds:.1f} s"
    reason = "you interrupted the search" if scan.interrupted else "there were enough hits"
    left = f" and left {format_count(scan.left, 'older file')} unread because {reason}" if scan.left else ""
    yield f"Read {format_count(scan.files, 'file')} {speed}{left}."
    for failure in scan.unread[:_MAX_LISTED_FAILURES]:
        yield f"Not read: {failure}"
    if len(scan.unread) > _MAX_LISTED_FAILURES:
        yield f"… and {len(scan.unread) - _MAX_LISTED_FAILURES:,} more files that can't be read."
