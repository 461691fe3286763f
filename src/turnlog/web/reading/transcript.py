"""What an address of the reading pages means: a session or one of its sub-agents, on one of its branches."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from starlette.requests import Request

from turnlog.errors import NotFound
from turnlog.session.timeline.timeline import Chapter, Head, Helper, Item, Place
from turnlog.store.timelines.kept import Kept
from turnlog.web.answers import place_of
from turnlog.web.place import Known
from turnlog.web.reading.unarchived import laid_out

_LONGEST = 300
_AT_ONCE = 1_280
_COMPACTIONS: WeakKeyDictionary[Kept, dict[str | None, dict[str, int]]] = WeakKeyDictionary()
"""Where compactions are: found by going through all items, so remembered as long as the timeline is."""


class Whereabouts(NamedTuple):
    """Where something is shown."""

    item: Item
    position: int
    leaf: str | None
    """The branch; None: the current one."""


class Transcript:
    """One line of items: a branch of a session, or of a sub-agent."""

    def __init__(self, known: Known, kept: Kept, leaf: str | None, agent: str | None, main: Head) -> None:
        self.known = known
        self.kept = kept
        self.leaf = leaf
        """The branch that was asked for; None: the current one."""
        self.agent = agent
        self.main = main
        """Of the session; the same as `head` unless this is a sub-agent."""

    @property
    def head(self) -> Head:
        """Everything but the items."""
        return self.kept.head

    @cached_property
    def count(self) -> int:
        """How many items there are."""
        return self.kept.count(self.leaf)

    def items(self, first: int, count: int) -> list[Item]:
        """Some of the items."""
        return self.kept.items(self.leaf, first, count) if count > 0 else []

    @cached_property
    def chapters(self) -> list[tuple[int, Chapter]]:
        """The chapters of the branch, each with the position of its first item."""
        own = [self.head.chapters[place] for place in self.kept.branch(self.leaf).chapters]
        return list(zip(accumulate((chapter.count for chapter in own), initial=0), own, strict=False))

    @cached_property
    def turns(self) -> list[tuple[int, Chapter]]:
        """Those of the chapters that are turns."""
        return [pair for pair in self.chapters if pair[1].turn]

    @property
    def compactions(self) -> dict[str, int]:
        """The positions of the compactions by their keys."""
        known = _COMPACTIONS.setdefault(self.kept, {})
        if self.leaf not in known:
            wanted = range(0, self.count, _AT_ONCE) if self.head.compactions else range(0)
            found = ((first + at, item) for first in wanted for at, item in enumerate(self.items(first, _AT_ONCE)))
            known[self.leaf] = {item.key: position for position, item in found if item.kind == "compaction"}
        return known[self.leaf]

    @property
    def helper(self) -> Helper | None:
        """The sub-agent that this is the transcript of."""
        return next((found for found in self.main.agents if found.agent_id == self.agent), None)

    # -- addresses

    @property
    def address(self) -> str:
        """Of its page."""
        return agent_address(self.known.ref, self.agent) if self.agent else f"/s/{self.known.ref}"

    @property
    def api(self) -> str:
        """Of what scripts ask for."""
        return f"/api/s/{self.known.ref}"

    def asking(self, **values: object) -> str:
        """The part of an address behind the question mark, with the branch."""
        told = {name: value for name, value in {**values, "branch": self.leaf}.items() if value is not None}
        return f"?{urlencode(told)}" if told else ""

    def inside(self, **values: object) -> str:
        """Likewise for addresses that name the sub-agent as a value."""
        told = {name: value for name, value in {**values, "agent": self.agent}.items() if value is not None}
        return f"?{urlencode(told)}" if told else ""

    def permalink(self, key: str, leaf: str | None = None) -> str:
        """Of an item; works without scripts, too."""
        return item_address(self.address, key, leaf or self.leaf)

    def turn_link(self, number: int) -> str:
        """Of a turn."""
        return f"{self.address}{self.asking(turn=number)}#t-{number}"

    def whereabouts(self, offset: int) -> Whereabouts | None:
        """Where the line is shown that begins at an offset of the file: on this branch, else on another one."""
        for leaf in (self.leaf, *(line.leaf for line in self.head.branches)):
            position = self.kept.position_at(leaf, offset)
            if position is not None:
                item = self.kept.items(leaf, position, 1)[0]
                is_there = any(place[0] == offset for place in (*item.lines, *item.results))
                return Whereabouts(item, position, leaf) if is_there else None
        return None

    def place(self, offset: int) -> Place:
        """The line of the file that begins at an offset; raises NotFound where none does."""
        where = self.whereabouts(offset)
        for place in (*where.item.lines, *where.item.results) if where else ():
            if place[0] == offset:
                return Place(*place)
        raise NotFound(f"no entry begins at {offset}")


def agent_address(ref: str, agent: str) -> str:
    """The address of the page of a sub-agent."""
    return f"/s/{ref}/agent/{quote(agent, safe='', errors='replace')}"


def item_address(page: str, key: str, leaf: str | None = None) -> str:
    """The address of an item on a page; the server shows what is around it, the script goes there."""
    told = {"branch": leaf, "at": key} if leaf else {"at": key}
    return f"{page}?{urlencode(told, errors='replace')}#i-{quote(key, safe='@', errors='replace')}"


def transcript(request: Request, *, soon: bool = False) -> Transcript:
    """What a request is about; `soon`: of a large session that was never read, its beginning. Raises NotFound."""
    place = place_of(request)
    known = place.session(request.path_params["ref"])
    agent = request.path_params.get("agent") or request.query_params.get("agent") or None
    leaf = request.query_params.get("branch") or None
    if known.is_gone:
        known = known._replace(path=laid_out(place, known))
    if agent is not None and len(agent) > _LONGEST:
        raise NotFound("there is no such sub-agent")
    is_hasty = soon and agent is None and leaf is None
    main = place.timelines.soon(known.path) if is_hasty else place.timelines.of(known.path)
    kept = place.timelines.of(known.path, agent) if agent else main
    if leaf is not None:
        kept.branch(leaf)
    return Transcript(known, kept, leaf, agent, main.head)
