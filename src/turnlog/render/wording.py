"""What the forms without markup of their own say alike: heads of cards, times, amounts, pictures, differences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from turnlog.render.ansi import plain
from turnlog.render.card import Agent, Card, Diff, Hits, Picture
from turnlog.render.figures import count, duration
from turnlog.render.labels import prompt_label
from turnlog.render.view import Answer, AnyView, Called, Compaction, Prompt
from turnlog.session.clock import moment
from turnlog.session.files.patches import unified
from turnlog.session.timeline.timeline import Helper

OUTCOMES = {
    "error": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
    "launched": "in background",
    "unanswered": "no result",
}


def when(time: str | None) -> str:
    """A time in UTC: `2026-11-03 14:05 UTC`; nothing where it is not known."""
    found = moment(time)
    return found.strftime("%Y-%m-%d %H:%M UTC") if found else ""


def facts(card: Card) -> list[str]:
    """What the head of a card says beside its tool and title."""
    found = [*card.badges]
    if (outcome := OUTCOMES.get(card.outcome)) and not any(outcome in badge for badge in found):
        found.append(outcome)
    if card.duration_ms is not None and card.duration_ms >= 1000:
        found.append(duration(card.duration_ms))
    return found


def turn_head(view: Prompt) -> str:
    """The head of a turn: its number, when it began, and what set it off if that was no prompt."""
    kind = "" if view.kind == "prompt" else prompt_label(view.kind, view.sender)
    name = f"Turn {view.turn}" if view.turn and view.kind != "typed" else kind or "Prompt"
    return " · ".join(dict.fromkeys(filter(None, (name, when(view.time), kind))))


def compacted(view: Compaction) -> str:
    """What a compaction did, in one line."""
    words = f"Compacted ({view.trigger})" if view.trigger else "Compacted"
    if view.before is not None:
        words += f": {view.before:,} tokens before"
        words += f", {view.after:,} after" if view.after is not None else ""
    if view.entries:
        words += f"; the summary stands for {view.entries:,} entries"
    return words + (f"; {view.preserved:,} messages kept" if view.preserved else "")


def pictured(picture: Picture) -> str:
    """A picture in words: what it is, its name, and how large it is."""
    size = len(picture.data) * 3 // 4
    words = [picture.media_type, picture.name, f"{max(size // 1000, 1):,} KB" if size else ""]
    return f"{picture.kind}: {', '.join(filter(None, words))}".rstrip(": ")


def agent_words(agent: Agent) -> str:
    """A sub-agent in one line."""
    words = [agent.type, agent.description]
    words.append(count(agent.calls, "call") if agent.calls is not None else "")
    words.append(f"{agent.tokens:,} tokens" if agent.tokens is not None else "")
    words.append(duration(agent.duration_ms))
    return " ".join(", ".join(filter(None, words)).split()) or agent.agent_id


def helper_words(helper: Helper | None) -> str:
    """What is known of a sub-agent, in one line."""
    if helper is None:
        return ""
    tokens = helper.input + helper.output
    return agent_words(Agent(helper.agent_id, helper.type or "", helper.description or "", helper.calls, tokens, None))


def agents_of(view: AnyView) -> Iterator[str]:
    """The ids of the sub-agents whose transcripts belong to a view, each once."""
    cards = [block.card for block in view.blocks if isinstance(block, Called)] if isinstance(view, Answer) else []
    found: dict[str, None] = {}
    for card in cards:
        names = [part.agent_id for part in (*card.asked, *card.answered) if isinstance(part, Agent)]
        found.update(dict.fromkeys([*names, *([card.agent_id] if card.agent_id else [])]))
    yield from found


def diff_lines(diff: Diff) -> list[str]:
    """A difference as a unified diff."""
    return list(unified(diff.path, diff.hunks, created=diff.created))


def hit_lines(hits: Hits) -> list[str]:
    """What a search found, line by line, and how much more there is."""
    rows = [":".join(filter(None, (file, line))) + (f": {text}" if text else "") for file, line, text in hits.rows]
    more = hits.total - len(hits.rows)
    return [*rows, f"… and {more:,} more"] if more > 0 else rows


def pretty(value: Any) -> str:
    """A JSON value, indented; one that is too deep or cannot be spelled, in short."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return str(type(value).__name__)


def printed(text: str) -> str:
    """What a program printed, as it would stand on a screen: no escapes, nothing that was written over."""
    return plain(text).rstrip()
