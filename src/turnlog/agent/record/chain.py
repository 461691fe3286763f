"""The chain of a session that is being written: each link below the one before it, in the form that both clients read.

Clients of 2.1 walk up from the newest time, the newest one from the `last-prompt` line: so times only grow, and that
line is written before the first link of a branch and behind every turn. A process that is killed at any moment leaves
what was written until then, and that can be resumed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from turnlog._version import __version__
from turnlog.agent.record import line_bodies
from turnlog.agent.record.appender import SessionAppender
from turnlog.agent.record.git_branch import read_git_branch
from turnlog.agent.record.line_bodies import LineBody, Object

ENTRYPOINT = "turnlog"
RECORD_VERSION = f"{ENTRYPOINT}/{__version__}"
"""Who wrote a line. Both clients resume and list sessions in which this stands in the place of their own version."""
CLOCK_TICK = timedelta(milliseconds=1)


class EntryChain:
    """The links of one file, and what all of them say."""

    def __init__(
        self,
        ledger: SessionAppender,
        session_id: str,
        cwd: Path,
        *,
        last: str | None = None,
        since: datetime | None = None,
        is_branch: bool = False,
        agent_id: str | None = None,
    ) -> None:
        self.session_id = session_id
        self.cwd = cwd
        """Where the work is done now; the loop changes it when a shell moves."""
        self.mode = "default"
        """The permission mode, as prompts say it."""
        self.slug: str | None = None
        """The name of the session's plan, where it has one."""
        self.last = last
        """The uuid of the last link of the chain."""
        self.watch: Callable[[Object], None] = lambda _: None
        """Is told every link of the chain, after it was written."""
        self.titles: list[LineBody] = []
        """The lines that name the session; they are said again behind every turn, where lists of sessions look."""
        self.before: Callable[[], object] | None = None
        """What is to be done before the first link is written: a session that is only looked at stays as it is."""
        self._ledger = ledger
        self._agent_id = agent_id
        self._lock = threading.RLock()
        self._time = since or datetime.fromtimestamp(0, UTC)
        self._branch = read_git_branch(cwd)
        self._branches_off = is_branch
        self._prompt_id: str | None = None
        self._said = ""
        self._links = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self._ledger.path

    @property
    def folder(self) -> Path:
        """The folder of what belongs to the session, whether it exists or not."""
        return self.path.parents[1] if self._agent_id else self.path.with_suffix("")

    def _write_link(self, body: LineBody, *, flush: bool = False, behind: Callable[[], list[LineBody]] = list) -> str:
        """Write a link behind the last one."""
        with self._lock:
            self._run_before_first_write()
            with self._restore_on_failure():
                whole = self._place_line(body)
                self._write_lines([whole, *behind()], flush=flush)
            self._notify_watcher(whole)
            return str(whole["uuid"])

    @contextmanager
    def _restore_on_failure(self) -> Iterator[None]:
        """Go on from what is placed meanwhile; where it could not be written, from what was there before."""
        before = self.last, self._time, self._links
        try:
            yield
        except BaseException:
            self.last, self._time, self._links = before
            raise

    def _run_before_first_write(self) -> None:
        begin, self.before = self.before, None
        if begin is not None:
            begin()

    def _place_line(self, body: Mapping[str, Any], above: Mapping[str, Any] | None = None) -> LineBody:
        """A line with its place in the chain and with what all lines say; the chain goes on from it."""
        uuid = create_record_id()
        place = {"parentUuid": self.last, **(above or {}), "isSidechain": self._agent_id is not None}
        owner = {"agentId": self._agent_id} if self._agent_id else {}
        self.last, self._links = uuid, self._links + 1
        said = {key: value for key, value in body.items() if value is not None}
        return {**place, **owner, **said, "uuid": uuid, "timestamp": self._next_timestamp(), **self._build_envelope()}

    def _build_envelope(self) -> LineBody:
        named = {"slug": self.slug} if self.slug else {}
        return {
            "userType": "external",
            "entrypoint": ENTRYPOINT,
            "cwd": str(self.cwd),
            "sessionId": self.session_id,
            "version": RECORD_VERSION,
            "gitBranch": self._branch,
            **named,
        }

    def _next_timestamp(self) -> str:
        """The time, later than any before: old clients go on from the newest line, and of equal ones from the first."""
        self._time = max(datetime.now(UTC), self._time + CLOCK_TICK)
        return self._time.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _build_description_lines(self) -> list[LineBody]:
        if self._agent_id or self.last is None:
            return []
        return [line_bodies.build_last_prompt_line(self._said, self.last, self.session_id), *self.titles]

    def _write_lines(self, bodies: Sequence[LineBody], *, flush: bool = False) -> None:
        first = next((body for body in bodies if "uuid" in body), None)
        if self._branches_off and first is not None:
            # Written first, so that the newest client finds the new branch even if this process ends right here.
            above = first.get("parentUuid") or first.get("logicalParentUuid")
            bodies = [line_bodies.build_last_prompt_line(self._said, str(above), self.session_id), *bodies]
        self._ledger.append_bodies(bodies, flush=flush)
        self._branches_off = self._branches_off and first is None

    def _notify_watcher(self, *bodies: LineBody) -> None:
        for body in bodies:
            self.watch(body)


def create_record_id() -> str:
    """An id for a session, a line or an answer."""
    return str(uuid4())
