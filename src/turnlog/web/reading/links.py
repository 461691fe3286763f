"""The addresses that a session's items link to, on its own page and on its live page."""

from __future__ import annotations

from collections.abc import Container
from urllib.parse import quote, urlencode

from turnlog.render.card import Picture
from turnlog.web.reading.pictures import looks_like_image
from turnlog.web.reading.transcript_view import agent_address, item_address


class PageLinks:
    """The links of one transcript: a session's own or a sub-agent's."""

    def __init__(
        self, ref: str, agent: str | None = None, leaf: str | None = None, agents: Container[str] | None = None
    ) -> None:
        self._ref = ref
        self._base = f"/s/{ref}"
        self._page = agent_address(ref, agent) if agent else self._base
        self._leaf = leaf
        self._agents = agents
        """The sub-agents that have a transcript; None if all are assumed to have one."""
        self._inside = f"?{urlencode({'agent': agent}, errors='replace')}" if agent else ""
        self._prefix = key_prefix(agent)

    def raw(self, offset: int) -> str | None:
        """Return the address of the raw entry at an offset."""
        return f"{self._base}/raw/{offset}{self._inside}"

    def agent(self, agent_id: str) -> str | None:
        """Return the address of a sub-agent's first window; None if it has no transcript."""
        if self._agents is not None and agent_id not in self._agents:
            return None
        return f"{agent_address(self._ref, agent_id)}/window/0"

    def permalink(self, key: str) -> str | None:
        """Return the address of an item on its own page."""
        return item_address(self._page, key.removeprefix(self._prefix), self._leaf)

    def picture(self, picture: Picture) -> str | None:
        """Return the address of a document, or of an image that can be shown."""
        if not picture.data or (picture.kind == "image" and not looks_like_image(picture)):
            return None
        return f"{self._base}/picture/{picture.offset}/{picture.place}{self._inside}"


def key_prefix(agent: str | None) -> str:
    """Return the prefix for a sub-agent's item keys: `@0` occurs in every file, and a page may show several files."""
    return f"{quote(agent, safe='', errors='replace')}:" if agent else ""


def text_address(ref: str, offset: int | None, agent: str | None) -> str:
    """Return the address of the text whose entry is at an offset, or of the session if the offset is unknown."""
    values = {"at": f"@{offset}" if offset is not None else "", "agent": agent or ""}
    query = urlencode({name: value for name, value in values.items() if value}, safe="@")
    fragment = f"#i-@{offset}" if offset is not None else ""
    return f"/s/{ref}?{query}{fragment}" if query else f"/s/{ref}"
