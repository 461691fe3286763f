"""Items of a session that is followed, as HTML: the same markup as in a window of its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from turnlog.live.crew import Member
from turnlog.live.events import Scribe
from turnlog.render.html import Html
from turnlog.render.shortening import shortened
from turnlog.render.viewing import views
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Head, Helper, Item
from turnlog.web.reading.links import Links, key_prefix


def scribe(ref: str, members: Iterable[Member]) -> Scribe:
    """Writes the items of a session; `members` are its sub-agents, as known when something is written."""

    def written(excerpt: Excerpt, items: Sequence[Item], agent: str | None) -> list[str]:
        links = Links(ref, agent)
        html = Html(links.picture, links, buttons=True)
        before = key_prefix(agent)
        made = shortened(views(excerpt, items, _head(members)), items)
        return [str(html.view(msgspec.structs.replace(view, key=before + view.key))) for view in made]

    return written


def _head(members: Iterable[Member]) -> Head:
    """What is known of a session beside the lines that are shown: its sub-agents, with the calls that started them."""
    helpers = [
        Helper(member.agent_id, "subagent", member.type or None, member.description or None, member.call or None,
               None, None, None, 0, 0, 0, 0, 0, 0.0)
        for member in list(members)
    ]  # fmt: skip
    return Head(None, None, 0, [], [], [], helpers, [], [], [], [], [], [], None, None, 0.0, 0, 0, 0, 0)
