"""Replaces a conversation with a summary, using the same two lines that the client writes.

    system/compact_boundary     parentUuid null; the preceding row (logicalParentUuid), the kept rows, and token counts
    user, isCompactSummary      the summary, with the client's own wording around it

Nothing is deleted: the replaced rows remain in the file but are no longer sent. The latest turns can be kept verbatim:
their rows don't move, the boundary lists them, and the newest client sends them after the summary. Clients before
2.1.215 don't support kept rows; for these clients, the result must be made linear afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from turnlog.edit.closing_entries import build_leaf_entry
from turnlog.edit.draft import Draft
from turnlog.entries.entry import Body, Entry
from turnlog.errors import UsageError
from turnlog.session.clock import parse_timestamp
from turnlog.session.session import Session
from turnlog.session.window.pieces import count_text_bytes
from turnlog.session.window.window_fill import WindowFill, compute_window_fill, estimate_text_tokens

SUMMARY_INTRODUCTION = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation."
)
TOOLS_USED_TEMPLATE = "<system-reminder>\n<tools-used-before-summary>{}</tools-used-before-summary>\n</system-reminder>"
DETAILS_TEMPLATE = (
    "If you need specific details from before compaction (like exact code snippets, error messages, or content you "
    "generated), read the full transcript at: {}"
)
CONTINUE_TEXT = (
    "Continue the conversation from where it left off without asking the user any further questions. Resume directly — "
    'do not acknowledge the summary, do not recap what was happening, do not preface with "I\'ll continue" or similar. '
    "Pick up the last task as if the break never happened."
)
KEPT_MESSAGES_TEXT = (
    "The messages after this summary are the most recent messages from before compaction, kept verbatim. The summary "
    "was written without seeing them, so something it says has not happened yet may already have happened in them."
)
SUMMARY_DELAY = timedelta(milliseconds=1)
"""Old clients (2.1.29) continue from the row with the newest time; that row must be the summary, not the boundary."""
_ENVELOPE_KEYS = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")

Summariser = Callable[[Session, Sequence[Entry]], str]
"""Summarises some rows of a session: `build_recap`, or a model (`summary`)."""


class DividedConversation(NamedTuple):
    """A conversation in two parts: the rows that a summary replaces, and the rows that are kept."""

    summarised: list[Entry]
    kept: list[Entry]


class CompactedDraft(NamedTuple):
    """A draft with a compaction at its end."""

    draft: Draft
    summary: str
    turns: int
    """The number of turns that the summary replaces."""
    kept: int
    """The number of turns that are kept verbatim."""
    before: int
    """The number of tokens in the conversation before the compaction, measured if possible."""
    after: int


def divide_conversation(session: Session, keep: int) -> DividedConversation:
    """Split the resumed conversation before its last turns; raise UsageError if nothing is left to summarise."""
    rows = session.build_thread().rows
    turns = list(dict.fromkeys(turn.number for row in rows if (turn := session.find_turn(row)) is not None))
    if not 0 <= keep < max(len(turns), 1):
        raise UsageError(
            f"can't keep {keep} turns: the conversation has {len(turns)}, and at least one must be summarised"
        )
    kept_turns = frozenset(turns[len(turns) - keep :])
    cut = next((cut for cut, row in enumerate(rows) if _find_turn_number(session, row) in kept_turns), len(rows))
    return DividedConversation(rows[:cut], [row for row in rows[cut:] if row.uuid])


def compact_draft(
    draft: Draft,
    summarise: Summariser,
    *,
    keep: int = 0,
    transcript: Path | None = None,
    now: datetime | None = None,
    uuid: Callable[[], str] = lambda: str(uuid4()),
) -> CompactedDraft:
    """Summarise a conversation except for its last turns; `transcript` is the path of the resulting file."""
    session = Session(draft.to_transcript())
    parts = divide_conversation(session, keep)
    text = summarise(session, parts.summarised).strip()
    if not text:
        raise UsageError("the summary is empty; nothing was changed")
    content = render_summary_text(text, _list_tool_names(session, parts.summarised), transcript, kept=bool(parts.kept))
    boundary, anchor, last = uuid(), uuid(), [*parts.summarised, *parts.kept][-1]
    fill = compute_window_fill(session)
    before, after = fill.measured_tokens or fill.estimate, _estimate_tokens_after(fill, parts.kept, content)
    moment = _choose_time(session, now or datetime.now(UTC))
    envelope = _copy_envelope(session, last)
    facts = {
        "trigger": "manual",
        "preTokens": before,
        "postTokens": after,
        "cumulativeDroppedTokens": max(0, before - after) + _count_dropped_tokens(session),
        **_build_preserved_facts(anchor, [str(row.uuid) for row in parts.kept]),
    }
    rows = (
        _build_boundary(boundary, last.uuid, facts, envelope, _format_time(moment)),
        _build_summary(anchor, boundary, content, uuid(), envelope, _format_time(moment + SUMMARY_DELAY)),
        build_leaf_entry(
            str(parts.kept[-1].uuid) if parts.kept else anchor, _find_last_prompt(session), str(session.session_id)
        ),
    )
    numbers = {_find_turn_number(session, row) for row in parts.summarised} - {None}
    return CompactedDraft(draft.with_added_lines(*rows), text, len(numbers), keep, before, after)


def render_summary_text(summary: str, tools: Sequence[str], transcript: Path | None, *, kept: bool) -> str:
    """Put the client's own wording around a summary."""
    tool_note = f"{TOOLS_USED_TEMPLATE.format(', '.join(sorted(tools)))}\n" if tools else ""
    details = f"{DETAILS_TEMPLATE.format(transcript)}\n" if transcript is not None else ""
    kept_note = f"\n\n{KEPT_MESSAGES_TEXT}" if kept else ""
    return f"{SUMMARY_INTRODUCTION}\n\n{tool_note}Summary:\n{summary}\n\n{details}{CONTINUE_TEXT}{kept_note}"


def _build_boundary(uuid: str, before: str | None, facts: Body, envelope: Body, time: str) -> Body:
    return {
        "parentUuid": None,
        "logicalParentUuid": before,
        "isSidechain": False,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "level": "info",
        "compactMetadata": facts,
        "uuid": uuid,
        "timestamp": time,
        **envelope,
    }


def _build_summary(uuid: str, boundary: str, content: str, prompt_id: str, envelope: Body, time: str) -> Body:
    return {
        "parentUuid": boundary,
        "isSidechain": False,
        "promptId": prompt_id,
        "type": "user",
        "message": {"role": "user", "content": content},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
        "uuid": uuid,
        "timestamp": time,
        **envelope,
    }


def _build_preserved_facts(anchor: str, uuids: Sequence[str]) -> Body:
    """List the kept rows in both of the forms that clients use."""
    if not uuids:
        return {}
    return {
        "preservedSegment": {"headUuid": uuids[0], "anchorUuid": anchor, "tailUuid": uuids[-1]},
        "preservedMessages": {"anchorUuid": anchor, "uuids": [*uuids], "allUuids": [*uuids]},
    }


def _copy_envelope(session: Session, last: Entry) -> Body:
    body = session.read_body(last)
    fields = {key: body[key] for key in _ENVELOPE_KEYS if key in body}
    return {**fields, "sessionId": session.session_id}


def _choose_time(session: Session, now: datetime) -> datetime:
    """Return the current time, or a time just after the newest row if that row's time is in the future."""
    newest = parse_timestamp(session.span[1])
    return max(now, newest + SUMMARY_DELAY) if newest is not None and newest.year < 9000 else now


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _find_turn_number(session: Session, row: Entry) -> int | None:
    turn = session.find_turn(row)
    return turn.number if turn is not None else None


def _find_last_prompt(session: Session) -> str | None:
    last = next((turn for turn in reversed(session.turns) if turn.kind == "prompt"), None)
    return " ".join(last.text.split())[:200] if last is not None else None


def _list_tool_names(session: Session, rows: Sequence[Entry]) -> list[str]:
    lines = {row.index for row in rows}
    return sorted({call.name for call in session.calls if call.line.index in lines and call.name.isidentifier()})


def _estimate_tokens_after(fill: WindowFill, kept: Sequence[Entry], content: str) -> int:
    """Estimate how many tokens the conversation has after the compaction."""
    lines = {row.index for row in kept}
    pieces = sum(fill.estimate_tokens(piece) for piece in fill.pieces if piece.row.index in lines)
    return fill.unseen + pieces + estimate_text_tokens(count_text_bytes(content), fill.rate)


def _count_dropped_tokens(session: Session) -> int:
    """Return the number of tokens that earlier compactions dropped, as recorded by the last of them."""
    if not session.compactions:
        return 0
    facts = session.read_body(session.compactions[-1].boundary).get("compactMetadata")
    value = facts.get("cumulativeDroppedTokens") if isinstance(facts, dict) else None
    return round(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else 0
