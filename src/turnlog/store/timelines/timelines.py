"""Stored timelines, so that opening a session doesn't require reading all of it.

    <data folder>/timelines/<hash of the path and the agent>

One file contains one timeline: a head, the items in pieces, how full the context window was at each message, and which
item each line of the session belongs to. To show a window of a long session, turnlog reads the head, one or two pieces,
and the lines of the window. A file that is damaged, or that belongs to a different version or a different state of the
session, is rebuilt.

Large sessions are read in a child process, because this takes a second of work and ten times the memory that a page
needs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG
from tempfile import NamedTemporaryFile
from typing import Any

import msgspec

from turnlog.entries.agents import list_agent_files
from turnlog.errors import NotFound, TurnlogError, Unreadable
from turnlog.session.session import Session
from turnlog.session.timeline.timeline_builder import build_timeline
from turnlog.store.timelines.kept_timeline import (
    TIMELINE_VERSION,
    KeptTimeline,
    TimelineContent,
    TimelineFileState,
    TimelineSources,
)

LARGE_SESSION_BYTES = 16 << 20
"""A child process reads files larger than this."""
MAX_OPEN_TIMELINES = 12
"""How many timelines are kept open."""
_NOT_FOUND_STATUS = 3
"""The exit status of a child that finds no such sub-agent."""
BEGINNING_BYTES = 2 << 20
"""How much of a large session is shown while the rest is being read."""
_READ_DELAY_SECONDS = 0.2
"""How long to wait before reading the rest, so that the page with the start is served first."""
_ITEMS_PER_PIECE = 128
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Timelines:
    """The timelines stored in a folder; safe to use from several threads."""

    def __init__(self, folder: Path, large: int = LARGE_SESSION_BYTES) -> None:
        self.folder = folder
        self._large = large
        self._open: OrderedDict[tuple[str, str | None], KeptTimeline] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[tuple[str, str | None], threading.Lock] = {}
        self._reading: set[tuple[str, str | None]] = set()

    def get_timeline(self, path: Path, agent_id: str | None = None) -> KeptTimeline:
        """Return the timeline of a session or a sub-agent; build it if none matches the current state of the file."""
        key = (str(path), agent_id)
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            timeline = self._get_open(key) or self._load_current(path, agent_id) or self._make_timeline(path, agent_id)
        with self._lock:
            self._open[key] = timeline
            self._open.move_to_end(key)
            while len(self._open) > MAX_OPEN_TIMELINES:
                old, _ = self._open.popitem(last=False)
                self._making.pop(old, None)
        return timeline

    def get_timeline_soon(self, path: Path) -> KeptTimeline:
        """Return the timeline of a session or, while a large session is being read for the first time, of its start."""
        key = (str(path), None)
        timeline = self._get_open(key) or self._load_current(path, None)
        if timeline is not None or _read_size(path) <= self._large:
            return self.get_timeline(path)
        beginning = self._get_beginning(path)
        with self._lock:
            is_new = key not in self._reading
            self._reading.add(key)
        if is_new:
            later = threading.Timer(_READ_DELAY_SECONDS, self._read_whole, key)
            later.daemon = True
            later.start()
        return beginning

    def _read_whole(self, path: str, agent_id: str | None) -> None:
        try:
            self.get_timeline(Path(path), agent_id)
        except TurnlogError:
            pass  # the next request for the whole timeline reports it
        finally:
            with self._lock:
                self._reading.discard((path, agent_id))

    def _get_beginning(self, path: Path) -> KeptTimeline:
        place = self._get_place(path, None).with_suffix(".begin")
        timeline = KeptTimeline.load(place)
        if timeline is None or not timeline.is_current():
            stored = TimelineSources(TIMELINE_VERSION, str(path), [TimelineFileState.from_path(path)], is_whole=False)
            _write_timeline(place, Session.from_bytes(_read_beginning(path)), stored)
            timeline = KeptTimeline.load(place)
        if timeline is None:
            raise Unreadable(f"{path}: can't build the timeline of this session")
        return timeline

    def has(self, path: Path) -> bool:
        """Return whether a timeline for the session's current state is stored."""
        return self._get_open((str(path), None)) is not None or self._load_current(path, None) is not None

    def close(self) -> None:
        """Drop the open timelines; each closes its file when it is no longer used."""
        with self._lock:
            self._open.clear()

    def _get_open(self, key: tuple[str, str | None]) -> KeptTimeline | None:
        with self._lock:
            timeline = self._open.get(key)
        return timeline if timeline is not None and timeline.is_current() else None

    def _load_current(self, path: Path, agent_id: str | None) -> KeptTimeline | None:
        timeline = KeptTimeline.load(self._get_place(path, agent_id))
        return timeline if timeline is not None and timeline.is_current() else None

    def _make_timeline(self, path: Path, agent_id: str | None) -> KeptTimeline:
        place = self._get_place(path, agent_id)
        try:
            status = path.stat()
            if not S_ISREG(status.st_mode):  # reading a pipe would never end
                raise Unreadable(f"{path}: not a regular file")
            if status.st_size > self._large:
                _make_in_child(self.folder, path, agent_id)
            else:
                make_kept_timeline(self.folder, path, agent_id)
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror or error}") from None
        timeline = KeptTimeline.load(place)
        if timeline is None:
            raise Unreadable(f"{path}: can't build the timeline of this session")
        return timeline

    def _get_place(self, path: Path, agent_id: str | None) -> Path:
        return _build_place_path(self.folder, path, agent_id)


def _build_place_path(folder: Path, path: Path, agent_id: str | None) -> Path:
    name = f"{path.absolute()}\0{agent_id or ''}".encode("utf-8", "surrogateescape")
    return folder / blake2b(name, digest_size=16).hexdigest()


def _read_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


def _read_beginning(path: Path) -> bytes:
    """Read the first lines of a file, at least one."""
    with path.open("rb") as file:
        data = file.read(BEGINNING_BYTES)
        return data if data.endswith(b"\n") else data + file.readline(8 * BEGINNING_BYTES)


def _make_in_child(folder: Path, path: Path, agent_id: str | None) -> None:
    code = (
        "import sys; from turnlog.store.timelines.timelines import run_timeline_child; run_timeline_child(sys.argv[1:])"
    )
    arguments = [str(folder), str(path), *([agent_id] if agent_id else [])]
    child = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments], stdin=subprocess.DEVNULL, capture_output=True
    )
    if child.returncode:
        reason = child.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        if child.returncode == _NOT_FOUND_STATUS:
            raise NotFound(reason)
        raise Unreadable(f"{path}: not readable: {reason}")


def run_timeline_child(arguments: list[str]) -> None:
    """Build one timeline; the entry point of the child process."""
    from turnlog.entries.reader import pause_garbage_collector

    with pause_garbage_collector():
        try:
            make_kept_timeline(Path(arguments[0]), Path(arguments[1]), arguments[2] if len(arguments) > 2 else None)
        except NotFound as error:
            sys.stderr.write(str(error))
            sys.stderr.flush()
            os._exit(_NOT_FOUND_STATUS)
    sys.stdout.flush()
    os._exit(0)  # freeing the memory would take as long as serving a page


def make_kept_timeline(folder: Path, path: Path, agent_id: str | None = None) -> None:
    """Read a session and store its timeline."""
    states = [
        TimelineFileState.from_path(path),
        *(TimelineFileState.from_path(agent.path) for agent in list_agent_files(path)),
    ]
    with Session.open(path) as session:
        source = session
        if agent_id is not None:
            agent = next((agent for agent in session.agents if agent.agent_id == agent_id), None)
            if agent is None:
                raise NotFound(f"{path}: no sub-agent {agent_id}")
            source = session.open_agent_session(agent)
        _write_timeline(
            _build_place_path(folder, path, agent_id),
            source,
            TimelineSources(TIMELINE_VERSION, str(source.path or path), states),
        )


def _write_timeline(place: Path, session: Session, stored: TimelineSources) -> None:
    timeline = build_timeline(session)
    pieces = [
        _encode_value(timeline.items[at : at + _ITEMS_PER_PIECE])
        for at in range(0, len(timeline.items), _ITEMS_PER_PIECE)
    ]
    lines = sorted(
        (line[0], number) for number, item in enumerate(timeline.items) for line in (*item.lines, *item.results)
    )
    places = array("Q", (offset for offset, _ in lines)).tobytes()
    owners = array("I", (number for _, number in lines)).tobytes()
    sections = [*pieces, _encode_value(timeline.steps), places, owners]
    head = _encode_value(
        TimelineContent(stored, timeline.head, [len(section) for section in sections], _ITEMS_PER_PIECE)
    )
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=place.parent, prefix=".new-", delete=False) as file:
        try:
            file.writelines([len(head).to_bytes(8, "little"), head, *sections])
            file.close()
            os.replace(file.name, place)  # noqa: PTH105 - a name, not a Path
        except BaseException:
            os.unlink(file.name)  # noqa: PTH108
            raise


def _encode_value(value: object) -> bytes:
    """Encode a value; replace lone surrogates, which UTF-8 can't encode, with the replacement character."""
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_replace_surrogates(msgspec.to_builtins(value)))


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_replace_surrogates(inner) for inner in value]
    return _LONE_SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value


def prune_timelines(folder: Path) -> Iterator[Path]:
    """Delete the timelines of deleted sessions and of other versions; yield each deleted path."""
    for place in sorted(folder.glob("[0-9a-f]*")):
        timeline = KeptTimeline.load(place)
        if timeline is None or not timeline.states or not Path(timeline.states[0].path).exists():
            place.unlink(missing_ok=True)
            yield place
