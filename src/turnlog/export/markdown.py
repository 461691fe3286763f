"""A session as Markdown: turns as headings, prompts as quotations, sub-agents as quotations behind their calls."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.export.material import Material
from turnlog.export.opening import facts
from turnlog.render.markdown import fold, markdown
from turnlog.render.paragraphs import escaped, inline_code, quoted, safe
from turnlog.render.view import AnyView
from turnlog.render.wording import agents_of, helper_words


def pieces(material: Material) -> Iterator[str]:
    """The document, piece by piece."""
    yield f"# {escaped(material.title)}\n\n"
    for fact in facts(material):
        value = inline_code(fact.value) if fact.is_code else escaped(fact.value)
        yield f"- {fact.name}: {value}\n"
    yield "\n"
    for stretch in material.stretches():
        for view in stretch.views:
            yield from _view(material, view, 0)
    for agent_id in list(material.left_agents()):
        yield from _agent(material, agent_id, 0)


def _view(material: Material, view: AnyView, depth: int) -> Iterator[str]:
    folds = material.choice.wishes.details
    if text := markdown(view, material.choice.wishes):
        yield _nested(text + "\n", depth, folds)
    for agent_id in agents_of(view):
        yield from _agent(material, agent_id, depth)


def _agent(material: Material, agent_id: str, depth: int) -> Iterator[str]:
    windows = material.agent(agent_id)
    if windows is None:
        return
    folds = material.choice.wishes.details
    words = f"Sub-agent {agent_id}: {helper_words(material.helpers.get(agent_id))}".rstrip(": ")
    yield _nested((fold(words) if folds else f"**{escaped(words)}**") + "\n\n", depth, folds)
    for window in windows:
        for view in window:
            yield from _view(material, view, depth + 1)
    if folds:
        yield _nested("</details>\n\n", depth, folds)
    elif depth == 0:
        yield "\n*End of the sub-agent.*\n\n"


def _nested(text: str, depth: int, folds: bool) -> str:
    """A piece at its depth of quotation; what is no code there may be code here, so it is made safe again."""
    if depth == 0:
        return text
    body = text.rstrip("\n")
    for _ in range(depth):
        body = quoted(body)
    return safe(body + "\n" + "> " * (depth - 1) + ">\n", folds=folds)
