"""A session as HTML: pages that work by themselves, without a network and without scripts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup
from msgspec.structs import replace

from turnlog.export.goal import MARK, folder, must_be_free, write
from turnlog.export.material import Material, Stretch
from turnlog.export.opening import facts
from turnlog.export.page import rendered
from turnlog.export.pages import Names, Spool
from turnlog.render.card import Agent, Picture
from turnlog.render.figures import count, dollars, duration
from turnlog.render.html import Html
from turnlog.render.view import AnyView
from turnlog.render.wording import when
from turnlog.session.timeline.timeline import Chapter

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_KEPT = frozenset({"application/pdf", "text/plain"})
_LARGEST = 4_000_000
"""Documents with more characters are named and left out."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_AGENT = re.compile(r"<!--agent ([0-9]+)-->")
_COLOURED = 6_000_000
"""So many bytes of a document are coloured: colours cost more time than all the rest."""


def one_page(material: Material, *, unfolded: bool = False) -> Iterator[bytes]:
    """A session as one document, piece by piece; `unfolded` for paper, where nothing can be opened."""
    with Spool(paged=False) as spool:
        _Body(material, spool, unfolded=unfolded).write()
        yield from _page(material, spool, Names(""), 1, scripted=not unfolded)


def write_pages(material: Material, goal: Path, *, force: bool = False, home: str | None = None) -> int:
    """Write a session as a file, or as several pages where it is long; how many pages there are.

    `home` is the name of a page above that lists all sessions.
    """
    names = Names(goal.name)
    others = goal.with_name(names.folder)
    must_be_free(goal, force=force)
    with Spool(paged=True) as spool:
        _Body(material, spool).write()
        if spool.count > 1:
            with folder(others, force=force) as place:
                for number in range(2, spool.count + 1):
                    up = f"../{home}" if home else None
                    write(place / names.own(number), _page(material, spool, names, number, home=up))
        elif force and (others / MARK).is_file():
            shutil.rmtree(others)  # what an earlier export of the same name left
        write(goal, _page(material, spool, names, 1, home=home), force=force)
        return spool.count


def _page(
    material: Material, spool: Spool, names: Names, number: int, *, home: str | None = None, scripted: bool = True
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
    yield rendered(
        "top.html",
        **links,
        pager_name="Pages",
        home=home,
        title=material.title,
        facts=facts(material) if is_first else [],
        searchable=scripted,
        contents=list(_contents(material, spool, names)) if is_first else [],
    ).encode("utf-8", "replace")
    yield from spool.page(number)
    remark = "; secrets were replaced by marks" if material.choice.is_redacted else ""
    yield rendered("bottom.html", **links, pager_name="Pages, again", remark=remark).encode()


def _contents(material: Material, spool: Spool, names: Names) -> Iterator[dict[str, object]]:
    for chapter in material.chapters:
        if (page := spool.turns.get(chapter.turn)) is not None:
            yield {
                "href": f"{names.href(1, page)}#t-{chapter.turn}",
                "number": chapter.turn,
                "title": "" if chapter.kind == "notification" else chapter.title,
                "kind": chapter.kind,
                "note": when(chapter.started),
                "errors": chapter.errors,
            }


class _Body:
    """Writes the content of all pages."""

    def __init__(self, material: Material, spool: Spool, *, unfolded: bool = False) -> None:
        self._material = material
        self._spool = spool
        self._unfolded = unfolded
        self._asked: list[str] = []
        self._html = Html(address, highlight=True, transcript=self._placed)
        self._plain = Html(address, highlight=False, transcript=self._placed)
        self._written = 0

    def write(self) -> None:
        """Write all of it."""
        last: Chapter | None = None
        for stretch in self._material.stretches():
            if not stretch.views:
                continue
            is_full = self._spool.is_full
            if last is not None and (is_full or stretch.chapter is not last):
                self._add("</section>\n")
            if is_full:
                self._spool.end_page()
            if is_full or stretch.chapter is not last:
                self._add(self._opening(stretch.chapter, goes_on=stretch.chapter is last))
            last = stretch.chapter
            self._stretch(stretch)
        if last is not None:
            self._add("</section>\n")
        self._left()

    def _stretch(self, stretch: Stretch) -> None:
        self._spool.add("", len(stretch.views))
        for piece in self._expanded(self._views(stretch.views)):
            self._add(piece)

    def _opening(self, chapter: Chapter, *, goes_on: bool) -> str:
        number = chapter.turn
        if not number:
            return '<section class="chapter">\n'
        name = f"t-{number}"
        if goes_on or number in self._spool.turns:
            name = f"t-{number}-{self._spool.count}"
        self._spool.turns.setdefault(number, self._spool.count)
        calls = count(chapter.calls, "call") if chapter.calls else ""
        words = [when(chapter.started), duration(chapter.duration_ms), calls, dollars(chapter.cost_usd or None)]
        more = "".join(f" · {word}" for word in words if word)
        title = f"Turn {number}" + (", continued" if goes_on else "")
        return (
            f'<section class="chapter" id="{name}" aria-labelledby="h-{name}">\n'
            f'<h2 id="h-{name}"><a href="#{name}">{title}</a>{more}</h2>\n'
        )

    def _add(self, text: str) -> None:
        self._spool.add(text.replace("<details ", "<details open ") if self._unfolded else text)
        self._written += len(text)

    def _views(self, views: list[AnyView]) -> str:
        writer = self._html if self._written < _COLOURED else self._plain
        return str(writer.views(views)) + "\n"

    # -- sub-agents

    def _placed(self, agent_id: str) -> Markup:
        """Where a sub-agent is to stand; it is written there window by window."""
        self._asked.append(agent_id)
        return Markup(f"<!--agent {len(self._asked) - 1}-->")

    def _expanded(self, text: str) -> Iterator[str]:
        """A text with the sub-agents in their places. Nothing of a transcript gets into HTML as a comment."""
        done = 0
        for found in _AGENT.finditer(text):
            yield text[done : found.start()]
            done = found.end()
            yield from self._agent(self._asked[int(found[1])])
        yield text[done:]

    def _agent(self, agent_id: str) -> Iterator[str]:
        windows = self._material.agent(agent_id)
        if windows is None:
            yield '<p class="note">Its transcript is not in this export, or is shown above.</p>'
            return
        for window in windows:
            yield from self._expanded(self._views([replace(view, key=f"{agent_id}:{view.key}") for view in window]))

    def _left(self) -> None:
        left = list(self._material.left_agents())
        if not left:
            return
        self._add('<section class="chapter" id="others">\n<h2>Sub-agents that no call has started</h2>\n')
        for agent_id in left:
            helper = self._material.helpers.get(agent_id)
            card = Agent(agent_id, helper.type or "", helper.description or agent_id) if helper else Agent(agent_id)
            for piece in self._expanded(str(self._html.section(card))):
                self._add(piece)
        self._add("</section>\n")


def address(picture: Picture) -> str | None:
    """A picture or a small document as an address that holds it; None for what is only named."""
    data = "".join(picture.data.split())
    kind = picture.media_type.lower()
    fits = kind in _SHOWN if picture.kind == "image" else kind in _KEPT and len(data) <= _LARGEST
    return f"data:{kind};base64,{data}" if fits and _BASE64.fullmatch(data) else None
