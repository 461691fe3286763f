"""Items of a session that is followed, as HTML: the same markup as in a window of its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote, urlencode

import msgspec

from ..live.crew import Member
from ..live.events import Scribe
from ..render.card import Picture
from ..render.html import Html
from ..render.shortening import shortened
from ..render.viewing import views
from ..session.excerpt import Excerpt
from ..session.timeline import Head, Helper, Item
from .pictures import looks_like_image
from .transcript import agent_address


class _Addresses:
    """The addresses that items of a session, or of one of its sub-agents, link to."""

    def __init__(self, ref: str, agent: str | None) -> None:
        self._base = f"/s/{ref}"
        self._ref = ref
        self._agent = agent
        self._inside = f"?{urlencode({'agent': agent})}" if agent else ""

    def raw(self, offset: int) -> str | None:
        """Of the raw entry at a place of the file."""
        return f"{self._base}/raw/{offset}{self._inside}"

    def agent(self, agent_id: str) -> str | None:
        """Of the first window of a sub-agent."""
        return f"{agent_address(self._ref, agent_id)}/window/0"

    def permalink(self, key: str) -> str | None:
        """Of an item on the session's own page."""
        own = key.removeprefix(prefix(self._agent))
        page = agent_address(self._ref, self._agent) if self._agent else self._base
        return f"{page}?{urlencode({'at': own})}#i-{quote(own, safe='@')}"

    def picture(self, picture: Picture) -> str | None:
        """Of an image that can be shown, or of a document."""
        if not picture.data or (picture.kind == "image" and not looks_like_image(picture)):
            return None
        return f"{self._base}/picture/{picture.offset}/{picture.place}{self._inside}"


def prefix(agent: str | None) -> str:
    """Before the keys of a sub-agent's items: `@0` is a place in every file, and a page shows several."""
    return f"{quote(agent, safe='')}:" if agent else ""


def scribe(ref: str, members: Iterable[Member]) -> Scribe:
    """Writes the items of a session; `members` are its sub-agents, as known when something is written."""

    def written(excerpt: Excerpt, items: Sequence[Item], agent: str | None) -> list[str]:
        addresses = _Addresses(ref, agent)
        html = Html(addresses.picture, addresses, buttons=True)
        before = prefix(agent)
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
    return Head(None, None, 0, [], [], [], helpers, [], [], [], [], [], [], None, None, 0.0, 0, 0, 0)
