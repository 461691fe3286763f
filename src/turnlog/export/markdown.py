"""A session as Markdown: turns as headings, prompts as quotations, sub-agents as quotations behind their calls."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.export.material import Material
from turnlog.export.opening import facts
from turnlog.export.walk import Begin, End, walk
from turnlog.render.markdown import fold, markdown
from turnlog.render.paragraphs import escaped, inline_code, quoted, safe


def pieces(material: Material) -> Iterator[str]:
    """The document, piece by piece."""
    yield f"# {escaped(material.title)}\n\n"
    for fact in facts(material):
        value = inline_code(fact.value) if fact.is_code else escaped(fact.value)
        yield f"- {fact.name}: {value}\n"
    yield "\n"
    folds = material.choice.wishes.details
    for depth, part in walk(material):
        match part:
            case Begin(words):
                yield _nested((fold(words) if folds else f"**{escaped(words)}**") + "\n\n", depth, folds)
            case End():
                yield _ended(depth, folds)
            case view:
                if text := markdown(view, material.choice.wishes):
                    yield _nested(text + "\n", depth, folds)


def _ended(depth: int, folds: bool) -> str:
    if folds:
        return _nested("</details>\n\n", depth, folds)
    return "" if depth else "\n*End of the sub-agent.*\n\n"


def _nested(text: str, depth: int, folds: bool) -> str:
    """A piece at its depth of quotation; what is no code there may be code here, so it is made safe again."""
    if depth == 0:
        return text
    body = text.rstrip("\n")
    for _ in range(depth):
        body = quoted(body)
    return safe(body + "\n" + "> " * (depth - 1) + ">\n", folds=folds)
