"""Cards and their sections as HTML: one method for each kind of section.

Templates contain the markup. Their values are text, which is escaped on output (`render.html_escape`), or markup from
this module. The output never contains inline styles or scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from markupsafe import Markup

from turnlog.render import card as cards
from turnlog.render.ansi import PLAIN_STYLE, render_ansi
from turnlog.render.diff_tables import build_diff_tables
from turnlog.render.figures import format_count
from turnlog.render.highlight import Highlighter
from turnlog.render.html_escape import escape_to_markup, replace_unencodable
from turnlog.render.jinja_templates import build_item_element_id, load_template, render_pieces
from turnlog.render.markup import BRACKET_STANDINS, CodeWriter, MarkupWriter, is_safe_link
from turnlog.render.text_folds import fold_text, split_long_text
from turnlog.render.tree import render_tree

__all__ = ["MAX_PROSE_CHARS", "is_safe_link", "render_prose"]

if TYPE_CHECKING:
    from nh3 import Cleaner
    from pyromark import Markdown

MAX_PROSE_CHARS = 200_000
"""Longer text is not prose, and is shown as plain text."""

_CODE_PLACE = re.compile('<pre data-code="([0-9]+)"></pre>')
_ALLOWED_TAGS = frozenset(
    "p br hr h3 h4 h5 h6 em strong del sup sub code pre blockquote ul ol li table tbody tr th td a span div".split()
)
_ALLOWED_CLASSES = {
    "span": {"hidden-char", "html", "math", "picture-link", "task", "dead-link"},
    "div": {"table", "footnote", "html"},
    "blockquote": {"alert", "note", "tip", "important", "warning", "caution"},
    "th": {"center", "right"},
    "td": {"center", "right"},
}
# The parser would remove the backslashes of `\\(x\\)`, so placeholder characters pass through it instead.
_FORMULA = re.compile(r"\\([()])|(?m:^[ \t]*)\\(\[)|\\(\])(?=[ \t]*(?m:$))")


def render_prose(text: str, code: CodeWriter) -> Markup:
    """Render Markdown as HTML."""
    writer = MarkupWriter(code)
    html = writer.write_events(_build_parser().events(_protect_formulas(replace_unencodable(text))))
    clean = _build_cleaner().clean(html)
    return Markup(_CODE_PLACE.sub(lambda found: writer.blocks[int(found[1])], clean))


def _protect_formulas(text: str) -> str:
    if "\\(" not in text and "\\[" not in text:
        return text
    return _FORMULA.sub(lambda found: BRACKET_STANDINS[found[1] or found[2] or found[3]], text)


@lru_cache(maxsize=1)
def _build_parser() -> Markdown:
    from pyromark import Markdown, Options

    return Markdown(
        options=Options.ENABLE_TABLES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_FOOTNOTES
        | Options.ENABLE_MATH
        | Options.ENABLE_GFM
    )


@lru_cache(maxsize=1)
def _build_cleaner() -> Cleaner:
    from nh3 import Cleaner

    return Cleaner(
        tags=set(_ALLOWED_TAGS),
        clean_content_tags=set(),
        attributes={
            "a": {"href", "title"},
            "span": {"title"},
            "ol": {"start"},
            "pre": {"data-code"},
            "div": {"tabindex"},
        },
        allowed_classes=_ALLOWED_CLASSES,
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


PictureSource = Callable[[cards.Picture], str | None]
"""Returns the `src` of a picture; None if only its name is shown."""
TranscriptRenderer = Callable[[str], Markup | None]
"""Returns a sub-agent's transcript as HTML for its card, by the agent's id."""

COLOUR_BUDGET_CHARS = 20_000
"""How many characters of visible code are highlighted per window; folded code gets half as many."""
MAX_SHOWN_HITS = 40
"""How many search results are shown before the fold."""
_OPEN_FAMILIES = frozenset({"writing", "asking", "planning"})
_OPEN_OUTCOMES = frozenset({"error"})
_PICTURE_SOURCE = re.compile(r"data:image/(?:png|jpeg|gif|webp);|https?:|[/#.]|[\w-]+(?:/|\.)")
_DOCUMENT_SOURCE = re.compile(
    r"data:(?:application/pdf|text/plain|application/octet-stream)[;,]|https?:|[/#.]|[\w-]+(?:/|\.)"
)


class ItemLinks(Protocol):
    """The links of an item; a link that does not exist is None."""

    def raw(self, offset: int) -> str | None:
        """Return the link to the raw entry at an offset."""

    def agent(self, agent_id: str) -> str | None:
        """Return the link to the transcript of a sub-agent."""

    def permalink(self, key: str) -> str | None:
        """Return the link to the item itself."""


class StandaloneLinks:
    """The links of a page without a server."""

    def raw(self, offset: int) -> str | None:
        """Return None, because the page has no raw entries."""

    def agent(self, agent_id: str) -> str | None:
        """Return None, because the page itself contains the sub-agents."""

    def permalink(self, key: str) -> str | None:
        """Return the anchor of an item on the page."""
        return f"#{build_item_element_id(key)}"


class _LineGroup(NamedTuple):
    """Lines of code that a browser lays out together."""

    html: Markup
    numbers: str
    """The line numbers, one below the other; empty if the lines have none."""
    is_piece: bool
    is_continued: bool
    """Whether the first line begins in the group before."""


class SectionWriter:
    """Writes cards and sections as HTML."""

    def __init__(
        self,
        pictures: PictureSource,
        links: ItemLinks | None = None,
        highlight: bool = True,
        buttons: bool = False,
        transcript: TranscriptRenderer | None = None,
    ) -> None:
        self._pictures = pictures
        self._links = links if links is not None else StandaloneLinks()
        self._transcript = transcript
        self._named: str | None = None
        self._place: str | None = None
        """The address of the message whose cards are being written, without a fragment."""
        self._shared = {"links": self._links, "buttons": buttons, "html": self}
        self._budget = COLOUR_BUDGET_CHARS if highlight else 0
        self._refill_colour_budget()

    def _refill_colour_budget(self) -> None:
        """Give a new window its highlighting budget."""
        self._colours, self._folded_colours = Highlighter(self._budget), Highlighter(self._budget // 2)

    def write_card(self, card: cards.Card) -> Markup:
        is_open = card.family in _OPEN_FAMILIES or card.outcome in _OPEN_OUTCOMES
        diffs = [section for section in card.answered if isinstance(section, cards.DiffSection)] if card.title else []
        self._named = diffs[0].path if len(diffs) == 1 and diffs[0].path.endswith(card.title) else None
        open_colours = self._colours
        self._colours = open_colours if is_open else self._folded_colours
        asked, answered = ([self.write_section(part) for part in parts] for parts in (card.asked, card.answered))
        self._colours = open_colours
        return self._render("card.html", card=card, is_open=is_open, asked=asked, answered=answered, place=self._place)

    # -- sections

    def write_section(self, section: cards.Section) -> Markup:
        """Write a section with the method for its kind."""
        html: Markup = getattr(self, f"_{section.__struct_config__.tag}")(section)
        return html

    def write_prose(self, text: str) -> Markup:
        """Write Markdown; text that is too long to render is shown plain and folded."""
        if len(text) > MAX_PROSE_CHARS:
            return self._plain(cards.PlainSection(text))
        return Markup('<div class="prose">') + render_prose(text, self._write_fenced_code) + Markup("</div>")

    def _write_fenced_code(self, text: str, language: str) -> Markup:
        return self._code(cards.CodeSection(text, language, language if len(language) < 30 else ""))

    def _code(self, section: cards.CodeSection) -> Markup:
        text = section.text.removesuffix("\n")
        parts = fold_text(text)
        is_cut_line = len(parts.head) + len(parts.rest) == len(text)
        first = section.first_line
        after = None if first is None else first + parts.lines - is_cut_line
        return self._render(
            "code.html",
            title=section.title,
            language=section.language,
            head=self._group_lines(parts.head, first, section.language, self._colours),
            rest=self._group_lines(parts.rest, after, section.language, self._folded_colours, is_cut_line)
            if parts.rest
            else None,
            more=parts.label,
        )

    def _group_lines(
        self, text: str, first: int | None, language: str, highlighter: Highlighter, is_continued: bool = False
    ) -> list[_LineGroup]:
        """Write code with its line numbers; code too long to highlight is divided, as in `render_pieces`."""
        is_short = len(text) <= COLOUR_BUDGET_CHARS
        groups: list[_LineGroup] = []
        for piece in [text] if is_short else split_long_text(text):
            own = piece if is_short else piece.removesuffix("\n")
            html = highlighter.highlight_code(own, language) if is_short else escape_to_markup(own)
            numbers = _number_lines(first, own)
            if is_continued and numbers:
                numbers = "\n".join(["", *numbers.split("\n")[1:]])
            groups.append(_LineGroup(html, numbers, not is_short, is_continued))
            first = None if first is None else first + piece.count("\n")
            is_continued = not piece.endswith("\n")
        return groups

    def _terminal(self, section: cards.TerminalSection) -> Markup:
        parts = fold_text(section.text.removesuffix("\n"))
        head, style = render_ansi(parts.head, PLAIN_STYLE)
        rest = render_ansi(parts.rest, style)[0] if parts.rest else None
        return self._render("terminal.html", stream=section.stream, head=head, rest=rest, more=parts.label)

    def _diff(self, section: cards.DiffSection) -> Markup:
        tables = build_diff_tables(section.hunks, section.path, self._colours)
        return self._render(
            "diff.html",
            diff=section,
            tables=tables,
            is_bare=section.path == self._named,
            rest=[format_count(count, "more row") for count in tables.rest],
        )

    def _text(self, section: cards.TextSection) -> Markup:
        return self._render("text.html", title=section.title, body=self.write_prose(section.text))

    def _plain(self, section: cards.PlainSection) -> Markup:
        parts = fold_text(section.text.removesuffix("\n"))
        return self._render("plain.html", section=section, parts=parts, rest=render_pieces(parts.rest))

    def _fields(self, section: cards.FieldsSection) -> Markup:
        return self._render("fields.html", rows=[(name, fold_text(value, 12, 2_000)) for name, value in section.rows])

    def _tree(self, section: cards.TreeSection) -> Markup:
        return self._render("tree.html", title=section.title, tree=render_tree(section.value))

    def _hits(self, section: cards.HitsSection) -> Markup:
        cut = MAX_SHOWN_HITS if len(section.rows) > MAX_SHOWN_HITS * 1.25 else len(section.rows)
        shown_rows, others = section.rows[:cut], section.rows[cut:]
        left_out = max(section.total - len(section.rows), 0)
        return self._render(
            "hits.html",
            files=_group_by_file(shown_rows),
            others=_group_by_file(others),
            more=len(others),
            left_out=left_out,
        )

    def _link(self, section: cards.LinkSection) -> Markup:
        return self._render("link.html", link=section, is_safe=_is_web_link(section.url))

    def _checklist(self, section: cards.ChecklistSection) -> Markup:
        return self._render("checklist.html", tasks=section.tasks)

    def _questions(self, section: cards.QuestionsSection) -> Markup:
        choices = [
            (choice, [answer for answer in choice.answers if answer not in {label for label, _ in choice.options}])
            for choice in section.choices
        ]
        return self._render("questions.html", choices=choices, has_result=section.has_result)

    def _agent(self, section: cards.AgentSection) -> Markup:
        inside = self._transcript(section.agent_id) if self._transcript else None
        return self._render("agent.html", agent=section, inside=inside, source=self._links.agent(section.agent_id))

    def _picture(self, section: cards.Picture) -> Markup:
        source = self._pictures(section)
        allowed = _PICTURE_SOURCE if section.kind == "image" else _DOCUMENT_SOURCE
        if source is not None and not allowed.match(source):
            source = None
        return self._render("picture.html", picture=section, source=source)

    def _render(self, name: str, **values: Any) -> Markup:
        return Markup(load_template(name).render(self._shared, **values))


def _number_lines(first: int | None, text: str) -> str:
    if first is None or not text:
        return ""
    return "\n".join(map(str, range(first, first + text.count("\n") + 1)))


def _group_by_file(rows: Iterable[tuple[str, str, str]]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(file, [row[1:] for row in group]) for file, group in groupby(rows, key=lambda row: row[0])]


def _is_web_link(url: str) -> bool:
    return is_safe_link(url) and not url.lower().startswith("mailto:")
