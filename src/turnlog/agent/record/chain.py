"""The chain of a running session: the parent of each entry is the previous entry, in the form that all clients read.

Clients of version 2.1 walk up the chain from the entry with the newest time; the newest client starts at the
`last-prompt` line. Therefore, times only increase, and that line is written before the first entry of a branch and
after every turn. If the process is killed, the session can be resumed with everything written so far.
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
"""Identifies the writer of a line; all clients list and resume sessions that contain this instead of a version."""
CLIENT_VERSION = f"2.1.328 ({RECORD_VERSION})"
"""Identifies turnlog to programs: they need the version of Claude Code whose lines and requests turnlog understands."""
CLOCK_TICK = timedelta(milliseconds=1)


class EntryChain:
    """The chain of one file, and the fields that all its entries share."""

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
        """The current folder; the loop changes it when a shell changes folders."""
        self.mode = "default"
        """The permission mode that prompts record."""
        self.slug: str | None = None
        """The name of the session's plan, if it has one."""
        self.last = last
        """The uuid of the last entry in the chain."""
        self.watch: Callable[[Object], None] = lambda _: None
        """Receives every entry in the chain after it has been written."""
        self.titles: list[LineBody] = []
        """The lines that name the session, repeated after every turn, where lists of sessions look for them."""
        self.before: Callable[[], object] | None = None
        """Runs before the first write, so that a session that is only viewed is not changed."""
        self._ledger = ledger
        self._agent_id = agent_id
        self._lock = threading.RLock()
        self._time = since or datetime.fromtimestamp(0, UTC)
        self._branch = read_git_branch(cwd)
        self._branches_off = is_branch
        self._prompt_id: str | None = None
        self._last_prompt = ""
        self._entry_count = 0

    @property
    def path(self) -> Path:
        return self._ledger.path

    def mirror_lines(self, mirror: Callable[[Path, bytes], object]) -> None:
        """Pass on all lines of this file, and of sub-agents that start later, after they have been written."""
        self._ledger.mirror = mirror

    @property
    def folder(self) -> Path:
        """The folder for files that belong to the session, whether or not it exists."""
        return self.path.parents[1] if self._agent_id else self.path.with_suffix("")

    def _write_entry(
        self,
        body: LineBody,
        *,
        flush: bool = False,
        uuid: str | None = None,
        build_following: Callable[[], list[LineBody]] = list,
    ) -> str:
        with self._lock:
            self._run_before_first_write()
            with self._restore_on_failure():
                whole = self._place_line(body, uuid=uuid)
                self._write_lines([whole, *build_following()], flush=flush)
            self._notify_watcher(whole)
            return str(whole["uuid"])

    @contextmanager
    def _restore_on_failure(self) -> Iterator[None]:
        """Restore the end of the chain if the entries could not be written."""
        before = self.last, self._time, self._entry_count
        try:
            yield
        except BaseException:
            self.last, self._time, self._entry_count = before
            raise

    def _run_before_first_write(self) -> None:
        begin, self.before = self.before, None
        if begin is not None:
            begin()

    def _place_line(
        self, body: Mapping[str, Any], above: Mapping[str, Any] | None = None, uuid: str | None = None
    ) -> LineBody:
        """Add the chain fields and the shared fields to a line, and make the line the end of the chain."""
        uuid = uuid or create_record_id()
        place = {"parentUuid": self.last, **(above or {}), "isSidechain": self._agent_id is not None}
        owner = {"agentId": self._agent_id} if self._agent_id else {}
        self.last, self._entry_count = uuid, self._entry_count + 1
        fields = {key: value for key, value in body.items() if value is not None}
        return {**place, **owner, **fields, "uuid": uuid, "timestamp": self._next_timestamp(), **self._build_envelope()}

    def _build_envelope(self) -> LineBody:
        slug = {"slug": self.slug} if self.slug else {}
        return {
            "userType": "external",
            "entrypoint": ENTRYPOINT,
            "cwd": str(self.cwd),
            "sessionId": self.session_id,
            "version": RECORD_VERSION,
            "gitBranch": self._branch,
            **slug,
        }

    def _next_timestamp(self) -> str:
        """Return a time later than all earlier ones: old clients resume from the first line with the newest time."""
        self._time = max(datetime.now(UTC), self._time + CLOCK_TICK)
        return self._time.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _build_description_lines(self) -> list[LineBody]:
        if self._agent_id or self.last is None:
            return []
        return [line_bodies.build_last_prompt_line(self._last_prompt, self.last, self.session_id), *self.titles]

    def _write_lines(self, bodies: Sequence[LineBody], *, flush: bool = False) -> None:
        first = next((body for body in bodies if "uuid" in body), None)
        if self._branches_off and first is not None:
            # First, so that the newest client finds the new branch even if this process is killed right after.
            above = first.get("parentUuid") or first.get("logicalParentUuid") or line_bodies.START_OF_SESSION
            bodies = [line_bodies.build_last_prompt_line(self._last_prompt, str(above), self.session_id), *bodies]
        self._ledger.append_bodies(bodies, flush=flush)
        self._branches_off = self._branches_off and first is None

    def _notify_watcher(self, *bodies: LineBody) -> None:
        for body in bodies:
            self.watch(body)


def create_record_id() -> str:
    """Create an id for a session, a line or an answer."""
    return str(uuid4())
