"""Finds the session files below a source, which may contain the config folders of thousands of people.

    …/projects/<folder>/<session id>.jsonl                          a session
    …/projects/<folder>/<session id>/subagents/…/agent-<id>.jsonl   its sub-agents
    …/projects/<folder>/agent-<id>.jsonl                            a sub-agent of an older client

What comes before `projects` tells whose they are (`people`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.entries.layout import is_session_id
from turnlog.errors import NotFound
from turnlog.fleet.people import PersonRules, PseudonymKey
from turnlog.store.lake.lake_files import LakeFiles

_SESSION_PATH = re.compile(r"(?P<root>(?:.*/)?)projects/(?P<folder>[^/]+)/(?P<rest>[^/]+\.jsonl|[^/]+/.+\.jsonl)", re.S)
_NESTED_AGENT = re.compile(r"(?P<session>[^/]+)/subagents/(?:[^/]+/){0,3}agent-(?P<agent>[^/]+)\.jsonl", re.DOTALL)
_LOOSE_AGENT = re.compile(r"(?:subagents/)?agent-(?P<agent>[^/]+)\.jsonl", re.DOTALL)


class SourceFile(NamedTuple):
    """One version of one session file, as a worker needs it."""

    file: int
    """Identifies the file in the lake; computed from its path with the secret key."""
    path: str
    """The path below the source."""
    size: int
    version: str
    session_id: str
    """Empty for a loose sub-agent, whose entries name the session."""
    agent_id: str | None
    file_name: str
    """The path below the project's folder."""
    folder: int
    """Identifies the project's folder."""
    person: str | None
    team: str | None

    @property
    def folder_path(self) -> str:
        """The path of the project's folder below the source."""
        return self.path.removesuffix(f"/{self.file_name}")


class SourceListing:
    """The session files below a location."""

    def __init__(self, location: str, key: PseudonymKey, rules: PersonRules) -> None:
        self.files = LakeFiles(location)
        self._key, self._rules = key, rules
        place = self.files.location
        self.number = key.number("source", place)
        """Identifies the source in the catalog of the lake."""
        self._place = place
        self._prefix = "projects/" if re.search(r"[/\\]projects$", place) else ""

    def __iter__(self) -> Iterator[SourceFile]:
        seen = 0
        for item in self.files.iter_listing():
            seen += 1
            if found := self._classify(item.name, item.size, item.version):
                yield found
        if not seen:
            raise NotFound(f"{self._place}: contains no files; expected …/projects/<folder>/<session id>.jsonl")

    def _classify(self, name: str, size: int, version: str) -> SourceFile | None:
        path = self._prefix + name
        match = _SESSION_PATH.fullmatch(path)
        if match is None:
            return None
        rest = match["rest"]
        if "/" not in rest and is_session_id(rest[:-6]):
            session, agent = rest[:-6], None
        elif loose := _LOOSE_AGENT.fullmatch(rest):
            session, agent = "", loose["agent"]
        elif (nested := _NESTED_AGENT.fullmatch(rest)) and is_session_id(nested["session"]):
            session, agent = nested["session"], nested["agent"]
        else:
            return None
        owner = self._rules.find_owner(path)
        place = f"{self._place}\0{path}"
        folder = self._key.number("folder", place.removesuffix(rest))
        number = self._key.number("file", place)
        version = f"{version} {owner.person or ''} {owner.team or ''}"  # read again if the owner changes
        return SourceFile(number, name, size, version, session, agent, rest, folder, owner.person, owner.team)
