"""Stripping: calls, results, thinking, images and noise go, and the session still resumes as the same conversation.

What goes is decided on the session as it was read (`strip_plan`, by the rules of `edit.strip.fates`); here it is
done. A row of which nothing is left goes. What was said stays word for word, in all branches. Sub-agents are left
alone, in their own files and in this one. Stripping again with the same wishes changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from turnlog.edit.draft import Draft
from turnlog.edit.strip.fates import decide_fates, list_noise_entries
from turnlog.edit.strip.new_parents import rehang_rows
from turnlog.edit.strip.presets import estimate_remaining, estimate_strip_effect
from turnlog.edit.strip.strip_options import StripOptions
from turnlog.edit.strip.strip_plan import StripPlan, plan_strip
from turnlog.edit.strip.strip_tally import COUNTED_KINDS, STRIP_RULES, StripTally
from turnlog.edit.strip.stripped_rows import get_rule_name, strip_row
from turnlog.entries.entry import Entry
from turnlog.errors import Refused
from turnlog.session.session import Session
from turnlog.session.window.window_fill import WindowFill, compute_window_fill, estimate_text_tokens


class RuleSavings(NamedTuple):
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
class StripReport:
    """What stripping did to a session."""

    rules: tuple[RuleSavings, ...]
    """The rules that found something."""
    bytes_before: int
    bytes_after: int
    tokens_before: int | None
    """What the next request would hold, estimated; None where nothing would be resumed."""
    tokens_after: int | None
    """As `turnlog context` tells it for the same preset."""
    rows_before: int
    rows_after: int


class StripResult(NamedTuple):
    """A session without what was not wanted."""

    draft: Draft
    report: StripReport


def strip_session(session: Session, draft: Draft, wishes: StripOptions, leaf: str | None = None) -> StripResult:
    """Strip a session; `leaf` is the entry that it goes on from, if not the one that the client would choose."""
    tally = StripTally()
    chosen = plan_strip(session, wishes, leaf)
    changes, gone = _edit_rows(session, draft, chosen, tally)
    if wishes.noise:
        gone |= _find_noise(session, draft, chosen, tally)
    after = draft.with_changes(changes).with_changes(_rename_leaf(session, draft, gone))
    after = after.with_changes(rehang_rows(after, gone, chosen.thread, chosen.leaf)).without_rows(gone)
    return StripResult(after, _build_report(session, draft, after, wishes, leaf, tally))


def _edit_rows(
    session: Session, draft: Draft, chosen: StripPlan, tally: StripTally
) -> tuple[dict[int, dict[str, Any]], set[int]]:
    """New values for rows, and the rows of which nothing is left, by their place."""
    changes: dict[int, dict[str, Any]] = {}
    gone: set[int] = set()
    places = draft.map_entry_places()
    for entry in session.entries:
        at = places.get(entry.index)
        if at is None or entry.flaw is not None or not _can_change(entry):
            continue
        own = StripTally()
        left = strip_row(entry, draft.get_body(draft.rows[at]), chosen, own)
        if left.is_gone and chosen.leaf is entry:
            continue
        tally.add_tally(own)
        if left.is_gone:
            gone.add(at)
        elif left.changes:
            changes[at] = left.changes
    return changes, gone


def _can_change(entry: Entry) -> bool:
    return entry.type in ("user", "assistant") and entry.message is not None and isinstance(entry.message.content, list)


def _find_noise(session: Session, draft: Draft, chosen: StripPlan, tally: StripTally) -> set[int]:
    """The places of noise; where the session goes on is always known afterwards as it was before."""
    places, gone = draft.map_entry_places(), set()
    needed = {entry.index for entry in (_find_leaf_entry(session), chosen.leaf) if entry}
    for entry in list_noise_entries(session.file.entries):
        if entry.index in places and entry.index not in needed:
            gone.add(places[entry.index])
            tally.count_row("noise", entry.size)
    return gone


def _find_leaf_entry(session: Session) -> Entry | None:
    """The last entry that names where to go on; later ones of its type may name nothing."""
    prompts = (entry for entry in reversed(session.file.entries) if entry.type == "last-prompt" and not entry.is_lost)
    return next((entry for entry in prompts if session.read_body(entry).get("leafUuid")), None)


def _rename_leaf(session: Session, draft: Draft, gone: set[int]) -> dict[int, dict[str, Any]]:
    """Where to go on, if the row that is named goes: the client goes on from a later one below it.

    From its ancestor the client would go on to what is later below that, and this may be another branch.
    """
    naming, places = _find_leaf_entry(session), draft.map_entry_places()
    if naming is None or naming.index not in places:
        return {}
    named = session.file.by_uuid.get(str(session.read_body(naming)["leafUuid"]), -1)
    if places.get(named, -1) not in gone:
        return {}
    try:
        return {places[naming.index]: {"leafUuid": session.find_leaf().uuid}}
    except Refused:
        return {}


# -- the report


def _build_report(
    session: Session, before: Draft, after: Draft, wishes: StripOptions, leaf: str | None, tally: StripTally
) -> StripReport:
    try:
        found = compute_window_fill(session, leaf)
    except Refused:
        found = None
    tokens = _estimate_tokens_by_rule(found, wishes) if found else Counter[str]()
    rules = (_build_savings(rule, tally, tokens[rule]) for rule in STRIP_RULES)
    return StripReport(
        tuple(saved for saved in rules if any(saved[1:])),
        sum(map(len, before.iterate_lines())),
        sum(map(len, after.iterate_lines())),
        found.estimate if found else None,
        estimate_strip_effect(wishes, found, session.file.entries).after if found else None,
        len(before.rows),
        len(after.rows),
    )


def _build_savings(rule: str, tally: StripTally, tokens: int) -> RuleSavings:
    calls, results, copies, images, thinking, rows, size = (tally.counts[rule, what] for what in COUNTED_KINDS)
    return RuleSavings(rule, calls, results, copies, images, thinking, rows, size, tokens)


def _estimate_tokens_by_rule(found: WindowFill, wishes: StripOptions) -> Counter[str]:
    """Estimated tokens by rule."""
    saved: Counter[str] = Counter()
    for piece, fate, left in zip(
        found.pieces, decide_fates(found.pieces, wishes), estimate_remaining(found.pieces, wishes), strict=True
    ):
        if fate.degree:
            saved[get_rule_name(fate)] += (
                found.estimate_tokens(piece) - estimate_text_tokens(left.size, found.rate) - left.fixed
            )
    return saved
