"""Views, cards and sections as HTML, for the web app and for exports.

Templates hold the markup; what they are given is text, which is escaped when it is written (`render.visible`), or
markup that was made here. There is no inline style and no script in anything that is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Protocol

from markupsafe import Markup

from . import card as cards
from . import view as sights
from .ansi import PLAIN, ansi
from .ansi import plain as unescaped
from .difference import tables
from .folding import count, folded, parted
from .highlight import Highlighter
from .prose import LARGEST, is_safe_link, prose
from .templating import item_id, template
from .tree import tree
from .visible import shown

PictureSource = Callable[[cards.Picture], str | None]
"""The `src` of a picture; None: it is not shown, only named."""
Transcript = Callable[[str], Markup | None]
"""What a sub-agent did, by its id, as HTML to stand inside of its card."""

BUDGET = 20_000
"""So many characters of code that is shown at once are coloured in one window, and half as many of what is folded."""
HITS = 40
"""So many places that a search found are shown at once."""
_OPEN_FAMILIES = frozenset({"writing", "asking", "planning"})
_OPEN_OUTCOMES = frozenset({"error"})
_MARKDOWN = re.compile(r"^(?:```|~~~|#{1,4} \S|[-*] \S|\d+\. \S|> |\|.*\|)|\*\*\S|`[^`\n]+`|\]\(http", re.MULTILINE)
_PICTURES = re.compile(r"data:image/(?:png|jpeg|gif|webp);|https?:|[/#.]|[\w-]+(?:/|\.)")
_DOCUMENTS = re.compile(
    r"data:(?:application/pdf|text/plain|application/octet-stream)[;,]|https?:|[/#.]|[\w-]+(?:/|\.)"
)


class Links(Protocol):
    """Where things lead; None where they lead nowhere."""

    def raw(self, offset: int) -> str | None:
        """The raw entry that begins there."""

    def agent(self, agent_id: str) -> str | None:
        """The transcript of a sub-agent."""

    def permalink(self, key: str) -> str | None:
        """The item itself."""


class Nowhere:
    """Links of a page that stands alone."""

    def raw(self, offset: int) -> str | None:
        """None: the page has no raw entries."""

    def agent(self, agent_id: str) -> str | None:
        """None: what there is of sub-agents is on the page."""

    def permalink(self, key: str) -> str | None:
        """An anchor on the page."""
        return f"#{item_id(key)}"


class Html:
    """Writes views as HTML."""

    def __init__(
        self,
        pictures: PictureSource,
        links: Links | None = None,
        highlight: bool = True,
        buttons: bool = False,
        transcript: Transcript | None = None,
    ) -> None:
        self._pictures = pictures
        self._links = links if links is not None else Nowhere()
        self._budget = BUDGET if highlight else 0
        self._folded_colours = Highlighter(self._budget // 2)
        self._transcript = transcript
        self._colours = Highlighter(self._budget)
        self._model: str | None = None
        self._named: str | None = None
        self._shared = {"links": self._links, "buttons": buttons, "html": self}

    # -- views

    def views(self, views: Iterable[sights.AnyView]) -> Markup:
        """A window: views one after the other."""
        return Markup("\n").join(self.each(views))

    def each(self, views: Iterable[sights.AnyView]) -> list[Markup]:
        """The views of a window, each by itself; they share what may be spent on colours."""
        self._colours, self._folded_colours = Highlighter(self._budget), Highlighter(self._budget // 2)
        self._model = None
        return [self._view(view) for view in views]

    def view(self, view: sights.AnyView) -> Markup:
        """One view."""
        return self.views([view])

    def _view(self, view: sights.AnyView) -> Markup:
        name = view.__struct_config__.tag
        more = getattr(self, f"_{name}")(view)
        return self._render(f"{name}.html", view=view, **more)

    def _prompt(self, view: sights.Prompt) -> dict[str, Any]:
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

    def _answer(self, view: sights.Answer) -> dict[str, Any]:
        is_other = not view.is_synthetic and view.model != self._model
        self._model = self._model if view.is_synthetic else view.model
        return {"blocks": [self.block(block) for block in view.blocks], "model": view.model if is_other else None}

    def _event(self, view: sights.Event) -> dict[str, Any]:
        if not view.is_terminal:
            return {
                "words": folded(view.text, 12, 2_000),
                "detail": view.detail and self._plain(cards.Plain(view.detail)),
            }
        words = folded(view.text, 12, 2_000)
        html = words._replace(head=ansi(words.head)[0], rest=ansi(words.rest)[0])
        return {"words": html, "detail": view.detail and self._terminal(cards.Terminal(view.detail))}

    def _compaction(self, view: sights.Compaction) -> dict[str, Any]:
        return {"summary": view.summary and self.prose(view.summary)}

    def _meta(self, view: sights.Meta) -> dict[str, Any]:
        names = [f"{name} ×{many}" if many > 1 else name for name, many in _counted(row.name for row in view.rows)]
        return {
            "names": names[:6],
            "others": max(len(names) - 6, 0),
            "total": count(len(view.rows), "entry", "entries"),
        }

    # -- blocks of an answer

    def block(self, block: sights.Block) -> Markup:
        """A block of an answer."""
        if isinstance(block, sights.Said):
            return Markup('<div class="said">') + self.prose(block.text) + Markup("</div>")
        if isinstance(block, sights.Thought):
            return self._thought(block)
        if isinstance(block, sights.Shot):
            return self.section(block.picture)
        if isinstance(block, sights.Called):
            return self.card(block.card)
        return self._render("odd.html", kind=block.kind, tree=tree(block.value))

    def _thought(self, block: sights.Thought) -> Markup:
        text = block.text.strip()
        first = " ".join(text[:400].split())[:140]
        return self._render("thinking.html", first=first, body=self.prose(text) if text else None)

    def card(self, card: cards.Card) -> Markup:
        """A call."""
        is_open = card.family in _OPEN_FAMILIES or card.outcome in _OPEN_OUTCOMES
        named = [section for section in card.answered if isinstance(section, cards.Diff)] if card.title else []
        self._named = named[0].path if len(named) == 1 and named[0].path.endswith(card.title) else None
        open_colours = self._colours
        self._colours = open_colours if is_open else self._folded_colours
        asked, answered = ([self.section(part) for part in parts] for parts in (card.asked, card.answered))
        self._colours = open_colours
        return self._render("card.html", card=card, is_open=is_open, asked=asked, answered=answered)

    # -- sections

    def section(self, section: cards.Section) -> Markup:
        """A section of a card."""
        found: Markup = getattr(self, f"_{section.__struct_config__.tag}")(section)
        return found

    def prose(self, text: str) -> Markup:
        """Markdown; what is too large for it is shown as it is, folded."""
        if len(text) > LARGEST:
            return self._plain(cards.Plain(text))
        return Markup('<div class="prose">') + prose(text, self._fenced) + Markup("</div>")

    def _fenced(self, text: str, language: str) -> Markup:
        return self._code(cards.Code(text, language, language if len(language) < 30 else ""))

    def _code(self, section: cards.Code) -> Markup:
        parts = folded(section.text.removesuffix("\n"))
        first = section.first_line
        return self._render(
            "code.html",
            title=section.title,
            language=section.language,
            head=self._colours.code(parts.head, section.language),
            rest=self._folded_colours.code(parts.rest, section.language) if parts.rest else None,
            more=parts.label,
            numbers=_numbers(first, parts.head),
            more_numbers=_numbers(None if first is None else first + parts.lines, parts.rest),
        )

    def _terminal(self, section: cards.Terminal) -> Markup:
        parts = folded(section.text.removesuffix("\n"))
        head, style = ansi(parts.head, PLAIN)
        rest = ansi(parts.rest, style)[0] if parts.rest else None
        return self._render("terminal.html", stream=section.stream, head=head, rest=rest, more=parts.label)

    def _diff(self, section: cards.Diff) -> Markup:
        made = tables(section.hunks, section.path, self._colours)
        return self._render(
            "diff.html",
            diff=section,
            tables=made,
            is_bare=section.path == self._named,
            rest=[count(many, "more row") for many in made.rest],
        )

    def _text(self, section: cards.Text) -> Markup:
        return self._render("text.html", title=section.title, body=self.prose(section.text))

    def _plain(self, section: cards.Plain) -> Markup:
        return self._render("plain.html", section=section, parts=folded(section.text.removesuffix("\n")))

    def _fields(self, section: cards.Fields) -> Markup:
        return self._render("fields.html", rows=[(name, folded(value, 12, 2_000)) for name, value in section.rows])

    def _tree(self, section: cards.Tree) -> Markup:
        return self._render("tree.html", title=section.title, tree=tree(section.value))

    def _hits(self, section: cards.Hits) -> Markup:
        cut = HITS if len(section.rows) > HITS * 1.25 else len(section.rows)
        shown_rows, others = section.rows[:cut], section.rows[cut:]
        left_out = max(section.total - len(section.rows), 0)
        return self._render(
            "hits.html", files=_grouped(shown_rows), others=_grouped(others), more=len(others), left_out=left_out
        )

    def _link(self, section: cards.Link) -> Markup:
        return self._render("link.html", link=section, is_safe=_is_web(section.url))

    def _checklist(self, section: cards.Checklist) -> Markup:
        return self._render("checklist.html", tasks=section.tasks)

    def _questions(self, section: cards.Questions) -> Markup:
        choices = [
            (choice, [answer for answer in choice.answers if answer not in {label for label, _ in choice.options}])
            for choice in section.choices
        ]
        return self._render("questions.html", choices=choices)

    def _agent(self, section: cards.Agent) -> Markup:
        inside = self._transcript(section.agent_id) if self._transcript else None
        return self._render("agent.html", agent=section, inside=inside, source=self._links.agent(section.agent_id))

    def _picture(self, section: cards.Picture) -> Markup:
        source = self._pictures(section)
        allowed = _PICTURES if section.kind == "image" else _DOCUMENTS
        if source is not None and not allowed.match(source):
            source = None
        return self._render("picture.html", picture=section, source=source)

    def _render(self, name: str, **values: Any) -> Markup:
        return Markup(template(name).render(self._shared, **values))


def _typed(text: str) -> Markup:
    return Markup('<div class="typed">') + shown(text) + Markup("</div>") if text else Markup("")


def _numbers(first: int | None, text: str) -> str:
    if first is None or not text:
        return ""
    return "\n".join(map(str, range(first, first + text.count("\n") + 1)))


def _grouped(rows: Iterable[tuple[str, str, str]]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(file, [row[1:] for row in found]) for file, found in groupby(rows, key=lambda row: row[0])]


def _counted(names: Iterable[str]) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return list(found.items())


def _is_web(url: str) -> bool:
    return is_safe_link(url) and not url.lower().startswith("mailto:")
