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

from turnlog.entries.agents import agent_files
from turnlog.errors import NotFound, TurnlogError, Unreadable
from turnlog.session.session import Session
from turnlog.session.timeline.synopsis import timeline
from turnlog.store.timelines.kept import VERSION, Content, Kept, State, Stored

LARGE = 16 << 20
"""Files above this are read by a child process."""
REMEMBERED = 12
"""So many open timelines are held."""
BEGINNING = 2 << 20
"""So much of a large session is shown while the rest is being read."""
_PAUSE = 0.2
"""Seconds before the rest is read: the page with the beginning comes first."""
_PIECE = 128
_HALF = re.compile("[\ud800-\udfff]")


class Timelines:
    """The timelines that are kept in a folder; for use by several threads."""

    def __init__(self, folder: Path, large: int = LARGE) -> None:
        self.folder = folder
        self._large = large
        self._open: OrderedDict[tuple[str, str | None], Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[tuple[str, str | None], threading.Lock] = {}
        self._reading: set[tuple[str, str | None]] = set()

    def of(self, path: Path, agent_id: str | None = None) -> Kept:
        """The timeline of a session, or of one of its sub-agents; made if there is none of the file's present state."""
        key = (str(path), agent_id)
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            found = self._remembered(key) or self._loaded(path, agent_id) or self._made(path, agent_id)
        with self._lock:
            self._open[key] = found
            self._open.move_to_end(key)
            while len(self._open) > REMEMBERED:
                old, _ = self._open.popitem(last=False)
                self._making.pop(old, None)
        return found

    def soon(self, path: Path) -> Kept:
        """The timeline of a session; of a large one that was never read, that of its beginning, while it is read."""
        key = (str(path), None)
        found = self._remembered(key) or self._loaded(path, None)
        if found is not None or _size(path) <= self._large:
            return self.of(path)
        begun = self._begun(path)
        with self._lock:
            is_new = key not in self._reading
            self._reading.add(key)
        if is_new:
            later = threading.Timer(_PAUSE, self._read_on, key)
            later.daemon = True
            later.start()
        return begun

    def _read_on(self, path: str, agent_id: str | None) -> None:
        try:
            self.of(Path(path), agent_id)
        except TurnlogError:
            pass  # whoever asks for the whole is told
        finally:
            with self._lock:
                self._reading.discard((path, agent_id))

    def _begun(self, path: Path) -> Kept:
        place = self._place(path, None).with_suffix(".begin")
        found = Kept.load(place)
        if found is None or not found.is_current():
            stored = Stored(VERSION, str(path), [State.of(path)], is_whole=False)
            _write(place, Session.of(_beginning(path)), stored)
            found = Kept.load(place)
        if found is None:
            raise Unreadable(f"{path}: its timeline could not be made")
        return found

    def has(self, path: Path) -> bool:
        """Whether the timeline of a session is kept in its present state."""
        return self._remembered((str(path), None)) is not None or self._loaded(path, None) is not None

    def close(self) -> None:
        """Let go of the timelines that are open; each closes its file when nobody uses it any more."""
        with self._lock:
            self._open.clear()

    def _remembered(self, key: tuple[str, str | None]) -> Kept | None:
        with self._lock:
            found = self._open.get(key)
        return found if found is not None and found.is_current() else None

    def _loaded(self, path: Path, agent_id: str | None) -> Kept | None:
        found = Kept.load(self._place(path, agent_id))
        return found if found is not None and found.is_current() else None

    def _made(self, path: Path, agent_id: str | None) -> Kept:
        place = self._place(path, agent_id)
        try:
            status = path.stat()
            if not S_ISREG(status.st_mode):  # reading a pipe would never end
                raise Unreadable(f"{path}: is no file")
            if status.st_size > self._large:
                _by_child(self.folder, path, agent_id)
            else:
                make(self.folder, path, agent_id)
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror or error}") from None
        found = Kept.load(place)
        if found is None:
            raise Unreadable(f"{path}: its timeline could not be made")
        return found

    def _place(self, path: Path, agent_id: str | None) -> Path:
        return _place(self.folder, path, agent_id)


def _place(folder: Path, path: Path, agent_id: str | None) -> Path:
    name = f"{path.absolute()}\0{agent_id or ''}".encode("utf-8", "surrogateescape")
    return folder / blake2b(name, digest_size=16).hexdigest()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


def _beginning(path: Path) -> bytes:
    """The first lines of a file; at least one."""
    with path.open("rb") as file:
        data = file.read(BEGINNING)
        return data if data.endswith(b"\n") else data + file.readline(8 * BEGINNING)


def _by_child(folder: Path, path: Path, agent_id: str | None) -> None:
    code = "import sys; from turnlog.store.timelines.timelines import make_for; make_for(sys.argv[1:])"
    words = [str(folder), str(path), *([agent_id] if agent_id else [])]
    done = subprocess.run([sys.executable, "-P", "-c", code, *words], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Unreadable(f"{path}: can't be read: {reason}")


def make_for(words: list[str]) -> None:
    """Make one timeline: for a child process."""
    from turnlog.entries.reader import collector_off

    with collector_off():
        make(Path(words[0]), Path(words[1]), words[2] if len(words) > 2 else None)
    sys.stdout.flush()
    os._exit(0)  # taking apart what was read would take as long as a page


def make(folder: Path, path: Path, agent_id: str | None = None) -> None:
    """Read a session and keep its timeline."""
    states = [State.of(path), *(State.of(agent.path) for agent in agent_files(path))]
    with Session.open(path) as session:
        told = session
        if agent_id is not None:
            agent = next((agent for agent in session.agents if agent.agent_id == agent_id), None)
            if agent is None:
                raise NotFound(f"{path}: has no sub-agent {agent_id}")
            told = session.agent_session(agent)
        _write(_place(folder, path, agent_id), told, Stored(VERSION, str(told.path or path), states))


def _write(place: Path, session: Session, stored: Stored) -> None:
    made = timeline(session)
    pieces = [_encode(made.items[at : at + _PIECE]) for at in range(0, len(made.items), _PIECE)]
    lines = sorted((line[0], number) for number, item in enumerate(made.items) for line in (*item.lines, *item.results))
    places = array("Q", (offset for offset, _ in lines)).tobytes()
    owners = array("I", (number for _, number in lines)).tobytes()
    sections = [*pieces, _encode(made.steps), places, owners]
    head = _encode(Content(stored, made.head, [len(section) for section in sections], _PIECE))
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=place.parent, prefix=".new-", delete=False) as file:
        try:
            file.writelines([len(head).to_bytes(8, "little"), head, *sections])
            file.close()
            os.replace(file.name, place)  # noqa: PTH105 - a name, no Path
        except BaseException:
            os.unlink(file.name)  # noqa: PTH108
            raise


def _encode(value: object) -> bytes:
    """A value to keep; half surrogates, which UTF-8 can't spell, become the sign for what is unreadable."""
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_spelled(msgspec.to_builtins(value)))


def _spelled(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_spelled(inner) for inner in value]
    return _HALF.sub("\ufffd", value) if isinstance(value, str) else value


def prune(folder: Path) -> Iterator[Path]:
    """Remove the timelines of sessions that are gone, and of other versions; gives what was removed."""
    for place in sorted(folder.glob("[0-9a-f]*")):
        kept = Kept.load(place)
        if kept is None or not kept.states or not Path(kept.states[0].path).exists():
            place.unlink(missing_ok=True)
            yield place
