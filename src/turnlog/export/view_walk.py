"""A session as one sequence of views, for documents without folds: sub-agents follow the views that started them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnlog.export.material import ExportMaterial
from turnlog.render.phrases import describe_helper, iter_agent_ids
from turnlog.render.view import AnyView


class AgentBegin(NamedTuple):
    """The start of a sub-agent's views."""

    words: str
    """A description of the sub-agent, on one line."""


class AgentEnd(NamedTuple):
    """The end of a sub-agent's views."""

    agent_id: str


class WalkStep(NamedTuple):
    """The next part and its nesting depth in sub-agents."""

    depth: int
    part: AnyView | AgentBegin | AgentEnd


def walk_views(material: ExportMaterial) -> Iterator[WalkStep]:
    """Yield everything that is exported, in order; sub-agents that no view started come last."""
    for stretch in material.iter_stretches():
        for view in stretch.views:
            yield from _walk_view(material, view, 0)
    for agent_id in list(material.iter_left_agents()):
        yield from _walk_agent(material, agent_id, 0)


def _walk_view(material: ExportMaterial, view: AnyView, depth: int) -> Iterator[WalkStep]:
    yield WalkStep(depth, view)
    for agent_id in iter_agent_ids(view):
        yield from _walk_agent(material, agent_id, depth)


def _walk_agent(material: ExportMaterial, agent_id: str, depth: int) -> Iterator[WalkStep]:
    windows = material.take_agent_views(agent_id)
    if windows is None:
        return
    title = f"Sub-agent {agent_id}: {describe_helper(material.helpers.get(agent_id))}".rstrip(": ")
    yield WalkStep(depth, AgentBegin(title))
    for window in windows:
        for view in window:
            yield from _walk_view(material, view, depth + 1)
    yield WalkStep(depth, AgentEnd(agent_id))
