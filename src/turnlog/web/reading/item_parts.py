"""An item on a page: its first blocks and the start of a long text, and where to load the rest.

One message may contain thousands of calls, and one text a megabyte. A browser that lays out all of it stops responding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup
from msgspec.structs import replace

from turnlog.render.figures import format_count
from turnlog.render.html import HtmlWriter
from turnlog.render.text_folds import shorten_views
from turnlog.render.view import AnswerView, AnyView, to_agent_view
from turnlog.render.view_builder import build_item_views
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineItem
from turnlog.web.answers import load_templates
from turnlog.web.reading.links import PageLinks, key_prefix
from turnlog.web.reading.transcript_view import TranscriptView

MAX_PART_BLOCKS = 100
MAX_PAGE_TEXT_CHARS = 250_000
MAX_WHOLE_TEXT_CHARS = 4_000_000
"""The maximum number of characters of one text that "show all" loads; the raw entry has the rest."""


class ItemRest(NamedTuple):
    """What a page doesn't show of an item, and the address that sends it."""

    kind: str
    """blocks: further blocks, to append; item: the whole item, to replace the cut one."""
    address: str
    label: str


class ItemPart(NamedTuple):
    """The part of an item that is sent at once."""

    view: AnyView
    rests: Sequence[ItemRest]


def build_page_writer(transcript: TranscriptView) -> HtmlWriter:
    """Build the writer for a transcript's page."""
    agents = {helper.agent_id for helper in transcript.main.agents}
    links = PageLinks(transcript.session.ref, transcript.agent, transcript.leaf, agents)
    return HtmlWriter(links.picture, links, buttons=True)


def build_page_views(transcript: TranscriptView, items: list[TimelineItem], excerpt: Excerpt) -> list[AnyView]:
    """Build the views of the given items; a sub-agent's keys get a prefix that makes them unique on the page."""
    prefix = key_prefix(transcript.agent)
    views = build_item_views(excerpt, items, transcript.main)
    return [to_agent_view(view, prefix) for view in views] if prefix else views


def cut_view(
    transcript: TranscriptView, view: AnyView, item: TimelineItem, part: int = 0, *, is_whole: bool = False
) -> ItemPart:
    """Cut a view to one part of its blocks and, unless the whole is wanted, to the start of its texts."""
    rests = []
    if isinstance(view, AnswerView) and len(view.blocks) > MAX_PART_BLOCKS:
        end = (part + 1) * MAX_PART_BLOCKS
        if left := max(len(view.blocks) - end, 0):
            label = f"Show the next {min(left, MAX_PART_BLOCKS)} of {format_count(left, 'more block')}"
            rests.append(ItemRest("blocks", _build_address(transcript, item, part=part + 1), label))
        view = replace(view, blocks=view.blocks[part * MAX_PART_BLOCKS : end])
    (short,) = shorten_views([view], [item], MAX_WHOLE_TEXT_CHARS if is_whole else MAX_PAGE_TEXT_CHARS)
    if short != view and not is_whole:
        label = "Show all of this message" if isinstance(view, AnswerView) else "Show all"
        rests.append(ItemRest("item", _build_address(transcript, item, part=part, whole=1), label))
    return ItemPart(short, rests)


def _build_address(transcript: TranscriptView, item: TimelineItem, **values: int) -> str:
    return f"{transcript.address}/item{transcript.build_query(key=item.key, format='html', **values)}"


def render_item_part(transcript: TranscriptView, item: TimelineItem, part: int, *, is_whole: bool) -> str:
    """Render an item, or further blocks of it, without the page around it."""
    (view,) = build_page_views(transcript, [item], transcript.timeline.read_excerpt([item]))
    found, writer = cut_view(transcript, view, item, part, is_whole=is_whole), build_page_writer(transcript)
    blocks: Sequence[Markup] = ()
    if part and isinstance(found.view, AnswerView):
        blocks = [writer.write_block(block) for block in found.view.blocks]
    html = "" if part else writer.write_view(found.view)
    template = load_templates().get_template("session_item.html")
    return template.render(html=html, blocks=blocks, part=part, rests=found.rests)
