"""Where the items of a session lead, on its own page and on the one that follows it."""

from __future__ import annotations

from collections.abc import Container
from urllib.parse import quote, urlencode

from turnlog.render.card import Picture
from turnlog.web.reading.pictures import looks_like_image
from turnlog.web.reading.transcript_view import agent_address, item_address


class PageLinks:
    """The links of one transcript, which is a session's own or that of a sub-agent."""

    def __init__(
        self, ref: str, agent: str | None = None, leaf: str | None = None, agents: Container[str] | None = None
    ) -> None:
        self._ref = ref
        self._base = f"/s/{ref}"
        self._page = agent_address(ref, agent) if agent else self._base
        self._leaf = leaf
        self._agents = agents
        """The sub-agents whose transcripts are there; None: take it that all are."""
        self._inside = f"?{urlencode({'agent': agent}, errors='replace')}" if agent else ""
        self._prefix = key_prefix(agent)

    def raw(self, offset: int) -> str | None:
        """The raw entry at a place of the file."""
        return f"{self._base}/raw/{offset}{self._inside}"

    def agent(self, agent_id: str) -> str | None:
        """The first window of a sub-agent; None where its transcript is not there."""
        if self._agents is not None and agent_id not in self._agents:
            return None
        return f"{agent_address(self._ref, agent_id)}/window/0"

    def permalink(self, key: str) -> str | None:
        """An item on its own page."""
        return item_address(self._page, key.removeprefix(self._prefix), self._leaf)

    def picture(self, picture: Picture) -> str | None:
        """An image that can be shown, or a document."""
        if not picture.data or (picture.kind == "image" and not looks_like_image(picture)):
            return None
        return f"{self._base}/picture/{picture.offset}/{picture.place}{self._inside}"


def key_prefix(agent: str | None) -> str:
    """Before the keys of a sub-agent's items: `@0` is a place in every file, and a page may show several."""
    return f"{quote(agent, safe='', errors='replace')}:" if agent else ""


def text_address(ref: str, offset: int | None, agent: str | None) -> str:
    """The address of a text by the place of its entry in the file; of the session where that is not known."""
    said = {"at": f"@{offset}" if offset is not None else "", "agent": agent or ""}
    query = urlencode({name: value for name, value in said.items() if value}, safe="@")
    place = f"#i-@{offset}" if offset is not None else ""
    return f"/s/{ref}?{query}{place}" if query else f"/s/{ref}"
