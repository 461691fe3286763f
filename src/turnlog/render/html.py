"""Views as HTML, for the web app and for exports: the items around their cards and sections."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from turnlog.entries.speakers import SENDING_SPEAKERS
from turnlog.render import card as cards
from turnlog.render import view as view_types
from turnlog.render.ansi import render_ansi, strip_ansi
from turnlog.render.events import format_prompt_label
from turnlog.render.figures import describe_text_tokens, format_count
from turnlog.render.jinja_templates import render_pieces
from turnlog.render.sections import SectionWriter
from turnlog.render.text_folds import fold_markdown, fold_text
from turnlog.render.tree import render_tree
from turnlog.session.lost_texts import describe_lost_text
from turnlog.work_progress import check_for_stop

_MARKDOWN_SIGNS = re.compile(
    r"^(?:```|~~~|#{1,4} \S|[-*] \S|\d+\. \S|> |\|.*\|)|\*\*\S|`[^`\n]+`|\]\(http", re.MULTILINE
)

_INLINE_SIGNS = re.compile(r"\*\*(\S(?:[^*]*[^*\s])?)\*\*|(?<!`)`([^`]+)`(?!`)")
_MAX_GROUP_BLOCKS = 50
"""A browser lays out the blocks of longer answers in groups, and only those that can be seen."""


class HtmlWriter(SectionWriter):
    """Writes views as HTML."""

    _model: str | None = None
    """The model of the previous answer in the window: a model is shown only where it changes."""

    def write_views(self, views: Iterable[view_types.AnyView]) -> Markup:
        """Write the views of a window in sequence."""
        return Markup("\n").join(self.write_each_view(views))

    def write_each_view(self, views: Iterable[view_types.AnyView]) -> list[Markup]:
        """Write each view of a window separately; all views share one highlighting budget."""
        self._refill_colour_budget()
        self._model = None
        return [self._render_view(view) for view in views]

    def write_view(self, view: view_types.AnyView) -> Markup:
        """Write a single view as its own window."""
        return self.write_views([view])

    def _render_view(self, view: view_types.AnyView) -> Markup:
        name = view.__struct_config__.tag
        values = getattr(self, f"_{name}")(view)
        return self._render(f"{name}.html", view=view, **values)

    def _prompt(self, view: view_types.PromptView) -> dict[str, Any]:
        return {"label": format_prompt_label(view.kind, view.sender), **self._render_prompt_text(view)}

    def _render_prompt_text(self, view: view_types.PromptView) -> dict[str, Any]:
        text = strip_ansi(view.text)
        if view.kind in ("bash", "command"):
            return {
                "said": None,
                "code": self._code(cards.CodeSection(text, "bash" if view.kind == "bash" else "")),
                "more": "",
            }
        if not _MARKDOWN_SIGNS.search(text):
            parts = fold_text(text)
            return {"said": _render_typed(parts.head), "rest": _render_typed(parts.rest), "more": parts.label}
        parts = fold_markdown(text)
        return {
            "said": self.write_prose(parts.head),
            "rest": parts.rest and self.write_prose(parts.rest),
            "more": parts.label,
        }

    def _answer(self, view: view_types.AnswerView) -> dict[str, Any]:
        is_other = not view.is_synthetic and view.model != self._model
        self._model = self._model if view.is_synthetic else view.model
        permalink = self._links.permalink(view.key)
        self._place = permalink.partition("#")[0] if permalink else None
        blocks = [self.write_block(block) for block in view.blocks]
        size = _MAX_GROUP_BLOCKS if len(blocks) > 2 * _MAX_GROUP_BLOCKS else len(blocks)
        groups = [blocks[at : at + size] for at in range(0, len(blocks), size)] if blocks else []
        lost = describe_lost_text(view.lost_tokens)
        return {"groups": groups, "model": view.model if is_other else None, "lost_text": lost}

    def _event(self, view: view_types.EventView) -> dict[str, Any]:
        if not view.is_terminal:
            return {
                "words": fold_text(view.text, 12, 2_000),
                "detail": view.detail and self._plain(cards.PlainSection(view.detail)),
                "is_open": view.kind in SENDING_SPEAKERS,
            }
        text = fold_text(view.text, 12, 2_000)
        html = text._replace(head=render_ansi(text.head)[0], rest=render_ansi(text.rest)[0])
        return {
            "words": html,
            "detail": view.detail and self._terminal(cards.TerminalSection(view.detail)),
            "is_open": False,
        }

    def _compaction(self, view: view_types.CompactionView) -> dict[str, Any]:
        return {"summary": view.summary and self.write_prose(view.summary)}

    def _meta(self, view: view_types.MetaView) -> dict[str, Any]:
        names = [
            f"{name} ×{count}" if count > 1 else name for name, count in _count_names(row.name for row in view.rows)
        ]
        return {
            "names": names[:6],
            "others": max(len(names) - 6, 0),
            "total": format_count(len(view.rows), "entry", "entries"),
        }

    # -- blocks of an answer

    def write_block(self, block: view_types.AnswerBlock) -> Markup:
        check_for_stop()
        if isinstance(block, view_types.AnswerText):
            return self._render_said(block)
        if isinstance(block, view_types.AnswerThinking):
            return self._render_thinking(block)
        if isinstance(block, view_types.AnswerPicture):
            return self.write_section(block.picture)
        if isinstance(block, view_types.AnswerCall):
            return self.write_card(block.card)
        return self._render("odd.html", kind=block.kind, tree=render_tree(block.value))

    def _render_said(self, block: view_types.AnswerText) -> Markup:
        return self._render(
            "said.html",
            first=_find_first_words(block.text),
            size=describe_text_tokens(len(block.text)),
            body=self.write_prose(block.text),
        )

    def _render_thinking(self, block: view_types.AnswerThinking) -> Markup:
        text = block.text.strip()
        return self._render(
            "thinking.html",
            first=_find_first_words(text),
            size=describe_text_tokens(len(text)),
            body=self.write_prose(text) if text else None,
        )


def _find_first_words(text: str) -> str:
    """Return the start of a text on one line, without the signs of Markdown at its beginning."""
    line = _INLINE_SIGNS.sub(r"\1\2", " ".join(text[:400].split()))
    return line.lstrip("#>*- ")[:140]


def _render_typed(text: str) -> Markup:
    return Markup('<div class="typed">') + render_pieces(text) + Markup("</div>") if text else Markup("")


def _count_names(names: Iterable[str]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return list(found.items())
