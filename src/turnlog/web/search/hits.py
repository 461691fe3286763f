"""Hits of a search as pages show them: by session, each with its address, and with what was looked for marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from turnlog.web import amounts
from turnlog.web.place import Machine
from turnlog.web.reading.links import text_address


class LinkedHit(NamedTuple):
    """A text that was found, with its address."""

    kind: str
    time: float | None
    href: str
    text: Markup | None
    is_in_agent: bool
    is_beside: bool
    """In a large result that stands beside the transcript."""
    before: list[tuple[str, str | None]]
    after: list[tuple[str, str | None]]


class SessionHits(NamedTuple):
    """The hits of a session."""

    session: Mapping[str, Any]
    ref: str
    title: str
    project: str
    last: float | None
    hits: list[LinkedHit]


def build_session_hits(place: Machine, sessions: Sequence[Mapping[str, Any]]) -> Iterator[SessionHits]:
    """The sessions of a document of `turnlog search --json`, with where their hits lead."""
    refs = place.load_refs()
    for session in sessions:
        row = place.store.db.execute(
            "SELECT session.id, uuid, name.text FROM session JOIN name ON name.id = project"
            " LEFT JOIN file ON file.session = session.id WHERE uuid = ? ORDER BY path = ? DESC LIMIT 1",
            (session["session_id"], session["path"]),
        ).fetchone()
        number, uuid, folder = row if row else (0, session["session_id"], "")
        ref = refs.format_ref(number, uuid)
        yield SessionHits(
            session,
            ref,
            " ".join((session["title"] or "")[:1000].split())[:240] or "(no title)",
            session["project"] or folder,
            amounts.parse_seconds(session["ended"]),
            [_to_linked_hit(hit, session, ref) for hit in session["hits"]],
        )


def _to_linked_hit(hit: Mapping[str, Any], session: Mapping[str, Any], ref: str) -> LinkedHit:
    is_beside = hit["agent_id"] is None and hit["path"] != session["path"]
    return LinkedHit(
        hit["kind"],
        amounts.parse_seconds(hit["time"]),
        text_address(ref, None if is_beside else hit["offset"], hit["agent_id"]),
        None if hit["text"] is None else mark_ranges(hit["text"], hit["ranges"]),
        hit["agent_id"] is not None,
        is_beside,
        [(item["kind"], item["text"]) for item in hit["before"]],
        [(item["kind"], item["text"]) for item in hit["after"]],
    )


def mark_ranges(text: str, ranges: Sequence[Sequence[int]]) -> Markup:
    """A text with some of its ranges marked; everything in it is escaped."""
    parts, done = [], 0
    for start, end in ranges:
        parts += [escape(text[done:start]), Markup("<mark>{}</mark>").format(text[start:end])]
        done = end
    return Markup("").join([*parts, escape(text[done:])])
