"""Strips calls, results, thinking, images and noise from a session, which still resumes as the same conversation.

`strip_plan` decides what to remove, by the rules in `fates`, from the session as it was read; this module carries out
the plan. A row with nothing left in it is removed. All prompts and answers are kept verbatim in all branches.
Sub-agents are not changed, either in their own files or in this one. Stripping again with the same options changes
nothing.
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
from turnlog.edit.strip.stripped_rows import STRIPPED_BLOCK_TYPES, get_rule_name, strip_row
from turnlog.entries.entry import Entry
from turnlog.errors import Refused
from turnlog.session.session import Session
from turnlog.session.window.window_fill import WindowFill, compute_window_fill, estimate_text_tokens


class RuleSavings(NamedTuple):
    """The savings from one rule."""

    rule: str
    """A key of `STRIP_RULES`."""
    calls: int
    results: int
    copies: int
    """The number of affected copies of results, which the client keeps for itself and never sends."""
    images: int
    thinking: int
    rows: int
    """Rows that were removed completely."""
    bytes: int
    """The number of bytes saved in the file."""
    tokens: int
    """The estimated number of tokens saved in the next request."""


@dataclass(frozen=True)
class StripReport:
    """The effect of stripping a session."""

    rules: tuple[RuleSavings, ...]
    """The rules that removed or shortened something."""
    bytes_before: int
    bytes_after: int
    tokens_before: int | None
    """The estimated number of tokens in the next request, or None if nothing would be resumed."""
    tokens_after: int | None
    """The number that `turnlog context` shows for the same preset."""
    rows_before: int
    rows_after: int


class StripResult(NamedTuple):
    """A stripped session, and what was removed from it."""

    draft: Draft
    report: StripReport


def strip_session(session: Session, draft: Draft, options: StripOptions, leaf: str | None = None) -> StripResult:
    """Strip a session; `leaf` is the entry to continue from, if it is not the one that the client would choose."""
    tally = StripTally()
    plan = plan_strip(session, options, leaf)
    changes, removed = _edit_rows(session, draft, plan, tally)
    if options.noise:
        removed |= _find_noise(session, draft, plan, tally)
    stripped = draft.with_changes(changes).with_changes(_rename_leaf(session, draft, removed))
    stripped = stripped.with_changes(rehang_rows(stripped, removed, plan.thread, plan.leaf)).without_rows(removed)
    return StripResult(stripped, _build_report(session, draft, stripped, options, leaf, tally))


def _edit_rows(
    session: Session, draft: Draft, plan: StripPlan, tally: StripTally
) -> tuple[dict[int, dict[str, Any]], set[int]]:
    """Return new values for rows, and the rows with nothing left, by position."""
    changes: dict[int, dict[str, Any]] = {}
    removed: set[int] = set()
    places, replays = draft.map_entry_places(), draft.map_replays()
    for entry in session.entries:
        at = places.get(entry.index)
        if at is None or entry.flaw is not None or not _may_change(entry):
            continue
        row_tally = StripTally()
        result = strip_row(entry, draft.get_body(draft.rows[at]), plan, row_tally)
        if result.is_gone and plan.leaf is entry:
            continue
        tally.add_tally(row_tally)
        if result.is_gone:
            removed.update((at, *replays.get(at, ())))
        elif result.changes:
            changes |= dict.fromkeys((at, *replays.get(at, ())), result.changes)
    return changes, removed


def _may_change(entry: Entry) -> bool:
    """Return whether a row contains anything that can be stripped, without decoding its line."""
    if entry.type not in ("user", "assistant") or entry.message is None or not isinstance(entry.message.content, list):
        return False
    return any(block.type in STRIPPED_BLOCK_TYPES for block in entry.message.content)


def _find_noise(session: Session, draft: Draft, plan: StripPlan, tally: StripTally) -> set[int]:
    """Find the positions of noise, except for entries that record where the session continues."""
    places, removed = draft.map_entry_places(), set()
    needed = {entry.index for entry in (_find_leaf_entry(session), plan.leaf) if entry}
    for entry in list_noise_entries(session.file.entries):
        if entry.index in places and entry.index not in needed:
            removed.add(places[entry.index])
            tally.count_row("noise", entry.size)
    return removed


def _find_leaf_entry(session: Session) -> Entry | None:
    """Find the last entry that names the leaf; later entries of the same type might not name one."""
    prompts = (entry for entry in reversed(session.file.entries) if entry.type == "last-prompt" and not entry.is_lost)
    return next((entry for entry in prompts if session.read_body(entry).get("leafUuid")), None)


def _rename_leaf(session: Session, draft: Draft, removed: set[int]) -> dict[int, dict[str, Any]]:
    """Name a new leaf if the named row is removed: a later row below it, from which the client continues.

    If an ancestor were named, the client would continue from the latest row below it, which may be in another branch.
    """
    leaf_entry, places = _find_leaf_entry(session), draft.map_entry_places()
    if leaf_entry is None or leaf_entry.index not in places:
        return {}
    leaf_index = session.file.by_uuid.get(str(session.read_body(leaf_entry)["leafUuid"]), -1)
    if places.get(leaf_index, -1) not in removed:
        return {}
    try:
        return {places[leaf_entry.index]: {"leafUuid": session.find_leaf().uuid}}
    except Refused:
        return {}


# -- the report


def _build_report(
    session: Session, before: Draft, after: Draft, options: StripOptions, leaf: str | None, tally: StripTally
) -> StripReport:
    try:
        fill = compute_window_fill(session, leaf)
    except Refused:
        fill = None
    tokens = _estimate_tokens_by_rule(fill, options) if fill else Counter[str]()
    rules = (_build_savings(rule, tally, tokens[rule]) for rule in STRIP_RULES)
    return StripReport(
        tuple(savings for savings in rules if any(savings[1:])),
        before.count_bytes(),
        after.count_bytes(),
        fill.estimate if fill else None,
        estimate_strip_effect(options, fill, session.file.entries).after if fill else None,
        len(before.rows),
        len(after.rows),
    )


def _build_savings(rule: str, tally: StripTally, tokens: int) -> RuleSavings:
    calls, results, copies, images, thinking, rows, size = (tally.counts[rule, what] for what in COUNTED_KINDS)
    return RuleSavings(rule, calls, results, copies, images, thinking, rows, size, tokens)


def _estimate_tokens_by_rule(fill: WindowFill, options: StripOptions) -> Counter[str]:
    saved: Counter[str] = Counter()
    for piece, fate, remaining in zip(
        fill.pieces, decide_fates(fill.pieces, options), estimate_remaining(fill.pieces, options), strict=True
    ):
        if fate.degree:
            saved[get_rule_name(fate)] += (
                fill.estimate_tokens(piece) - estimate_text_tokens(remaining.size, fill.rate) - remaining.fixed
            )
    return saved
