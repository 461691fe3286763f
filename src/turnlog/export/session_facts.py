"""The facts at the top of an exported document: names, times and amounts."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.export.material import ExportMaterial
from turnlog.render.client_totals import describe_client_totals
from turnlog.render.figures import format_count, list_price
from turnlog.render.phrases import format_utc_time

_MAX_NAMED_FOLDERS = 5
"""Maximum number of folders to list."""


class SessionFact(NamedTuple):
    name: str
    value: str
    is_code: bool = False
    """Whether the value is a literal, such as an id or a path."""


def list_session_facts(material: ExportMaterial) -> list[SessionFact]:
    """List the facts about a session, leaving out empty ones."""
    head = material.head
    found = [
        SessionFact("Session", head.session_id or "", is_code=True),
        SessionFact("Time", _format_time_span(head.started, head.ended)),
        *(SessionFact("Folder", folder, is_code=True) for folder in head.folders[:_MAX_NAMED_FOLDERS]),
        SessionFact("Git branch", ", ".join(head.git_branches[:_MAX_NAMED_FOLDERS]), is_code=True),
        SessionFact("Models", ", ".join(head.models)),
        SessionFact("Client", ", ".join(_shorten_versions(head.versions))),
        SessionFact("Totals", _format_amount(material)),
        *map(_to_fact, describe_client_totals(head.client_totals)),
        SessionFact("Left out", _describe_left_out(material)),
    ]
    return [fact for fact in found if fact.value]


def _to_fact(line: str) -> SessionFact:
    name, _, value = line.partition(": ")
    return SessionFact(name, value)


def _format_time_span(started: str | None, ended: str | None) -> str:
    begin, end = format_utc_time(started), format_utc_time(ended)
    return begin if begin == end or not end else f"{begin} – {end}"


def _shorten_versions(versions: list[str]) -> list[str]:
    return versions if len(versions) < 3 else [versions[0], "…", versions[-1]]


def _format_amount(material: ExportMaterial) -> str:
    head = material.head
    turns = format_count(sum(chapter.turn > 0 for chapter in head.chapters), "turn")
    calls = format_count(head.calls, "call") + (f" ({head.errors:,} failed)" if head.errors else "")
    agents = format_count(len(head.agents), "sub-agent") if head.agents else ""
    price = list_price(head.cost_usd, head.unpriced_tokens)
    cost = f"{head.output:,} output tokens, {price}" if head.output else ""
    return ", ".join(filter(None, (turns, calls, agents, cost)))


def _describe_left_out(material: ExportMaterial) -> str:
    options = material.choice.wishes
    missing = [
        f"{format_count(material.left_out, 'turn')}" if material.left_out else "",
        "" if options.tools else "tool calls",
        "" if options.thinking else "thinking",
        "" if options.pictures else "images and documents",
    ]
    return ", ".join(filter(None, missing))
