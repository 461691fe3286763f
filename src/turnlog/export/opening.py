"""What a document says of a session before it begins: names, times, amounts."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.export.material import Material
from turnlog.render.figures import count, list_price
from turnlog.render.wording import when

_NAMED = 5
"""So many folders are named."""


class Fact(NamedTuple):
    """Something that is known of a session."""

    name: str
    value: str
    is_code: bool = False
    """Whether it is a name that stands for itself: an id, a path."""


def facts(material: Material) -> list[Fact]:
    """What is known of a session; nothing that is empty."""
    head = material.head
    found = [
        Fact("Session", head.session_id or "", is_code=True),
        Fact("Time", _span(head.started, head.ended)),
        *(Fact("Folder", folder, is_code=True) for folder in head.folders[:_NAMED]),
        Fact("Git branch", ", ".join(head.git_branches[:_NAMED]), is_code=True),
        Fact("Models", ", ".join(head.models)),
        Fact("Client", ", ".join(_ends(head.versions))),
        Fact("Amount", _amount(material)),
        Fact("Left out", _left_out(material)),
    ]
    return [fact for fact in found if fact.value]


def _span(started: str | None, ended: str | None) -> str:
    begin, end = when(started), when(ended)
    return begin if begin == end or not end else f"{begin} – {end}"


def _ends(versions: list[str]) -> list[str]:
    return versions if len(versions) < 3 else [versions[0], "…", versions[-1]]


def _amount(material: Material) -> str:
    head = material.head
    turns = count(sum(chapter.turn > 0 for chapter in head.chapters), "turn")
    calls = count(head.calls, "call") + (f" ({head.errors:,} failed)" if head.errors else "")
    agents = count(len(head.agents), "sub-agent") if head.agents else ""
    price = list_price(head.cost_usd, head.unpriced_tokens)
    cost = f"{head.output:,} output tokens, {price}" if head.output else ""
    return ", ".join(filter(None, (turns, calls, agents, cost)))


def _left_out(material: Material) -> str:
    wishes = material.choice.wishes
    missing = [
        f"{count(material.left_out, 'turn')}" if material.left_out else "",
        "" if wishes.tools else "tool calls",
        "" if wishes.thinking else "thinking",
        "" if wishes.pictures else "images and documents",
    ]
    return ", ".join(filter(None, missing))
