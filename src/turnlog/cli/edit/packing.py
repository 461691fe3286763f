"""What `turnlog pack` and `turnlog unpack` do and say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.cli.config import Config
from turnlog.cli.named import located
from turnlog.cli.output import dump, remark, say
from turnlog.cli.terminal import line, visible
from turnlog.cli.when import size
from turnlog.edit.package.package import Manifest, PackedFile, PackedSession
from turnlog.edit.package.reader import Package
from turnlog.entries.layout import config_candidates
from turnlog.entries.spelling import unescaped
from turnlog.errors import UsageError
from turnlog.render.figures import count

if TYPE_CHECKING:
    from turnlog.edit.package.pack import Packed
    from turnlog.edit.package.unpack import Unpacked
    from turnlog.redact.report import Report

_LONGEST = 200


def make(names: tuple[str, ...], output: str, config: Config, *, redact: bool, force: bool, as_json: bool) -> None:
    """Pack the sessions that some names mean."""
    from turnlog.edit.package.pack import pack
    from turnlog.edit.package.redacted import Redaction
    from turnlog.redact.redactor import Redactor

    goal = _expanded(output)
    if not goal.parent.is_dir():
        raise UsageError(f"{goal.parent}: no such folder; FILE is written into it")
    paths = list(dict.fromkeys(located(name, config) for name in names))
    redaction = Redaction(Redactor()) if redact else None
    made = pack(paths, goal, redaction=redaction, force=force)
    report = redaction.report() if redaction else None
    if as_json:
        dump(_made(made, report))
        return
    say(_made_lines(made, report))
    if any(file.left_out for file in made.manifest.files):
        remark("A line that was just being written was left out.")


def _made(made: Packed, report: Report | None) -> dict[str, Any]:
    return {
        "path": str(made.path),
        "size": made.size,
        "sha256": made.sha256,
        **_manifest(made.manifest),
        "redaction": None if report is None else _redaction(report),
        "left_out": [str(path) for path in made.left_out],
    }


def _redaction(report: Report) -> dict[str, Any]:
    rules = [{"rule": name, "times": found.found, "secrets": found.secrets} for name, found in report.rules.items()]
    return {"found": report.found, "rules": rules, "thinking_dropped": len(report.thinking)}


def _manifest(manifest: Manifest) -> dict[str, Any]:
    """What a package holds, for programs."""
    return {
        "bytes": manifest.size,
        "files": len(manifest.files),
        "redacted": manifest.redacted,
        "sessions": [_session(session, files) for session, files in _whose(manifest)],
    }


def _whose(manifest: Manifest) -> Iterator[tuple[PackedSession, list[PackedFile]]]:
    files = manifest.by_session()
    return ((session, files[session.session_id]) for session in manifest.sessions)


def _session(session: PackedSession, files: list[PackedFile]) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "title": session.title,
        "project": session.project,
        "bytes": sum(file.size for file in files),
        "files": len(files),
        "history_lines": session.history_lines,
        "bytes_left_out": sum(file.left_out for file in files),
    }


def _made_lines(made: Packed, report: Report | None) -> Iterator[str]:
    yield from _sessions(made.manifest)
    amount = f"{count(len(made.manifest.files), 'file')}, {size(made.manifest.size)} in {size(made.size)}"
    yield f"Packed {count(len(made.manifest.sessions), 'session')} into {visible(str(made.path))}: {amount}"
    yield f"SHA-256 {made.sha256}"
    if report is not None:
        rules = ", ".join(f"{name} {found.found:,}" for name, found in report.rules.items())
        times = f"{count(report.found, 'time')} ({rules})" if rules else "never"
        yield line(f"Secrets replaced by marks: {times}; look yourself before you share it")
    for path in made.left_out:
        yield "Left out " + visible(str(path))


def _sessions(manifest: Manifest) -> Iterator[str]:
    for session, files in _whose(manifest):
        told = _session(session, files)
        title = (session.title or "(no title)")[:_LONGEST]
        amount = f"{count(told['files'], 'file')}, {size(told['bytes'])}"
        yield f"{session.session_id}  {line(title)}  ({amount}; {visible(session.project or 'no working folder')})"


def listed(file: str, *, as_json: bool) -> None:
    """List what a package says it holds; its files are not read."""
    with Package(_expanded(file)) as package:
        manifest = package.manifest
        if as_json:
            contents = [
                {"name": unescaped(item.name), "session_id": item.session, "bytes": item.size, "sha256": item.sha256}
                for item in manifest.files
            ]
            dump({"path": str(package.path), "size": package.size, **_manifest(manifest), "contents": contents})
            return
        say(_sessions(manifest))
        say(f"  {size(item.size):>8}  {visible(unescaped(item.name))}" for item in manifest.files)
        amount = f"{count(len(manifest.files), 'file')}, {size(manifest.size)} in {size(package.size)}"
        redacted = ", secrets replaced by marks" if manifest.redacted else ""
        say([f"{amount}{redacted}"])


def put(
    file: str,
    projects: tuple[str, ...],
    config_dir: str | None,
    *,
    new_ids: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Unpack a package."""
    from turnlog.edit.package.unpack import unpack

    folder = _expanded(config_dir) if config_dir else config_candidates()[0]
    with Package(_expanded(file)) as package:
        given = _given(projects, package.manifest)
        found = unpack(package, folder, given=given, new_ids=new_ids, dry_run=dry_run)
        if as_json:
            dump(_put(package, folder, found, dry_run))
            return
    say(_put_lines(found, dry_run))
    for item in found:
        for goal in item.goals:
            if goal.state == "kept":
                remark(f"{goal.path}: another plan of that name is here, and stays.")


def _given(words: tuple[str, ...], manifest: Manifest) -> dict[str | None, Path]:
    """The folders for the projects of a package."""
    known = list(dict.fromkeys(session.project for session in manifest.sessions))
    if len(known) == 1 and len(words) == 1:
        old, mark, new = words[0].partition("=")
        return {known[0]: _expanded(new if mark and old == known[0] else words[0])}
    found: dict[str | None, Path] = {}
    for word in words:
        fitting = [old for old in known if old is not None and word.startswith(f"{old}=")]
        if not fitting:
            names = ", ".join(str(old) for old in known)
            raise UsageError(f"--project {word}: expected OLD=NEW, where OLD is a project of the package: {names}")
        old = max(fitting, key=len)
        found[old] = _expanded(word[len(old) + 1 :])
    return found


def _put(package: Package, folder: Path, found: list[Unpacked], dry_run: bool) -> dict[str, Any]:
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


def _put_lines(found: list[Unpacked], dry_run: bool) -> Iterator[str]:
    for item in found:
        title = line((item.arrival.session.title or "(no title)")[:_LONGEST])
        new = [goal for goal in item.goals if goal.state == "new"]
        if item.is_here:
            yield f"Already here: {item.arrival.session_id}  {title}"
            continue
        verb = "Would unpack" if dry_run else "Unpacked"
        yield f"{verb} {item.arrival.session_id}  {title}  ({count(len(new), 'file')})"
        if dry_run:
            yield from (f"  {goal.state:<5} {visible(str(goal.path))}" for goal in item.goals)
        else:
            yield f"Resume it in {visible(item.arrival.project)} with: claude --resume {item.arrival.session_id}"


def _expanded(name: str) -> Path:
    return Path(os.path.expanduser(name))  # noqa: PTH111 - Path raises for ~nobody
