"""A session as plain text; sub-agents stand indented behind their calls."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.export.material import Material
from turnlog.export.opening import facts
from turnlog.render.text import INDENT, indented, text
from turnlog.render.view import AnyView
from turnlog.render.wording import agents_of, helper_words


def pieces(material: Material) -> Iterator[str]:
    """The document, piece by piece."""
    yield f"{material.title}\n\n"
    for fact in facts(material):
        yield f"{fact.name + ':':<12}{' '.join(fact.value.split())}\n"
    yield "\n"
    for stretch in material.stretches():
        for view in stretch.views:
            yield from _view(material, view, 0)
    for agent_id in list(material.left_agents()):
        yield from _agent(material, agent_id, 0)


def _view(material: Material, view: AnyView, depth: int) -> Iterator[str]:
    if words := text(view, material.choice.wishes):
        yield _nested(words, depth)
    for agent_id in agents_of(view):
        yield from _agent(material, agent_id, depth)


def _agent(material: Material, agent_id: str, depth: int) -> Iterator[str]:
    windows = material.agent(agent_id)
    if windows is None:
        return
    words = f"Sub-agent {agent_id}: {helper_words(material.helpers.get(agent_id))}".rstrip(": ")
    yield _nested(f"--- {words}\n\n", depth)
    for window in windows:
        for view in window:
            yield from _view(material, view, depth + 1)
    yield _nested(f"--- end of sub-agent {' '.join(agent_id.split())}\n\n", depth)


def _nested(words: str, depth: int) -> str:
    return indented(words, INDENT * depth) + "\n\n" if depth else words
