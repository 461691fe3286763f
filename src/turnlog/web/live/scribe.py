"""Items of a session that is followed, as HTML: the same markup as in a window of its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from turnlog.live.crew import CrewMember
from turnlog.live.events import ItemRenderer
from turnlog.render.html import HtmlWriter
from turnlog.render.shortening import shorten_views
from turnlog.render.viewing import build_item_views
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineAgent, TimelineHead, TimelineItem
from turnlog.web.reading.links import PageLinks, key_prefix


def build_item_renderer(ref: str, members: Iterable[CrewMember]) -> ItemRenderer:
    """Writes the items of a session; `members` are its sub-agents, as known when something is written."""

    def written(excerpt: Excerpt, items: Sequence[TimelineItem], agent: str | None) -> list[str]:
        links = PageLinks(ref, agent)
        html = HtmlWriter(links.picture, links, buttons=True)
        before = key_prefix(agent)
        made = shorten_views(build_item_views(excerpt, items, _build_head(members)), items)
        return [str(html.write_view(msgspec.structs.replace(view, key=before + view.key))) for view in made]

    return written


def _build_head(members: Iterable[CrewMember]) -> TimelineHead:
    """What is known of a session beside the lines that are shown: its sub-agents, with the calls that started them."""
    helpers = [
        TimelineAgent(member.agent_id, "subagent", member.type or None, member.description or None, member.call or None,
               None, None, None, 0, 0, 0, 0, 0, 0.0)
        for member in list(members)
    ]  # fmt: skip
    return TimelineHead(None, None, 0, [], [], [], helpers, [], [], [], [], [], [], None, None, 0.0, 0, 0, 0, 0)
