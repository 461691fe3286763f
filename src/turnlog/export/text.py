"""A session as plain text; sub-agents stand indented behind their calls."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.export.material import Material
from turnlog.export.opening import facts
from turnlog.export.walk import Begin, End, walk
from turnlog.render.text import INDENT, indented, text


def pieces(material: Material) -> Iterator[str]:
    """The document, piece by piece."""
    yield f"{material.title}\n\n"
    for fact in facts(material):
        yield f"{fact.name + ':':<12}{' '.join(fact.value.split())}\n"
    yield "\n"
    for depth, part in walk(material):
        match part:
            case Begin(words):
                yield _nested(f"--- {words}\n\n", depth)
            case End(agent_id):
                yield _nested(f"--- end of sub-agent {' '.join(agent_id.split())}\n\n", depth)
            case view:
                if words := text(view, material.choice.wishes):
                    yield _nested(words, depth)


def _nested(words: str, depth: int) -> str:
    return indented(words, INDENT * depth) + "\n\n" if depth else words
