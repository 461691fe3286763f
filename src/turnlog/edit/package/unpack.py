"""Unpacking a package into a config folder, so that the client resumes its sessions there.

Nothing is written before every checksum was found right and every place was looked at. Then everything appears, or
nothing (`staging_area`). Nothing is overwritten. Files get the time of their unpacking: the client deletes by
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

from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.journal.file_steps import hash_file_content
from turnlog.edit.package.arrivals import ArrivingSession, plan_arrival
from turnlog.edit.package.package import PackedFile, PackedSession, find_colliding_name
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.staging_area import StagingArea, UnpackJournal
from turnlog.entries.atomic_file import resolve_inside
from turnlog.entries.layout import list_project_folders
from turnlog.errors import Changed, TurnlogError, UsageError

STATE_NEW, STATE_SAME, STATE_KEPT, STATE_DIFFERS = "new", "same", "kept", "differs"
"""What a file of a package meets in its place: nothing, its equal, another plan (which stays), another file."""
_NEW_IDS_REMEDY = "nothing was unpacked; --new-ids unpacks it as a session of its own"
_PROJECT_REMEDY = "nothing was unpacked; give each project a folder of its own with --project OLD=NEW"
_MODE_MASK = 0o755
"""A stranger's package lets nobody but the owner write."""


class UnpackGoal(NamedTuple):
    """A file of a package, and where it goes."""

    file: PackedFile
    path: Path
    state: str


class UnpackedSession(NamedTuple):
    """A session that was unpacked, or would be."""

    arrival: ArrivingSession
    path: Path
    """Its transcript."""
    goals: tuple[UnpackGoal, ...]

    @property
    def is_here(self) -> bool:
        """Whether all of it was here already."""
        return all(goal.state in (STATE_SAME, STATE_KEPT) for goal in self.goals)


def unpack_package(
    package: Package,
    config_dir: Path,
    *,
    given: Mapping[str | None, Path] | None = None,
    new_ids: bool = False,
    dry_run: bool = False,
) -> list[UnpackedSession]:
    """Unpack all sessions of a package; `given` are the folders for its projects, where they are not those it names."""
    config = Path(os.path.realpath(config_dir))
    _check_disk_space(package, config)
    arrivals = [
        plan_arrival(
            session, config, _choose_project(session, given or {}), create_uuid() if new_ids else session.session_id
        )
        for session in package.manifest.sessions
    ]
    package.verify()
    if dry_run:
        return _plan_sessions(package, config, arrivals)
    journal = UnpackJournal(config)
    with _ensure_config_folder(config), journal.lock_journal():
        journal.settle_unfinished()
        found = _plan_sessions(package, config, arrivals)
        try:
            _write_sessions(package, journal, found)
        except OSError as error:
            raise TurnlogError(f"{config}: {error.strerror or error}; nothing was unpacked") from error
    return found


def _choose_project(session: PackedSession, given: Mapping[str | None, Path]) -> str:
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


def _check_disk_space(package: Package, config: Path) -> None:
    """Refuse what the disk can't hold, before hours are spent with a file that claims to be endless."""
    folder = next(path for path in (config, *config.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if package.manifest.size > free:
        words = f"its files take {package.manifest.size:,} bytes, and {folder} has room for {free:,}"
        raise TurnlogError(f"{package.path}: {words}; nothing was unpacked")


@contextlib.contextmanager
def _ensure_config_folder(config: Path) -> Iterator[None]:
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


def _plan_sessions(package: Package, config: Path, arrivals: list[ArrivingSession]) -> list[UnpackedSession]:
    """What would go where; refuses (`Changed`) if anything of it were to be overwritten."""
    by_id = {coming.session.session_id: coming for coming in arrivals}
    below = {file.name: by_id[file.session].get_place(file) for file in package.manifest.files if file.place}
    if (twice := find_colliding_name(below.values())) is not None:
        raise Changed(f"{package.path}: two of its files would come to lie at {twice}; {_PROJECT_REMEDY}")
    places = {name: config / place for name, place in below.items()}
    for path in places.values():
        resolve_inside(path, config)
    states = _compare_files(package, by_id, places)
    found = []
    packed = package.manifest.group_by_session()
    for coming in arrivals:
        files = [file for file in packed[coming.session.session_id] if file.place]
        goals = tuple(UnpackGoal(file, places[file.name], states[file.name]) for file in files)
        found.append(UnpackedSession(coming, config / coming.main, goals))
        _refuse_overwrite(found[-1], config)
    return found


def _compare_files(package: Package, by_id: dict[str, ArrivingSession], places: dict[str, Path]) -> dict[str, str]:
    taken = {name for name, path in places.items() if os.path.lexists(path)}
    found = dict.fromkeys(places, STATE_NEW)
    for member in package.iterate_members() if taken else ():
        if member.file.name not in taken:
            _drain_pieces(member.pieces)
            continue
        running = sha256()
        for piece in by_id[member.file.session].translate_content(member.file, member.pieces):
            running.update(piece)
        found[member.file.name] = _compare_file(member.file, places[member.file.name], running.hexdigest())
    return found


def _compare_file(file: PackedFile, path: Path, digest: str) -> str:
    is_file = path.is_file() and not path.is_symlink()
    if is_file and hash_file_content(path) == digest:
        return STATE_SAME
    return STATE_KEPT if is_file and (file.place or "").startswith("plans/") else STATE_DIFFERS


def _refuse_overwrite(found: UnpackedSession, config: Path) -> None:
    name = found.arrival.session_id
    for folder in list_project_folders(config):
        other = folder / f"{name}.jsonl"
        if os.path.lexists(other) and os.path.realpath(other) != os.path.realpath(found.path):
            raise Changed(f"{other}: the session is here already, in another project; {_NEW_IDS_REMEDY}")
    differing = [goal.path for goal in found.goals if goal.state == STATE_DIFFERS]
    if found.path in differing:
        raise Changed(f"{found.path}: the session is here already, with other content; {_NEW_IDS_REMEDY}")
    if differing:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise Changed(f"{differing[0]}{more}: is here with other content; {_NEW_IDS_REMEDY}")


def _write_sessions(package: Package, journal: UnpackJournal, found: list[UnpackedSession]) -> None:
    for is_last in (False, True):
        with journal.stage_files() as staging:
            history = _stage_files(package, staging, found)
            if is_last or all(item.arrival.identity is None or item.arrival.identity.is_complete for item in found):
                _publish_staged(staging, history)
                return
        for item in found:  # an id appeared in a file before the one that it is an entry of
            if item.arrival.identity:
                item.arrival.identity.reset_mistakes()


def _stage_files(package: Package, staging: StagingArea, found: list[UnpackedSession]) -> bytes:
    """Write all that is new; gives the lines for the history."""
    goals = {goal.file.name: goal for item in found for goal in item.goals}
    mains = {item.path for item in found}
    arrivals = {item.arrival.session.session_id: item.arrival for item in found}
    history: list[bytes] = []
    for member in package.iterate_members():
        pieces = arrivals[member.file.session].translate_content(member.file, member.pieces)
        goal = goals.get(member.file.name)
        if goal is None:
            history += pieces
        elif goal.state == STATE_NEW:
            mode = member.file.mode & _MODE_MASK | 0o600
            staging.add_file(goal.path, pieces, mode, is_last=goal.path in mains)
        else:
            _drain_pieces(member.pieces)
    return b"".join(history)


def _publish_staged(staging: StagingArea, history: bytes) -> None:
    if history:
        staging.add_history(history)
    staging.publish_files()


def _drain_pieces(pieces: Iterable[bytes]) -> None:
    for _ in pieces:
        pass
