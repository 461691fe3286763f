"""What the forms without markup of their own say alike: heads of cards, times, amounts, pictures, differences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from turnlog.render.ansi import strip_ansi
from turnlog.render.card import AgentSection, Card, DiffSection, HitsSection, Picture
from turnlog.render.events import format_prompt_label
from turnlog.render.figures import format_count, format_duration
from turnlog.render.view import AnswerCall, AnswerView, AnyView, CompactionView, PromptView
from turnlog.session.clock import parse_timestamp
from turnlog.session.files.patches import format_unified_diff
from turnlog.session.timeline.timeline import TimelineAgent

OUTCOME_WORDS = {
    "error": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
    "launched": "in background",
    "unanswered": "no result",
}


def format_utc_time(time: str | None) -> str:
    """A time in UTC: `2026-11-03 14:05 UTC`; nothing where it is not known."""
    found = parse_timestamp(time)
    return found.strftime("%Y-%m-%d %H:%M UTC") if found else ""


def list_card_facts(card: Card) -> list[str]:
    """What the head of a card says beside its tool and title."""
    found = [*card.badges]
    if (outcome := OUTCOME_WORDS.get(card.outcome)) and not any(outcome in badge for badge in found):
        found.append(outcome)
    if card.duration_ms is not None and card.duration_ms >= 1000:
        found.append(format_duration(card.duration_ms))
    return found


def format_turn_head(view: PromptView) -> str:
    """The head of a turn: its number, when it began, and what set it off if that was no prompt."""
    kind = "" if view.kind == "prompt" else format_prompt_label(view.kind, view.sender)
    name = f"Turn {view.turn}" if view.turn and view.kind != "typed" else kind or "Prompt"
    return " · ".join(dict.fromkeys(filter(None, (name, format_utc_time(view.time), kind))))


def describe_compaction(view: CompactionView) -> str:
    """What a compaction did, in one line."""
    words = f"Compacted ({view.trigger})" if view.trigger else "Compacted"
    if view.before is not None:
        words += f": {view.before:,} tokens before"
        words += f", {view.after:,} after" if view.after is not None else ""
    if view.entries:
        words += f"; the summary stands for {view.entries:,} entries"
    return words + (f"; {view.preserved:,} messages kept" if view.preserved else "")


def describe_picture(picture: Picture) -> str:
    """A picture in words: what it is, its name, and how large it is."""
    size = len(picture.data) * 3 // 4
    words = [picture.media_type, picture.name, f"{max(size // 1000, 1):,} KB" if size else ""]
    return f"{picture.kind}: {', '.join(filter(None, words))}".rstrip(": ")


def describe_agent(agent: AgentSection) -> str:
    """A sub-agent in one line."""
    words = [agent.type, agent.description]
    words.append(format_count(agent.calls, "call") if agent.calls is not None else "")
    words.append(f"{agent.tokens:,} tokens" if agent.tokens is not None else "")
    words.append(format_duration(agent.duration_ms))
    return " ".join(", ".join(filter(None, words)).split()) or agent.agent_id


def describe_helper(helper: TimelineAgent | None) -> str:
    """What is known of a sub-agent, in one line."""
    if helper is None:
        return ""
    tokens = helper.input + helper.output
    return describe_agent(
        AgentSection(helper.agent_id, helper.type or "", helper.description or "", helper.calls, tokens, None)
    )


def iter_agent_ids(view: AnyView) -> Iterator[str]:
    """The ids of the sub-agents whose transcripts belong to a view, each once."""
    cards = (
        [block.card for block in view.blocks if isinstance(block, AnswerCall)] if isinstance(view, AnswerView) else []
    )
    found: dict[str, None] = {}
    for card in cards:
        names = [part.agent_id for part in (*card.asked, *card.answered) if isinstance(part, AgentSection)]
        found.update(dict.fromkeys([*names, *([card.agent_id] if card.agent_id else [])]))
    yield from found


def list_diff_lines(diff: DiffSection) -> list[str]:
    """A difference as a unified diff."""
    return list(format_unified_diff(diff.path, diff.hunks, created=diff.created))


def list_hit_lines(hits: HitsSection) -> list[str]:
    """What a search found, line by line, and how much more there is."""
    rows = [":".join(filter(None, (file, line))) + (f": {text}" if text else "") for file, line, text in hits.rows]
    more = hits.total - len(hits.rows)
    return [*rows, f"… and {more:,} more"] if more > 0 else rows


def format_json(value: Any) -> str:
    """A JSON value, indented; one that is too deep or cannot be spelled, in short."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return str(type(value).__name__)


def to_screen_text(text: str) -> str:
    """What a program printed, as it would stand on a screen: no escapes, nothing that was written over."""
    return strip_ansi(text).rstrip()
