"""Phrases shared by the formats without markup: card heads, times, amounts, pictures and differences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from turnlog.render.ansi import strip_ansi
from turnlog.render.card import AgentSection, Card, DiffSection, HitsSection, Picture
from turnlog.render.events import format_prompt_label
from turnlog.render.figures import format_count, format_duration
from turnlog.render.view import AnswerCall, AnswerView, AnyView, CompactionView, PromptView
from turnlog.session.clock import parse_timestamp
from turnlog.session.files.patches import format_unified_diff
from turnlog.session.timeline.timeline import Chapter, TimelineAgent

OUTCOME_WORDS = {
    "error": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
    "launched": "in background",
    "unanswered": "no result",
}

_SUMMARY_PATTERN = re.compile(r"<summary>([^<]+)")


def format_utc_time(time: str | None) -> str:
    """Format a time in UTC: `2026-11-03 14:05 UTC`; return an empty string if it is unknown."""
    moment = parse_timestamp(time)
    return moment.strftime("%Y-%m-%d %H:%M UTC") if moment else ""


def list_card_facts(card: Card) -> list[str]:
    """List what the head of a card shows besides its tool and title."""
    facts = [*card.badges]
    if (outcome := OUTCOME_WORDS.get(card.outcome)) and not any(outcome in badge for badge in facts):
        facts.append(outcome)
    if card.duration_ms is not None and card.duration_ms >= 1000:
        facts.append(format_duration(card.duration_ms))
    return facts


def format_turn_head(view: PromptView) -> str:
    """Format the head of a turn: its number, its start, and what triggered it unless that was a prompt."""
    kind = "" if view.kind == "prompt" else format_prompt_label(view.kind, view.sender)
    name = f"Turn {view.turn}" if view.turn and view.kind != "typed" else kind or "Prompt"
    return " · ".join(dict.fromkeys(filter(None, (name, format_utc_time(view.time), kind))))


def describe_compaction(view: CompactionView) -> str:
    """Describe in one line what a compaction did."""
    text = f"Compacted ({view.trigger})" if view.trigger else "Compacted"
    if view.before is not None:
        text += f": {view.before:,} tokens before"
        text += f", {view.after:,} after" if view.after is not None else ""
    if view.entries:
        text += f"; the summary replaces {view.entries:,} entries"
    return text + (f"; {view.preserved:,} messages kept" if view.preserved else "")


def describe_picture(picture: Picture) -> str:
    """Describe a picture by its kind, name and size."""
    size = len(picture.data) * 3 // 4
    facts = [picture.media_type, picture.name, f"{max(size // 1000, 1):,} KB" if size else ""]
    return f"{picture.kind}: {', '.join(filter(None, facts))}".rstrip(": ")


def describe_agent(agent: AgentSection) -> str:
    """Describe a sub-agent in one line."""
    facts = [agent.type, agent.description]
    facts.append(format_count(agent.calls, "call") if agent.calls is not None else "")
    facts.append(f"{agent.tokens:,} tokens" if agent.tokens is not None else "")
    facts.append(format_duration(agent.duration_ms))
    return " ".join(", ".join(filter(None, facts)).split()) or agent.agent_id


def describe_helper(helper: TimelineAgent | None) -> str:
    """Describe in one line what is known about a sub-agent."""
    if helper is None:
        return ""
    tokens = helper.input + helper.output
    return describe_agent(
        AgentSection(helper.agent_id, helper.type or "", helper.description or "", helper.calls, tokens, None)
    )


def iter_agent_ids(view: AnyView) -> Iterator[str]:
    """Yield the id of each sub-agent whose transcript belongs to a view, without duplicates."""
    cards = (
        [block.card for block in view.blocks if isinstance(block, AnswerCall)] if isinstance(view, AnswerView) else []
    )
    found: dict[str, None] = {}
    for card in cards:
        names = [part.agent_id for part in (*card.asked, *card.answered) if isinstance(part, AgentSection)]
        found.update(dict.fromkeys([*names, *([card.agent_id] if card.agent_id else [])]))
    yield from found


def list_diff_lines(diff: DiffSection) -> list[str]:
    return list(format_unified_diff(diff.path, diff.hunks, created=diff.created))


def list_hit_lines(hits: HitsSection) -> list[str]:
    """List the results of a search, and the number of omitted ones."""
    rows = [":".join(filter(None, (file, line))) + (f": {text}" if text else "") for file, line, text in hits.rows]
    more = hits.total - len(hits.rows)
    return [*rows, f"… and {more:,} more"] if more > 0 else rows


def format_json(value: Any) -> str:
    """Format a JSON value with indentation, or return only its type if it is too deep or can't be encoded."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return str(type(value).__name__)


def to_screen_text(text: str) -> str:
    """Return program output as a screen would show it: without escapes and overwritten text."""
    return strip_ansi(text).rstrip()


def read_turn_title(chapter: Chapter) -> str:
    """Return a turn's title; for a background task's report, the summary without its tags."""
    if chapter.kind != "notification" or "<" not in chapter.title:
        return chapter.title
    summary = _SUMMARY_PATTERN.search(chapter.title)
    return summary[1].strip() if summary else "Background task report"
