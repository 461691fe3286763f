"""Cards and their sections as HTML: one method for each kind of section.

Templates hold the markup; what they are given is text, which is escaped when it is written (`render.visible`), or
markup that was made here. There is no inline style and no script in anything that is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Protocol

from markupsafe import Markup

from turnlog.render import card as cards
from turnlog.render.ansi import PLAIN, ansi
from turnlog.render.difference import tables
from turnlog.render.figures import count
from turnlog.render.folding import folded
from turnlog.render.highlight import Highlighter
from turnlog.render.prose import LARGEST, is_safe_link, prose
from turnlog.render.templating import item_id, template
from turnlog.render.tree import tree

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


class Sections:
    """Writes cards and sections."""

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
        self._transcript = transcript
        self._named: str | None = None
        self._shared = {"links": self._links, "buttons": buttons, "html": self}
        self._budget = BUDGET if highlight else 0
        self._refill()

    def _refill(self) -> None:
        """Let a new window spend on colours."""
        self._colours, self._folded_colours = Highlighter(self._budget), Highlighter(self._budget // 2)

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


def _numbers(first: int | None, text: str) -> str:
    if first is None or not text:
        return ""
    return "\n".join(map(str, range(first, first + text.count("\n") + 1)))


def _grouped(rows: Iterable[tuple[str, str, str]]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(file, [row[1:] for row in found]) for file, found in groupby(rows, key=lambda row: row[0])]


def _is_web(url: str) -> bool:
    return is_safe_link(url) and not url.lower().startswith("mailto:")
