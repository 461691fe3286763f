"""A session as plain text, with sub-agents indented after their calls."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.export.material import ExportMaterial
from turnlog.export.session_facts import list_session_facts
from turnlog.export.view_walk import AgentBegin, AgentEnd, walk_views
from turnlog.render.text import INDENT, indent_text, render_text


def export_text(material: ExportMaterial) -> Iterator[str]:
    """Yield the text document, piece by piece."""
    yield f"{material.title}\n\n"
    for fact in list_session_facts(material):
        yield f"{fact.name + ': ':<12}{' '.join(fact.value.split())}\n"
    yield "\n"
    for depth, part in walk_views(material):
        match part:
            case AgentBegin(title):
                yield _indent_nested(f"--- {title}\n\n", depth)
            case AgentEnd(agent_id):
                yield _indent_nested(f"--- end of sub-agent {' '.join(agent_id.split())}\n\n", depth)
            case view:
                if text := render_text(view, material.choice.wishes):
                    yield _indent_nested(text, depth)


def _indent_nested(text: str, depth: int) -> str:
    return indent_text(text, INDENT * depth) + "\n\n" if depth else text
