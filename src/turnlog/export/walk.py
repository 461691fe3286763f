"""A session as one line of views, for documents without folds: sub-agents stand behind the views that started them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnlog.export.material import Material
from turnlog.render.view import AnyView
from turnlog.render.wording import agents_of, helper_words


class Begin(NamedTuple):
    """A sub-agent begins."""

    words: str
    """What it is, on one line."""


class End(NamedTuple):
    """A sub-agent ends."""

    agent_id: str


class Step(NamedTuple):
    """What comes next, and inside of how many sub-agents."""

    depth: int
    part: AnyView | Begin | End


def walk(material: Material) -> Iterator[Step]:
    """Everything that is wanted of a session, in order; at the end the sub-agents that no view started."""
    for stretch in material.stretches():
        for view in stretch.views:
            yield from _view(material, view, 0)
    for agent_id in list(material.left_agents()):
        yield from _agent(material, agent_id, 0)


def _view(material: Material, view: AnyView, depth: int) -> Iterator[Step]:
    yield Step(depth, view)
    for agent_id in agents_of(view):
        yield from _agent(material, agent_id, depth)


def _agent(material: Material, agent_id: str, depth: int) -> Iterator[Step]:
    windows = material.agent(agent_id)
    if windows is None:
        return
    words = f"Sub-agent {agent_id}: {helper_words(material.helpers.get(agent_id))}".rstrip(": ")
    yield Step(depth, Begin(words))
    for window in windows:
        for view in window:
            yield from _view(material, view, depth + 1)
    yield Step(depth, End(agent_id))
