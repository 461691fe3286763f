"""A session as HTML: self-contained pages that work without a network and without scripts."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from turnlog.export.destination import FOLDER_MARK, check_destination, open_export_folder, write_export_file
from turnlog.export.material import ExportMaterial, ViewStretch
from turnlog.export.page_frame import render_page_template
from turnlog.export.session_facts import list_session_facts
from turnlog.render.card import AgentSection, Picture
from turnlog.render.figures import format_cost_usd, format_count, format_duration
from turnlog.render.html import HtmlWriter
from turnlog.render.phrases import format_utc_time, read_turn_title
from turnlog.render.view import AnyView, to_agent_view
from turnlog.session.timeline.timeline import Chapter

MAX_PAGE_BYTES = 5_000_000
MAX_PAGE_ITEMS = 2_000
"""A page that has reached this number of items ends before the next group."""
_READ_BYTES = 1 << 20


class PageNames(NamedTuple):
    """The file names of one session's pages."""

    file: str
    """The name of the first page."""

    @property
    def folder(self) -> str:
        """The folder that contains the other pages, next to the first page."""
        return f"{self.file.removesuffix('.html')}-pages"

    def name_page(self, page: int) -> str:
        return self.file if page == 1 else f"page-{page}.html"

    def href(self, here: int, there: int) -> str:
        """Return the link from one page to another; an empty string for the page itself."""
        if here == there:
            return ""
        if here == 1:
            return quote(f"{self.folder}/page-{there}.html")
        return "../" + quote(self.file) if there == 1 else f"page-{there}.html"


class PageSpool:
    """Stores the bodies of all pages in one temporary file: the links between pages are known only at the end."""

    def __init__(self, *, paged: bool) -> None:
        self._paged = paged
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - closed by __exit__
        self._starts = [0]
        self._items = 0
        self._size = 0
        self.turns: dict[int, int] = {}
        """The page on which each turn starts."""

    def __enter__(self) -> PageSpool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self._starts)

    @property
    def is_full(self) -> bool:
        """True if the current page should end here."""
        return self._paged and (self._items >= MAX_PAGE_ITEMS or self._size - self._starts[-1] >= MAX_PAGE_BYTES)

    def end_page(self) -> None:
        """End the current page and start the next one."""
        self._starts.append(self._size)
        self._items = 0

    def add(self, text: str, items: int = 0) -> None:
        data = text.encode("utf-8", "replace")
        self._file.write(data)
        self._size += len(data)
        self._items += items

    def read_page(self, number: int) -> Iterator[bytes]:
        """Yield the body of a page, piece by piece."""
        self._file.seek(self._starts[number - 1])
        left = (self._starts[number] if number < self.count else self._size) - self._starts[number - 1]
        while left > 0 and (piece := self._file.read(min(left, _READ_BYTES))):
            left -= len(piece)
            yield piece


_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_DOCUMENT_TYPES = frozenset({"application/pdf", "text/plain"})
_MAX_DOCUMENT_CHARS = 4_000_000
"""The largest document that is embedded; for larger ones, only the name is shown."""
_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_AGENT_PLACEHOLDER = re.compile(r"<!--agent ([0-9]+)-->")
_MAX_COLOURED_CHARS = 6_000_000
"""The maximum number of characters to highlight per document; highlighting takes longer than everything else."""


def render_one_page(material: ExportMaterial, *, unfolded: bool = False) -> Iterator[bytes]:
    """Render a session as one document, piece by piece; `unfolded` opens all folds, for printing."""
    with PageSpool(paged=False) as spool:
        _BodyWriter(material, spool, unfolded=unfolded).write()
        yield from _render_page(material, spool, PageNames(""), 1, scripted=not unfolded)


def write_pages(material: ExportMaterial, goal: Path, *, force: bool = False, home: str | None = None) -> int:
    """Write a session as one file, or as several pages if it is long; return the number of pages.

    `home` is the name of a page that lists all sessions.
    """
    names = PageNames(goal.name)
    others = goal.with_name(names.folder)
    check_destination(goal, force=force)
    with PageSpool(paged=True) as spool:
        _BodyWriter(material, spool).write()
        if spool.count > 1:
            with open_export_folder(others, force=force) as place:
                for number in range(2, spool.count + 1):
                    up = f"../{home}" if home else None
                    write_export_file(
                        place / names.name_page(number), _render_page(material, spool, names, number, home=up)
                    )
        elif force and (others / FOLDER_MARK).is_file():
            shutil.rmtree(others)  # pages of an earlier export with the same name
        write_export_file(goal, _render_page(material, spool, names, 1, home=home), force=force)
        return spool.count


def _render_page(
    material: ExportMaterial,
    spool: PageSpool,
    names: PageNames,
    number: int,
    *,
    home: str | None = None,
    scripted: bool = True,
) -> Iterator[bytes]:
    links: dict[str, Any] = {
        "scripted": scripted,
        "page": number,
        "pages": spool.count,
        "first": names.href(number, 1),
        "before": names.href(number, number - 1) if number > 1 else None,
        "after": names.href(number, number + 1) if number < spool.count else None,
    }
    is_first = number == 1
    yield render_page_template(
        "top.html",
        **links,
        pager_name="Pages",
        home=home,
        title=material.title,
        facts=list_session_facts(material) if is_first else [],
        searchable=scripted,
        contents=list(_list_contents(material, spool, names)) if is_first else [],
    ).encode("utf-8", "replace")
    yield from spool.read_page(number)
    remark = "; secrets were replaced by placeholders" if material.choice.is_redacted else ""
    yield render_page_template("bottom.html", **links, pager_name="Pages, again", remark=remark).encode()


def _list_contents(material: ExportMaterial, spool: PageSpool, names: PageNames) -> Iterator[dict[str, object]]:
    for chapter in material.chapters:
        if (page := spool.turns.get(chapter.turn)) is not None:
            yield {
                "href": f"{names.href(1, page)}#t-{chapter.turn}",
                "number": chapter.turn,
                "title": read_turn_title(chapter),
                "kind": chapter.kind,
                "note": format_utc_time(chapter.started),
                "errors": chapter.errors,
            }


class _BodyWriter:
    """Writes the content of all pages."""

    def __init__(self, material: ExportMaterial, spool: PageSpool, *, unfolded: bool = False) -> None:
        self._material = material
        self._spool = spool
        self._unfolded = unfolded
        self._agent_ids: list[str] = []
        self._agent_costs = material.head.sum_agent_costs()
        self._html = HtmlWriter(to_data_url, highlight=True, transcript=self._place_agent)
        self._plain = HtmlWriter(to_data_url, highlight=False, transcript=self._place_agent)
        self._written = 0

    def write(self) -> None:
        last: Chapter | None = None
        for stretch in self._material.iter_stretches():
            if not stretch.views:
                continue
            is_full = self._spool.is_full
            if last is not None and (is_full or stretch.chapter is not last):
                self._add_text("</section>\n")
            if is_full:
                self._spool.end_page()
            if is_full or stretch.chapter is not last:
                self._add_text(self._open_chapter(stretch.chapter, is_continued=stretch.chapter is last))
            last = stretch.chapter
            self._write_stretch(stretch)
        if last is not None:
            self._add_text("</section>\n")
        self._write_left_agents()

    def _write_stretch(self, stretch: ViewStretch) -> None:
        self._spool.add("", len(stretch.views))
        for piece in self._expand_agents(self._render_views(stretch.views)):
            self._add_text(piece)

    def _open_chapter(self, chapter: Chapter, *, is_continued: bool) -> str:
        number = chapter.turn
        if not number:
            return '<section class="chapter">\n'
        name = f"t-{number}"
        if is_continued or number in self._spool.turns:
            name = f"t-{number}-{self._spool.count}"
        self._spool.turns.setdefault(number, self._spool.count)
        calls = format_count(chapter.calls, "call") if chapter.calls else ""
        facts = [
            format_utc_time(chapter.started),
            format_duration(chapter.duration_ms),
            calls,
            format_cost_usd(chapter.cost_usd + self._agent_costs.get(number, 0.0) or None),
        ]
        more = "".join(f" · {fact}" for fact in facts if fact)
        title = f"Turn {number}" + (", continued" if is_continued else "")
        # On paper, every page of a turn repeats its heading; the outline of the PDF has only the real one.
        running = f'<div class="running-head" aria-hidden="true"><p>{title}{more}</p></div>\n' if self._unfolded else ""
        return (
            f'<section class="chapter" id="{name}" aria-labelledby="h-{name}">\n{running}'
            f'<h2 id="h-{name}"><a href="#{name}">{title}</a>{more}</h2>\n'
        )

    def _add_text(self, text: str) -> None:
        self._spool.add(text.replace("<details ", "<details open ") if self._unfolded else text)
        self._written += len(text)

    def _render_views(self, views: list[AnyView]) -> str:
        writer = self._html if self._written < _MAX_COLOURED_CHARS else self._plain
        return str(writer.write_views(views)) + "\n"

    # -- sub-agents

    def _place_agent(self, agent_id: str) -> Markup:
        """Return a placeholder for a sub-agent; its views are written later, window by window."""
        self._agent_ids.append(agent_id)
        return Markup(f"<!--agent {len(self._agent_ids) - 1}-->")

    def _expand_agents(self, text: str) -> Iterator[str]:
        """Replace the placeholders in the text with the sub-agents. Transcript text can't imitate a placeholder."""
        position = 0
        for placeholder in _AGENT_PLACEHOLDER.finditer(text):
            yield text[position : placeholder.start()]
            position = placeholder.end()
            yield from self._render_agent(self._agent_ids[int(placeholder[1])])
        yield text[position:]

    def _render_agent(self, agent_id: str) -> Iterator[str]:
        windows = self._material.take_agent_views(agent_id)
        if windows is None:
            yield '<p class="note">Its transcript is not in this export, or is shown above.</p>'
            return
        for window in windows:
            yield from self._expand_agents(self._render_views([to_agent_view(view, f"{agent_id}:") for view in window]))

    def _write_left_agents(self) -> None:
        left = list(self._material.iter_left_agents())
        if not left:
            return
        self._add_text('<section class="chapter" id="others">\n<h2>Sub-agents without a call</h2>\n')
        for agent_id in left:
            helper = self._material.helpers.get(agent_id)
            card = (
                AgentSection(agent_id, helper.type or "", helper.description or agent_id)
                if helper
                else AgentSection(agent_id)
            )
            for piece in self._expand_agents(str(self._html.write_section(card))):
                self._add_text(piece)
        self._add_text("</section>\n")


def to_data_url(picture: Picture) -> str | None:
    """Return a data URL for a picture or small document; None if only its name is shown."""
    data = "".join(picture.data.split())
    kind = picture.media_type.lower()
    is_embeddable = (
        kind in _IMAGE_TYPES
        if picture.kind == "image"
        else kind in _DOCUMENT_TYPES and len(data) <= _MAX_DOCUMENT_CHARS
    )
    return f"data:{kind};base64,{data}" if is_embeddable and _BASE64_TEXT.fullmatch(data) else None
