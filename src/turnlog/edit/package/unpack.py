"""Unpacking a package into a config folder, so that the client resumes its sessions there.

Nothing is written before every checksum was found right and every place was looked at. Then everything appears, or
nothing (`unpack_staging`). Nothing is overwritten. Files get the time of their unpacking: the client deletes by
that time, and would delete an old session again when it starts next.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.identity import new_id
from turnlog.edit.package.goals import Arrival, arrival
from turnlog.edit.package.package import PackedFile, PackedSession
from turnlog.edit.package.places import colliding
from turnlog.edit.package.reader import Package
from turnlog.edit.package.staging import Staging, locked, settle
from turnlog.edit.trash import moving
from turnlog.entries.layout import projects
from turnlog.entries.writer import inside
from turnlog.errors import Changed, TurnlogError, UsageError

NEW, SAME, KEPT, DIFFERS = "new", "same", "kept", "differs"
"""What a file of a package meets in its place: nothing, its equal, another plan (which stays), another file."""
_REMEDY = "nothing was unpacked; --new-ids unpacks it as a session of its own"
_APART = "nothing was unpacked; give each project a folder of its own with --project OLD=NEW"
_MODE = 0o755
"""A stranger's package lets nobody but the owner write."""


class Goal(NamedTuple):
    """A file of a package, and where it goes."""

    file: PackedFile
    path: Path
    state: str


class Unpacked(NamedTuple):
    """A session that was unpacked, or would be."""

    arrival: Arrival
    path: Path
    """Its transcript."""
    goals: tuple[Goal, ...]

    @property
    def is_here(self) -> bool:
        """Whether all of it was here already."""
        return all(goal.state in (SAME, KEPT) for goal in self.goals)


def unpack(
    package: Package,
    config_dir: Path,
    *,
    given: Mapping[str | None, Path] | None = None,
    new_ids: bool = False,
    dry_run: bool = False,
) -> list[Unpacked]:
    """Unpack all sessions of a package; `given` are the folders for its projects, where they are not those it names."""
    config = Path(os.path.realpath(config_dir))
    _must_have_room(package, config)
    arrivals = [
        arrival(session, config, _project(session, given or {}), new_id() if new_ids else session.session_id)
        for session in package.manifest.sessions
    ]
    package.verify()
    if dry_run:
        return _looked(package, config, arrivals)
    with _existing(config), locked(config):
        settle(config)
        found = _looked(package, config, arrivals)
        try:
            _write(package, config, found)
        except OSError as error:
            raise TurnlogError(f"{config}: {error.strerror or error}; nothing was unpacked") from error
    return found


def _project(session: PackedSession, given: Mapping[str | None, Path]) -> str:
    """The working folder here."""
    old, named = session.project, given.get(session.project)
    if named is not None:
        if not named.is_dir():
            raise UsageError(f"--project {named}: no such folder; make it first")
        return os.path.realpath(named)
    if old is None or not os.path.isabs(old) or not os.path.isdir(old):  # noqa: PTH112, PTH117 - Path raises for some
        words = "names no working folder" if old is None else f"is of {old}, which is no folder here"
        raise UsageError(f"session {session.session_id} {words}; say --project PATH, the folder to resume it in")
    return old


def _must_have_room(package: Package, config: Path) -> None:
    """Refuse what the disk can't hold, before hours are spent with a file that claims to be endless."""
    folder = next(path for path in (config, *config.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if package.manifest.size > free:
        words = f"its files take {package.manifest.size:,} bytes, and {folder} has room for {free:,}"
        raise TurnlogError(f"{package.path}: {words}; nothing was unpacked")


@contextlib.contextmanager
def _existing(config: Path) -> Iterator[None]:
    """See that there is a config folder; one that was made for nothing goes again."""
    made = not config.exists()
    config.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if made:
            with contextlib.suppress(OSError):
                config.rmdir()
        raise


def _looked(package: Package, config: Path, arrivals: list[Arrival]) -> list[Unpacked]:
    """What would go where; refuses (`Changed`) if anything of it were to be overwritten."""
    by_id = {coming.session.session_id: coming for coming in arrivals}
    below = {file.name: by_id[file.session].place(file) for file in package.manifest.files if file.place}
    if (twice := colliding(below.values())) is not None:
        raise Changed(f"{package.path}: two of its files would come to lie at {twice}; {_APART}")
    places = {name: config / place for name, place in below.items()}
    for path in places.values():
        inside(path, config)
    states = _states(package, by_id, places)
    found = []
    packed = package.manifest.by_session()
    for coming in arrivals:
        files = [file for file in packed[coming.session.session_id] if file.place]
        goals = tuple(Goal(file, places[file.name], states[file.name]) for file in files)
        found.append(Unpacked(coming, config / coming.main, goals))
        _must_not_overwrite(found[-1], config)
    return found


def _states(package: Package, by_id: dict[str, Arrival], places: dict[str, Path]) -> dict[str, str]:
    taken = {name for name, path in places.items() if os.path.lexists(path)}
    found = dict.fromkeys(places, NEW)
    for member in package.members() if taken else ():
        if member.file.name not in taken:
            _drain(member.pieces)
            continue
        running = sha256()
        for piece in by_id[member.file.session].content(member.file, member.pieces):
            running.update(piece)
        found[member.file.name] = _state(member.file, places[member.file.name], running.hexdigest())
    return found


def _state(file: PackedFile, path: Path, digest: str) -> str:
    is_file = path.is_file() and not path.is_symlink()
    if is_file and moving.sha256(path) == digest:
        return SAME
    return KEPT if is_file and (file.place or "").startswith("plans/") else DIFFERS


def _must_not_overwrite(found: Unpacked, config: Path) -> None:
    name = found.arrival.session_id
    for folder in projects(config):
        other = folder / f"{name}.jsonl"
        if os.path.lexists(other) and os.path.realpath(other) != os.path.realpath(found.path):
            raise Changed(f"{other}: the session is here already, in another project; {_REMEDY}")
    differing = [goal.path for goal in found.goals if goal.state == DIFFERS]
    if found.path in differing:
        raise Changed(f"{found.path}: the session is here already, with other content; {_REMEDY}")
    if differing:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise Changed(f"{differing[0]}{more}: is here with other content; {_REMEDY}")


def _write(package: Package, config: Path, found: list[Unpacked]) -> None:
    for is_last in (False, True):
        staging = Staging(config)
        try:
            history = _stage(package, staging, found)
            if is_last or all(item.arrival.identity is None or item.arrival.identity.is_complete for item in found):
                _appear(staging, history)
                return
        finally:
            staging.discard()
        for item in found:  # an id stood in a file before the one that it is an entry of
            if item.arrival.identity:
                item.arrival.identity.again()


def _stage(package: Package, staging: Staging, found: list[Unpacked]) -> bytes:
    """Write all that is new; gives the lines for the history."""
    goals = {goal.file.name: goal for item in found for goal in item.goals}
    mains = {item.path for item in found}
    arrivals = {item.arrival.session.session_id: item.arrival for item in found}
    history: list[bytes] = []
    for member in package.members():
        pieces = arrivals[member.file.session].content(member.file, member.pieces)
        goal = goals.get(member.file.name)
        if goal is None:
            history += pieces
        elif goal.state == NEW:
            mode = member.file.mode & _MODE | 0o600
            staging.add(goal.path, pieces, mode, is_last=goal.path in mains)
        else:
            _drain(member.pieces)
    return b"".join(history)


def _appear(staging: Staging, history: bytes) -> None:
    if history:
        staging.add_history(history)
    staging.appear()


def _drain(pieces: Iterable[bytes]) -> None:
    for _ in pieces:
        pass
