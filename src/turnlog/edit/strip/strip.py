"""Stripping: calls, results, thinking, images and noise go, and the session still resumes as the same conversation.

What goes is decided on the session as it was read (`strip_plan`, by the rules of `session.window.fates`); here it is
done. A row of which nothing is left goes. What was said stays word for word, in all branches. Sub-agents are left
alone, in their own files and in this one. Stripping again with the same wishes changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from turnlog.edit.draft import Draft
from turnlog.edit.strip.plan import Plan, plan
from turnlog.edit.strip.rehang import rehung
from turnlog.edit.strip.rows import left_of, rule_of
from turnlog.edit.strip.tally import COUNTED, RULES, Tally
from turnlog.entries.entry import Entry
from turnlog.errors import Refused
from turnlog.session.session import Session
from turnlog.session.window.fates import fates
from turnlog.session.window.filling import Filling, estimated, filling
from turnlog.session.window.noise import noise
from turnlog.session.window.presets import kept, spared
from turnlog.session.window.wishes import Wishes


class Saved(NamedTuple):
    """What one rule has stripped."""

    rule: str
    """One of `tally.RULES`."""
    calls: int
    results: int
    copies: int
    """The client's own copies of results, which are never sent."""
    images: int
    thinking: int
    rows: int
    """Rows that went as a whole."""
    bytes: int
    """Of the file."""
    tokens: int
    """Of the next request, estimated."""


@dataclass(frozen=True)
class Report:
    """What stripping did to a session."""

    rules: tuple[Saved, ...]
    """The rules that found something."""
    bytes_before: int
    bytes_after: int
    tokens_before: int | None
    """What the next request would hold, estimated; None where nothing would be resumed."""
    tokens_after: int | None
    """As `turnlog context` tells it for the same preset."""
    rows_before: int
    rows_after: int


class Stripped(NamedTuple):
    """A session without what was not wanted."""

    draft: Draft
    report: Report


def strip(session: Session, draft: Draft, wishes: Wishes, leaf: str | None = None) -> Stripped:
    """Strip a session; `leaf` is the entry that it goes on from, if not the one that the client would choose."""
    tally = Tally()
    chosen = plan(session, wishes, leaf)
    changes, gone = _edited(session, draft, chosen, tally)
    if wishes.noise:
        gone |= _noise(session, draft, chosen, tally)
    after = draft.changing(changes).changing(_named_anew(session, draft, gone))
    after = after.changing(rehung(after, gone, chosen.thread, chosen.leaf)).without(gone)
    return Stripped(after, _report(session, draft, after, wishes, leaf, tally))


def _edited(session: Session, draft: Draft, chosen: Plan, tally: Tally) -> tuple[dict[int, dict[str, Any]], set[int]]:
    """New values for rows, and the rows of which nothing is left, by their place."""
    changes: dict[int, dict[str, Any]] = {}
    gone: set[int] = set()
    places = draft.places()
    for entry in session.entries:
        at = places.get(entry.index)
        if at is None or entry.flaw is not None or not _may_change(entry):
            continue
        own = Tally()
        left = left_of(entry, draft.body(draft.rows[at]), chosen, own)
        if left.is_gone and chosen.leaf is entry:
            continue
        tally.add(own)
        if left.is_gone:
            gone.add(at)
        elif left.changes:
            changes[at] = left.changes
    return changes, gone


def _may_change(entry: Entry) -> bool:
    return entry.type in ("user", "assistant") and entry.message is not None and isinstance(entry.message.content, list)


def _noise(session: Session, draft: Draft, chosen: Plan, tally: Tally) -> set[int]:
    """The places of noise; where the session goes on is always known afterwards as it was before."""
    places, gone = draft.places(), set()
    needed = {entry.index for entry in (_naming(session), chosen.leaf) if entry}
    for entry in noise(session.file.entries):
        if entry.index in places and entry.index not in needed:
            gone.add(places[entry.index])
            tally.row("noise", entry.size)
    return gone


def _naming(session: Session) -> Entry | None:
    """The last entry that names where to go on; later ones of its type may name nothing."""
    prompts = (entry for entry in reversed(session.file.entries) if entry.type == "last-prompt" and not entry.lost)
    return next((entry for entry in prompts if session.body(entry).get("leafUuid")), None)


def _named_anew(session: Session, draft: Draft, gone: set[int]) -> dict[int, dict[str, Any]]:
    """Where to go on, if the row that is named goes: the client goes on from a later one below it.

    From its ancestor the client would go on to what is later below that, and this may be another branch.
    """
    naming, places = _naming(session), draft.places()
    if naming is None or naming.index not in places:
        return {}
    named = session.file.by_uuid.get(str(session.body(naming)["leafUuid"]), -1)
    if places.get(named, -1) not in gone:
        return {}
    try:
        return {places[naming.index]: {"leafUuid": session.leaf().uuid}}
    except Refused:
        return {}


# -- the report


def _report(session: Session, before: Draft, after: Draft, wishes: Wishes, leaf: str | None, tally: Tally) -> Report:
    try:
        found = filling(session, leaf)
    except Refused:
        found = None
    tokens = _tokens(found, wishes) if found else Counter[str]()
    rules = (_saved(rule, tally, tokens[rule]) for rule in RULES)
    return Report(
        tuple(saved for saved in rules if any(saved[1:])),
        sum(map(len, before.lines())),
        sum(map(len, after.lines())),
        found.estimate if found else None,
        spared(wishes, found, session.file.entries).after if found else None,
        len(before.rows),
        len(after.rows),
    )


def _saved(rule: str, tally: Tally, tokens: int) -> Saved:
    calls, results, copies, images, thinking, rows, size = (tally.counts[rule, what] for what in COUNTED)
    return Saved(rule, calls, results, copies, images, thinking, rows, size, tokens)


def _tokens(found: Filling, wishes: Wishes) -> Counter[str]:
    """Estimated tokens by rule."""
    saved: Counter[str] = Counter()
    for piece, fate, left in zip(found.pieces, fates(found.pieces, wishes), kept(found.pieces, wishes), strict=True):
        if fate.degree:
            saved[rule_of(fate)] += found.tokens(piece) - estimated(left.size, found.rate) - left.fixed
    return saved
