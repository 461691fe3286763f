"""Views as HTML, for the web app and for exports: what an item is, around the cards and sections in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from turnlog.entries.speakers import SENDERS
from turnlog.render import card as cards
from turnlog.render import view as given
from turnlog.render.ansi import ansi
from turnlog.render.ansi import plain as unescaped
from turnlog.render.figures import count
from turnlog.render.folding import folded, parted
from turnlog.render.labels import prompt_label
from turnlog.render.sections import Sections
from turnlog.render.tree import tree
from turnlog.render.visible import shown

_MARKDOWN = re.compile(r"^(?:```|~~~|#{1,4} \S|[-*] \S|\d+\. \S|> |\|.*\|)|\*\*\S|`[^`\n]+`|\]\(http", re.MULTILINE)


class Html(Sections):
    """Writes views."""

    _model: str | None = None
    """That of the answer before, in the same window: a model is named where it changes."""

    def views(self, views: Iterable[given.AnyView]) -> Markup:
        """A window: views one after the other."""
        return Markup("\n").join(self.each(views))

    def each(self, views: Iterable[given.AnyView]) -> list[Markup]:
        """The views of a window, each by itself; they share what may be spent on colours."""
        self._refill()
        self._model = None
        return [self._view(view) for view in views]

    def view(self, view: given.AnyView) -> Markup:
        """One view."""
        return self.views([view])

    def _view(self, view: given.AnyView) -> Markup:
        name = view.__struct_config__.tag
        more = getattr(self, f"_{name}")(view)
        return self._render(f"{name}.html", view=view, **more)

    def _prompt(self, view: given.Prompt) -> dict[str, Any]:
        return {"label": prompt_label(view.kind, view.sender), **self._words(view)}

    def _words(self, view: given.Prompt) -> dict[str, Any]:
        text = unescaped(view.text)
        if view.kind in ("bash", "command"):
            return {
                "said": None,
                "code": self._code(cards.Code(text, "bash" if view.kind == "bash" else "")),
                "more": "",
            }
        if not _MARKDOWN.search(text):
            parts = folded(text)
            return {"said": _typed(parts.head), "rest": _typed(parts.rest), "more": parts.label}
        parts = parted(text)
        return {"said": self.prose(parts.head), "rest": parts.rest and self.prose(parts.rest), "more": parts.label}

    def _answer(self, view: given.Answer) -> dict[str, Any]:
        is_other = not view.is_synthetic and view.model != self._model
        self._model = self._model if view.is_synthetic else view.model
        return {"blocks": [self.block(block) for block in view.blocks], "model": view.model if is_other else None}

    def _event(self, view: given.Event) -> dict[str, Any]:
        if not view.is_terminal:
            return {
                "words": folded(view.text, 12, 2_000),
                "detail": view.detail and self._plain(cards.Plain(view.detail)),
                "is_open": view.kind in SENDERS,
            }
        words = folded(view.text, 12, 2_000)
        html = words._replace(head=ansi(words.head)[0], rest=ansi(words.rest)[0])
        return {"words": html, "detail": view.detail and self._terminal(cards.Terminal(view.detail)), "is_open": False}

    def _compaction(self, view: given.Compaction) -> dict[str, Any]:
        return {"summary": view.summary and self.prose(view.summary)}

    def _meta(self, view: given.Meta) -> dict[str, Any]:
        names = [f"{name} ×{many}" if many > 1 else name for name, many in _counted(row.name for row in view.rows)]
        return {
            "names": names[:6],
            "others": max(len(names) - 6, 0),
            "total": count(len(view.rows), "entry", "entries"),
        }

    # -- blocks of an answer

    def block(self, block: given.Block) -> Markup:
        """A block of an answer."""
        if isinstance(block, given.Said):
            return Markup('<div class="said">') + self.prose(block.text) + Markup("</div>")
        if isinstance(block, given.Thought):
            return self._thought(block)
        if isinstance(block, given.Shot):
            return self.section(block.picture)
        if isinstance(block, given.Called):
            return self.card(block.card)
        return self._render("odd.html", kind=block.kind, tree=tree(block.value))

    def _thought(self, block: given.Thought) -> Markup:
        text = block.text.strip()
        first = " ".join(text[:400].split())[:140]
        return self._render("thinking.html", first=first, body=self.prose(text) if text else None)


def _typed(text: str) -> Markup:
    return Markup('<div class="typed">') + shown(text) + Markup("</div>") if text else Markup("")


def _counted(names: Iterable[str]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return list(found.items())
