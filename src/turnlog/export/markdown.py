"""A session as Markdown: turns as headings, prompts as quotations, and sub-agents as quotations after their calls."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.export.material import ExportMaterial
from turnlog.export.session_facts import list_session_facts
from turnlog.export.view_walk import AgentBegin, AgentEnd, walk_views
from turnlog.render.markdown import open_details, render_markdown
from turnlog.render.markdown_text import escape_html_tags, escape_markdown, quote_text, to_inline_code


def export_markdown(material: ExportMaterial) -> Iterator[str]:
    """Yield the Markdown document, piece by piece."""
    yield f"# {escape_markdown(material.title)}\n\n"
    for fact in list_session_facts(material):
        value = to_inline_code(fact.value) if fact.is_code else escape_markdown(fact.value)
        yield f"- {fact.name}: {value}\n"
    yield "\n"
    folds = material.choice.wishes.details
    for depth, part in walk_views(material):
        match part:
            case AgentBegin(title):
                yield _quote_nested(
                    (open_details(title) if folds else f"**{escape_markdown(title)}**") + "\n\n", depth, folds
                )
            case AgentEnd():
                yield _close_agent(depth, folds)
            case view:
                if text := render_markdown(view, material.choice.wishes):
                    yield _quote_nested(text + "\n", depth, folds)


def _close_agent(depth: int, folds: bool) -> str:
    if folds:
        return _quote_nested("</details>\n\n", depth, folds)
    return "" if depth else "\n*End of the sub-agent.*\n\n"


def _quote_nested(text: str, depth: int, folds: bool) -> str:
    """Quote text `depth` times, and escape its HTML again, because quoting may change which parts of it are code."""
    if depth == 0:
        return text
    body = text.rstrip("\n")
    for _ in range(depth):
        body = quote_text(body)
    return escape_html_tags(body + "\n" + "> " * (depth - 1) + ">\n", folds=folds)
