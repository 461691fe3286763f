"""Timelines that are kept, so that opening a session does not read it.

    <data folder>/timelines/<hash of the path and the agent>

One file holds one timeline: a head, the items in pieces, how full the window was at each message, and which item each
line of the session belongs to. Reading a window of a long session takes the head, one or two pieces, and the lines of
the window. Whatever is kept can be made again: a file that is damaged, of another version or of another state of the
session is made anew.

Large sessions are read by a child process: it takes a second of work and ten times the memory that a page needs, and
neither stays.
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
"""Files above this are read by a child process."""
MAX_OPEN_TIMELINES = 12
"""So many open timelines are held."""
BEGINNING_BYTES = 2 << 20
"""So much of a large session is shown while the rest is being read."""
_READ_DELAY_SECONDS = 0.2
"""Seconds before the rest is read: the page with the beginning comes first."""
_ITEMS_PER_PIECE = 128
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Timelines:
    """The timelines that are kept in a folder; for use by several threads."""

    def __init__(self, folder: Path, large: int = LARGE_SESSION_BYTES) -> None:
        self.folder = folder
        self._large = large
        self._open: OrderedDict[tuple[str, str | None], KeptTimeline] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[tuple[str, str | None], threading.Lock] = {}
        self._reading: set[tuple[str, str | None]] = set()

    def get_timeline(self, path: Path, agent_id: str | None = None) -> KeptTimeline:
        """The timeline of a session, or of one of its sub-agents; made if there is none of the file's present state."""
        key = (str(path), agent_id)
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            found = self._get_open(key) or self._load_current(path, agent_id) or self._make_timeline(path, agent_id)
        with self._lock:
            self._open[key] = found
            self._open.move_to_end(key)
            while len(self._open) > MAX_OPEN_TIMELINES:
                old, _ = self._open.popitem(last=False)
                self._making.pop(old, None)
        return found

    def get_timeline_soon(self, path: Path) -> KeptTimeline:
        """The timeline of a session; of a large one that was never read, that of its beginning, while it is read."""
        key = (str(path), None)
        found = self._get_open(key) or self._load_current(path, None)
        if found is not None or _read_size(path) <= self._large:
            return self.get_timeline(path)
        begun = self._get_beginning(path)
        with self._lock:
            is_new = key not in self._reading
            self._reading.add(key)
        if is_new:
            later = threading.Timer(_READ_DELAY_SECONDS, self._read_whole, key)
            later.daemon = True
            later.start()
        return begun

    def _read_whole(self, path: str, agent_id: str | None) -> None:
        try:
            self.get_timeline(Path(path), agent_id)
        except TurnlogError:
            pass  # whoever asks for the whole is told
        finally:
            with self._lock:
                self._reading.discard((path, agent_id))

    def _get_beginning(self, path: Path) -> KeptTimeline:
        place = self._get_place(path, None).with_suffix(".begin")
        found = KeptTimeline.load(place)
        if found is None or not found.is_current():
            stored = TimelineSources(TIMELINE_VERSION, str(path), [TimelineFileState.from_path(path)], is_whole=False)
            _write_timeline(place, Session.from_bytes(_read_beginning(path)), stored)
            found = KeptTimeline.load(place)
        if found is None:
            raise Unreadable(f"{path}: its timeline could not be made")
        return found

    def has(self, path: Path) -> bool:
        """Whether the timeline of a session is kept in its present state."""
        return self._get_open((str(path), None)) is not None or self._load_current(path, None) is not None

    def close(self) -> None:
        """Let go of the timelines that are open; each closes its file when nobody uses it any more."""
        with self._lock:
            self._open.clear()

    def _get_open(self, key: tuple[str, str | None]) -> KeptTimeline | None:
        with self._lock:
            found = self._open.get(key)
        return found if found is not None and found.is_current() else None

    def _load_current(self, path: Path, agent_id: str | None) -> KeptTimeline | None:
        found = KeptTimeline.load(self._get_place(path, agent_id))
        return found if found is not None and found.is_current() else None

    def _make_timeline(self, path: Path, agent_id: str | None) -> KeptTimeline:
        place = self._get_place(path, agent_id)
        try:
            status = path.stat()
            if not S_ISREG(status.st_mode):  # reading a pipe would never end
                raise Unreadable(f"{path}: is no file")
            if status.st_size > self._large:
                _make_in_child(self.folder, path, agent_id)
            else:
                make_kept_timeline(self.folder, path, agent_id)
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror or error}") from None
        found = KeptTimeline.load(place)
        if found is None:
            raise Unreadable(f"{path}: its timeline could not be made")
        return found

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
    """The first lines of a file; at least one."""
    with path.open("rb") as file:
        data = file.read(BEGINNING_BYTES)
        return data if data.endswith(b"\n") else data + file.readline(8 * BEGINNING_BYTES)


def _make_in_child(folder: Path, path: Path, agent_id: str | None) -> None:
    code = "import sys; from turnlog.store.timelines.timelines import make_for; make_for(sys.argv[1:])"
    words = [str(folder), str(path), *([agent_id] if agent_id else [])]
    done = subprocess.run([sys.executable, "-P", "-c", code, *words], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Unreadable(f"{path}: can't be read: {reason}")


def make_for(words: list[str]) -> None:
    """Make one timeline: for a child process."""
    from turnlog.entries.reader import pause_garbage_collector

    with pause_garbage_collector():
        make_kept_timeline(Path(words[0]), Path(words[1]), words[2] if len(words) > 2 else None)
    sys.stdout.flush()
    os._exit(0)  # taking apart what was read would take as long as a page


def make_kept_timeline(folder: Path, path: Path, agent_id: str | None = None) -> None:
    """Read a session and keep its timeline."""
    states = [
        TimelineFileState.from_path(path),
        *(TimelineFileState.from_path(agent.path) for agent in list_agent_files(path)),
    ]
    with Session.open(path) as session:
        told = session
        if agent_id is not None:
            agent = next((agent for agent in session.agents if agent.agent_id == agent_id), None)
            if agent is None:
                raise NotFound(f"{path}: has no sub-agent {agent_id}")
            told = session.open_agent_session(agent)
        _write_timeline(
            _build_place_path(folder, path, agent_id),
            told,
            TimelineSources(TIMELINE_VERSION, str(told.path or path), states),
        )


def _write_timeline(place: Path, session: Session, stored: TimelineSources) -> None:
    made = build_timeline(session)
    pieces = [
        _encode_value(made.items[at : at + _ITEMS_PER_PIECE]) for at in range(0, len(made.items), _ITEMS_PER_PIECE)
    ]
    lines = sorted((line[0], number) for number, item in enumerate(made.items) for line in (*item.lines, *item.results))
    places = array("Q", (offset for offset, _ in lines)).tobytes()
    owners = array("I", (number for _, number in lines)).tobytes()
    sections = [*pieces, _encode_value(made.steps), places, owners]
    head = _encode_value(TimelineContent(stored, made.head, [len(section) for section in sections], _ITEMS_PER_PIECE))
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=place.parent, prefix=".new-", delete=False) as file:
        try:
            file.writelines([len(head).to_bytes(8, "little"), head, *sections])
            file.close()
            os.replace(file.name, place)  # noqa: PTH105 - a name, no Path
        except BaseException:
            os.unlink(file.name)  # noqa: PTH108
            raise


def _encode_value(value: object) -> bytes:
    """A value to keep; half surrogates, which UTF-8 can't spell, become the sign for what is unreadable."""
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_replace_surrogates(msgspec.to_builtins(value)))


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_replace_surrogates(inner) for inner in value]
    return _LONE_SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value


def prune_timelines(folder: Path) -> Iterator[Path]:
    """Remove the timelines of sessions that are gone, and of other versions; gives what was removed."""
    for place in sorted(folder.glob("[0-9a-f]*")):
        kept = KeptTimeline.load(place)
        if kept is None or not kept.states or not Path(kept.states[0].path).exists():
            place.unlink(missing_ok=True)
            yield place
