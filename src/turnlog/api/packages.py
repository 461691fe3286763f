"""Packs sessions into one file for another machine, lists packages, and unpacks them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config
from turnlog.api.lookup import Notify, locate_sessions
from turnlog.api.values import RuleFindings, list_rule_findings
from turnlog.edit.package.package import PackageManifest
from turnlog.edit.package.package_reader import Package
from turnlog.entries.layout import list_config_candidates
from turnlog.entries.path_escapes import unescape_path
from turnlog.errors import UsageError


class SessionInPackage(Struct, frozen=True):
    """A session in a package."""

    session_id: str
    title: str | None
    project: str | None
    """The working folder of the session."""
    bytes: int
    files: int
    history_lines: int
    bytes_left_out: int
    """Bytes of incomplete lines, which were being written at the time."""


class PackageRedactionCounts(Struct, frozen=True):
    """The secrets that were replaced in a package."""

    found: int
    rules: tuple[RuleFindings, ...]
    thinking_dropped: int


class PackedSessions(Struct, frozen=True):
    """A package that was written."""

    path: Path
    size: int
    sha256: str
    bytes: int
    """The total size of the files in it."""
    files: int
    redacted: bool
    sessions: tuple[SessionInPackage, ...]
    redaction: PackageRedactionCounts | None
    left_out: tuple[Path, ...]
    """Files of the sessions that are not in the package: links, logs, caches and shell code."""


class PackageFile(Struct, frozen=True):
    """A file in a package."""

    name: str
    session_id: str
    bytes: int
    sha256: str


class PackageContents(Struct, frozen=True):
    """The contents of a package according to its manifest."""

    path: Path
    size: int
    bytes: int
    files: int
    redacted: bool
    sessions: tuple[SessionInPackage, ...]
    contents: tuple[PackageFile, ...]


class UnpackedFile(Struct, frozen=True):
    """A file in a package and its path on this machine."""

    path: Path
    state: str
    """new, same (the same file already exists), or kept (a different plan exists and is kept)."""


class ArrivedSession(Struct, frozen=True):
    """A session in a package and its location on this machine."""

    session_id: str
    packed_id: str
    title: str | None
    project: str
    packed_project: str | None
    path: Path
    already_here: bool
    files: tuple[UnpackedFile, ...]
    refusal: str | None
    """Why Claude Code would not resume it; None if it would, or after a dry run."""


class UnpackedSessions(Struct, frozen=True):
    """The sessions that were (or would be) unpacked from a package."""

    package: Path
    config_dir: Path
    dry_run: bool
    sessions: tuple[ArrivedSession, ...]


def pack_sessions(
    sessions: Sequence[str | Path],
    output: str | Path,
    *,
    redact: bool = False,
    force: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> PackedSessions:
    """Pack sessions with everything that belongs to them into one file.

    `redact` replaces API keys, tokens and passwords with placeholders; `force` replaces an existing file.
    """
    from turnlog.edit.package.pack import pack_sessions as write_package
    from turnlog.edit.package.package_redaction import PackageRedaction
    from turnlog.redact.redactor import Redactor

    target = expand_path(output)
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder; the package can't be written")
    paths = list(dict.fromkeys(locate_sessions(sessions, config, notify)))
    redaction = PackageRedaction(Redactor()) if redact else None
    written = write_package(paths, target, redaction=redaction, force=force)
    report = redaction.build_report() if redaction else None
    counts = (
        PackageRedactionCounts(report.replacement_count, list_rule_findings(report), len(report.thinking))
        if report
        else None
    )
    manifest = written.manifest
    facts = manifest.size, len(manifest.files), manifest.redacted, _list_packed_sessions(manifest)
    return PackedSessions(written.path, written.size, written.sha256, *facts, counts, written.left_out)


def list_package(file: str | Path) -> PackageContents:
    """List the contents of a package from its manifest, without reading its files."""
    with Package(expand_path(file)) as package:
        manifest = package.manifest
        contents = tuple(
            PackageFile(unescape_path(item.name), item.session, item.size, item.sha256) for item in manifest.files
        )
        facts = manifest.size, len(manifest.files), manifest.redacted, _list_packed_sessions(manifest)
        return PackageContents(package.path, package.size, *facts, contents)


def unpack_sessions(
    file: str | Path,
    *,
    project: str | Path | None = None,
    projects: Mapping[str, str | Path] | Sequence[str] = (),
    config_dir: str | Path | None = None,
    new_ids: bool = False,
    dry_run: bool = False,
) -> UnpackedSessions:
    """Unpack the sessions from a package so that Claude Code can resume them; nothing is overwritten.

    `project` is the folder to resume them in; if the package has several projects, `projects` maps each one to a
    folder. `new_ids` unpacks them as new sessions, next to existing ones with the same ids.
    """
    from turnlog.api.clones import explain_refusal
    from turnlog.edit.package.unpack import unpack_package

    folder = expand_path(config_dir) if config_dir else list_config_candidates()[0]
    with Package(expand_path(file)) as package:
        pairs = [str(project)] if project is not None else []
        pairs += [f"{old}={new}" for old, new in projects.items()] if isinstance(projects, Mapping) else list(projects)
        chosen = _parse_project_folders(pairs, package.manifest)
        found = unpack_package(package, folder, project_folders=chosen, new_ids=new_ids, dry_run=dry_run)
        path = package.path
    sessions = tuple(
        ArrivedSession(
            session_id=item.arrival.session_id,
            packed_id=item.arrival.session.session_id,
            title=item.arrival.session.title,
            project=item.arrival.project,
            packed_project=item.arrival.session.project,
            path=item.path,
            already_here=item.is_here,
            files=tuple(UnpackedFile(target.path, target.state) for target in item.goals),
            refusal=None if dry_run else explain_refusal(item.path),
        )
        for item in found
    )
    return UnpackedSessions(path, folder, dry_run, sessions)


def _list_packed_sessions(manifest: PackageManifest) -> tuple[SessionInPackage, ...]:
    files = manifest.group_by_session()
    return tuple(
        SessionInPackage(
            session_id=session.session_id,
            title=session.title,
            project=session.project,
            bytes=sum(file.size for file in files[session.session_id]),
            files=len(files[session.session_id]),
            history_lines=session.history_lines,
            bytes_left_out=sum(file.left_out for file in files[session.session_id]),
        )
        for session in manifest.sessions
    )


def _parse_project_folders(pairs: Sequence[str], manifest: PackageManifest) -> dict[str | None, Path]:
    """Parse `OLD=NEW` pairs into a folder for each project of a package."""
    known = list(dict.fromkeys(session.project for session in manifest.sessions))
    if len(known) == 1 and len(pairs) == 1:
        old, mark, new = pairs[0].partition("=")
        return {known[0]: expand_path(new if mark and old == known[0] else pairs[0])}
    folders: dict[str | None, Path] = {}
    for pair in pairs:
        matches = [old for old in known if old is not None and pair.startswith(f"{old}=")]
        if not matches:
            names = ", ".join(str(old) for old in known)
            raise UsageError(
                f"project {pair}: expected OLD=NEW, where OLD is one of the projects in the package ({names})"
            )
        old = max(matches, key=len)
        folders[old] = expand_path(pair[len(old) + 1 :])
    return folders


def expand_path(name: str | Path) -> Path:
    """Expand `~` and `~user`; other paths are returned unchanged."""
    return Path(os.path.expanduser(name))  # noqa: PTH111 - Path raises for ~nobody
