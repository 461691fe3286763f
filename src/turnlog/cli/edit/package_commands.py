"""What `turnlog pack` and `turnlog unpack` do and say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.api.config import Config
from turnlog.cli.named_sessions import locate_named_session
from turnlog.cli.output import print_json, print_lines, print_remark
from turnlog.cli.terminal import make_visible, to_visible_line
from turnlog.cli.time_format import format_size
from turnlog.edit.package.package import PackageManifest, PackedFile, PackedSession
from turnlog.edit.package.package_reader import Package
from turnlog.entries.layout import list_config_candidates
from turnlog.entries.path_escapes import unescape_path
from turnlog.errors import UsageError
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.edit.package.pack import PackResult
    from turnlog.edit.package.unpack import UnpackedSession
    from turnlog.redact.redaction_report import RedactionReport

_MAX_TITLE_CHARS = 200


def run_pack(names: tuple[str, ...], output: str, config: Config, *, redact: bool, force: bool, as_json: bool) -> None:
    """Pack the sessions that some names mean."""
    from turnlog.edit.package.pack import pack_sessions
    from turnlog.edit.package.package_redaction import PackageRedaction
    from turnlog.redact.redactor import Redactor

    goal = _expand_path(output)
    if not goal.parent.is_dir():
        raise UsageError(f"{goal.parent}: no such folder; FILE is written into it")
    paths = list(dict.fromkeys(locate_named_session(name, config) for name in names))
    redaction = PackageRedaction(Redactor()) if redact else None
    made = pack_sessions(paths, goal, redaction=redaction, force=force)
    report = redaction.build_report() if redaction else None
    if as_json:
        print_json(_to_pack_document(made, report))
        return
    print_lines(_render_packed(made, report))
    if any(file.left_out for file in made.manifest.files):
        print_remark("A line that was just being written was left out.")


def _to_pack_document(made: PackResult, report: RedactionReport | None) -> dict[str, Any]:
    return {
        "path": str(made.path),
        "size": made.size,
        "sha256": made.sha256,
        **_to_manifest_document(made.manifest),
        "redaction": None if report is None else _to_redaction_document(report),
        "left_out": [str(path) for path in made.left_out],
    }


def _to_redaction_document(report: RedactionReport) -> dict[str, Any]:
    rules = [{"rule": name, "times": found.found, "secrets": found.secrets} for name, found in report.rules.items()]
    return {"found": report.replacement_count, "rules": rules, "thinking_dropped": len(report.thinking)}


def _to_manifest_document(manifest: PackageManifest) -> dict[str, Any]:
    """What a package holds, for programs."""
    return {
        "bytes": manifest.size,
        "files": len(manifest.files),
        "redacted": manifest.redacted,
        "sessions": [_to_session_document(session, files) for session, files in _group_files_by_session(manifest)],
    }


def _group_files_by_session(manifest: PackageManifest) -> Iterator[tuple[PackedSession, list[PackedFile]]]:
    files = manifest.group_by_session()
    return ((session, files[session.session_id]) for session in manifest.sessions)


def _to_session_document(session: PackedSession, files: list[PackedFile]) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "title": session.title,
        "project": session.project,
        "bytes": sum(file.size for file in files),
        "files": len(files),
        "history_lines": session.history_lines,
        "bytes_left_out": sum(file.left_out for file in files),
    }


def _render_packed(made: PackResult, report: RedactionReport | None) -> Iterator[str]:
    yield from _render_sessions(made.manifest)
    amount = (
        f"{format_count(len(made.manifest.files), 'file')}, {format_size(made.manifest.size)} in "
        f"{format_size(made.size)}"
    )
    yield f"Packed {format_count(len(made.manifest.sessions), 'session')} into {make_visible(str(made.path))}: {amount}"
    yield f"SHA-256 {made.sha256}"
    if report is not None:
        rules = ", ".join(f"{name} {found.found:,}" for name, found in report.rules.items())
        times = f"{format_count(report.replacement_count, 'time')} ({rules})" if rules else "never"
        yield to_visible_line(f"Secrets replaced by marks: {times}; look yourself before you share it")
    for path in made.left_out:
        yield "Left out " + make_visible(str(path))


def _render_sessions(manifest: PackageManifest) -> Iterator[str]:
    for session, files in _group_files_by_session(manifest):
        told = _to_session_document(session, files)
        title = (session.title or "(no title)")[:_MAX_TITLE_CHARS]
        amount = f"{format_count(told['files'], 'file')}, {format_size(told['bytes'])}"
        yield (
            f"{session.session_id}  {to_visible_line(title)}  ({amount}; "
            f"{make_visible(session.project or 'no working folder')})"
        )


def list_package(file: str, *, as_json: bool) -> None:
    """List what a package says it holds; its files are not read."""
    with Package(_expand_path(file)) as package:
        manifest = package.manifest
        if as_json:
            contents = [
                {
                    "name": unescape_path(item.name),
                    "session_id": item.session,
                    "bytes": item.size,
                    "sha256": item.sha256,
                }
                for item in manifest.files
            ]
            print_json(
                {
                    "path": str(package.path),
                    "size": package.size,
                    **_to_manifest_document(manifest),
                    "contents": contents,
                }
            )
            return
        print_lines(_render_sessions(manifest))
        print_lines(
            f"  {format_size(item.size):>8}  {make_visible(unescape_path(item.name))}" for item in manifest.files
        )
        amount = (
            f"{format_count(len(manifest.files), 'file')}, {format_size(manifest.size)} in {format_size(package.size)}"
        )
        redacted = ", secrets replaced by marks" if manifest.redacted else ""
        print_lines([f"{amount}{redacted}"])


def run_unpack(
    file: str,
    projects: tuple[str, ...],
    config_dir: str | None,
    *,
    new_ids: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Unpack a package."""
    from turnlog.edit.package.unpack import unpack_package

    folder = _expand_path(config_dir) if config_dir else list_config_candidates()[0]
    with Package(_expand_path(file)) as package:
        given = _parse_project_folders(projects, package.manifest)
        found = unpack_package(package, folder, given=given, new_ids=new_ids, dry_run=dry_run)
        if as_json:
            print_json(_to_unpack_document(package, folder, found, dry_run))
            return
    print_lines(_render_unpacked(found, dry_run))
    for item in found:
        for goal in item.goals:
            if goal.state == "kept":
                print_remark(f"{goal.path}: another plan of that name is here, and stays.")


def _parse_project_folders(words: tuple[str, ...], manifest: PackageManifest) -> dict[str | None, Path]:
    """The folders for the projects of a package."""
    known = list(dict.fromkeys(session.project for session in manifest.sessions))
    if len(known) == 1 and len(words) == 1:
        old, mark, new = words[0].partition("=")
        return {known[0]: _expand_path(new if mark and old == known[0] else words[0])}
    found: dict[str | None, Path] = {}
    for word in words:
        fitting = [old for old in known if old is not None and word.startswith(f"{old}=")]
        if not fitting:
            names = ", ".join(str(old) for old in known)
            raise UsageError(f"--project {word}: expected OLD=NEW, where OLD is a project of the package: {names}")
        old = max(fitting, key=len)
        found[old] = _expand_path(word[len(old) + 1 :])
    return found


def _to_unpack_document(package: Package, folder: Path, found: list[UnpackedSession], dry_run: bool) -> dict[str, Any]:
    return {
        "package": str(package.path),
        "config_dir": str(folder),
        "dry_run": dry_run,
        "sessions": [
            {
                "session_id": item.arrival.session_id,
                "packed_id": item.arrival.session.session_id,
                "title": item.arrival.session.title,
                "project": item.arrival.project,
                "packed_project": item.arrival.session.project,
                "path": str(item.path),
                "already_here": item.is_here,
                "files": [{"path": str(goal.path), "state": goal.state} for goal in item.goals],
            }
            for item in found
        ],
    }


def _render_unpacked(found: list[UnpackedSession], dry_run: bool) -> Iterator[str]:
    for item in found:
        title = to_visible_line((item.arrival.session.title or "(no title)")[:_MAX_TITLE_CHARS])
        new = [goal for goal in item.goals if goal.state == "new"]
        if item.is_here:
            yield f"Already here: {item.arrival.session_id}  {title}"
            continue
        verb = "Would unpack" if dry_run else "Unpacked"
        yield f"{verb} {item.arrival.session_id}  {title}  ({format_count(len(new), 'file')})"
        if dry_run:
            yield from (f"  {goal.state:<5} {make_visible(str(goal.path))}" for goal in item.goals)
        else:
            yield f"Resume it in {make_visible(item.arrival.project)} with: claude --resume {item.arrival.session_id}"


def _expand_path(name: str) -> Path:
    return Path(os.path.expanduser(name))  # noqa: PTH111 - Path raises for ~nobody
