"""Unpacks a package into a config folder, so that Claude Code can resume its sessions there.

Nothing is written before all checksums and paths have been checked. Then either everything appears or nothing does
(`staging_area`). Nothing is overwritten. Files get the time of unpacking: the client deletes sessions by age and would
otherwise delete an old one at its next start.
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
"""What is already at the path of a packed file: nothing, the same file, a different plan (kept) or other content."""
_NEW_IDS_REMEDY = "so nothing was unpacked; --new-ids unpacks it as a separate session"
_PROJECT_REMEDY = "so nothing was unpacked; use --project OLD=NEW to give each project a folder of its own"
_MODE_MASK = 0o755
"""Files from an untrusted package are writable only by their owner."""


class UnpackGoal(NamedTuple):
    """A file in a package, and its target path."""

    file: PackedFile
    path: Path
    state: str


class UnpackedSession(NamedTuple):
    """A session that was unpacked, or would be unpacked."""

    arrival: ArrivingSession
    path: Path
    """The session's transcript."""
    goals: tuple[UnpackGoal, ...]

    @property
    def is_here(self) -> bool:
        """Whether the whole session was already in the config folder."""
        return all(goal.state in (STATE_SAME, STATE_KEPT) for goal in self.goals)


def unpack_package(
    package: Package,
    config_dir: Path,
    *,
    project_folders: Mapping[str | None, Path] | None = None,
    new_ids: bool = False,
    dry_run: bool = False,
) -> list[UnpackedSession]:
    """Unpack all sessions in a package; `project_folders` maps their project folders to new ones."""
    config = Path(os.path.realpath(config_dir))
    _check_disk_space(package, config)
    arrivals = [
        plan_arrival(
            session,
            config,
            _choose_project(session, project_folders or {}),
            create_uuid() if new_ids else session.session_id,
        )
        for session in package.manifest.sessions
    ]
    package.verify()
    if dry_run:
        return _plan_sessions(package, config, arrivals)
    journal = UnpackJournal(config)
    with _ensure_config_folder(config), journal.lock_journal():
        journal.settle_unfinished()
        sessions = _plan_sessions(package, config, arrivals)
        try:
            _write_sessions(package, journal, sessions)
        except OSError as error:
            raise TurnlogError(f"{config}: {error.strerror or error}; nothing was unpacked") from error
    return sessions


def _choose_project(session: PackedSession, folders: Mapping[str | None, Path]) -> str:
    """Return the project's working directory on this machine."""
    old, named = session.project, folders.get(session.project)
    if named is not None:
        if not named.is_dir():
            raise UsageError(f"--project {named}: no such folder; create it first")
        return os.path.realpath(named)
    if old is None or not os.path.isabs(old) or not os.path.isdir(old):  # noqa: PTH112, PTH117 - Path raises for some
        reason = "has no working directory" if old is None else f"belongs to {old}, which does not exist here"
        raise UsageError(
            f"session {session.session_id} {reason}; use --project PATH to choose the folder to resume it in"
        )
    return old


def _check_disk_space(package: Package, config: Path) -> None:
    """Refuse a package that does not fit on the disk, before reading a file that claims to be huge."""
    folder = next(path for path in (config, *config.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if package.manifest.size > free:
        problem = f"its files need {package.manifest.size:,} bytes, but {folder} has only {free:,} free"
        raise TurnlogError(f"{package.path}: {problem}; nothing was unpacked")


@contextlib.contextmanager
def _ensure_config_folder(config: Path) -> Iterator[None]:
    """Create the config folder if necessary; remove it again after a failure."""
    is_new = not config.exists()
    config.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                config.rmdir()
        raise


def _plan_sessions(package: Package, config: Path, arrivals: list[ArrivingSession]) -> list[UnpackedSession]:
    """Plan the path of each file; raise `Changed` if anything would be overwritten."""
    by_id = {arrival.session.session_id: arrival for arrival in arrivals}
    below = {file.name: by_id[file.session].get_place(file) for file in package.manifest.files if file.place}
    if (duplicate := find_colliding_name(below.values())) is not None:
        raise Changed(f"{package.path}: two of its files would be unpacked to {duplicate}, {_PROJECT_REMEDY}")
    places = {name: config / place for name, place in below.items()}
    for path in places.values():
        resolve_inside(path, config)
    states = _compare_files(package, by_id, places)
    sessions = []
    packed = package.manifest.group_by_session()
    for arrival in arrivals:
        files = [file for file in packed[arrival.session.session_id] if file.place]
        goals = tuple(UnpackGoal(file, places[file.name], states[file.name]) for file in files)
        sessions.append(UnpackedSession(arrival, config / arrival.main, goals))
        _refuse_overwrite(sessions[-1], config)
    return sessions


def _compare_files(package: Package, by_id: dict[str, ArrivingSession], places: dict[str, Path]) -> dict[str, str]:
    taken = {name for name, path in places.items() if os.path.lexists(path)}
    states = dict.fromkeys(places, STATE_NEW)
    for member in package.iterate_members() if taken else ():
        if member.file.name not in taken:
            _drain_pieces(member.pieces)
            continue
        running = sha256()
        for piece in by_id[member.file.session].translate_content(member.file, member.pieces):
            running.update(piece)
        states[member.file.name] = _compare_file(member.file, places[member.file.name], running.hexdigest())
    return states


def _compare_file(file: PackedFile, path: Path, digest: str) -> str:
    is_file = path.is_file() and not path.is_symlink()
    if is_file and hash_file_content(path) == digest:
        return STATE_SAME
    return STATE_KEPT if is_file and (file.place or "").startswith("plans/") else STATE_DIFFERS


def _refuse_overwrite(session: UnpackedSession, config: Path) -> None:
    name = session.arrival.session_id
    for folder in list_project_folders(config):
        other = folder / f"{name}.jsonl"
        if os.path.lexists(other) and os.path.realpath(other) != os.path.realpath(session.path):
            raise Changed(f"{other}: the session already exists in a different project, {_NEW_IDS_REMEDY}")
    differing = [goal.path for goal in session.goals if goal.state == STATE_DIFFERS]
    if session.path in differing:
        raise Changed(f"{session.path}: the session already exists with different content, {_NEW_IDS_REMEDY}")
    if differing:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise Changed(f"{differing[0]}{more}: already present with different content, {_NEW_IDS_REMEDY}")


def _write_sessions(package: Package, journal: UnpackJournal, sessions: list[UnpackedSession]) -> None:
    for is_last in (False, True):
        with journal.stage_files() as staging:
            history = _stage_files(package, staging, sessions)
            if is_last or all(item.arrival.identity is None or item.arrival.identity.is_complete for item in sessions):
                _publish_staged(staging, history)
                return
        for item in sessions:  # an id appeared in an earlier file than the one with its entry
            if item.arrival.identity:
                item.arrival.identity.reset_mistakes()


def _stage_files(package: Package, staging: StagingArea, sessions: list[UnpackedSession]) -> bytes:
    """Write all new files to the staging area; return the lines for the history."""
    goals = {goal.file.name: goal for item in sessions for goal in item.goals}
    mains = {item.path for item in sessions}
    arrivals = {item.arrival.session.session_id: item.arrival for item in sessions}
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
