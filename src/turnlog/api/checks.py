"""Checks session files: what is broken, unusual or new in them, and whether they can be resumed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify, locate_sessions
from turnlog.edit.illnesses.verdict import BrokenRule, Loss, judge_session
from turnlog.entries.agents import list_folders_once
from turnlog.entries.drift import UnknownItem
from turnlog.entries.layout import is_session_id
from turnlog.errors import NotFound, TurnlogError
from turnlog.session.check import Finding, check, prove_session_requests
from turnlog.session.resume.request_proof import RequestProof
from turnlog.session.session import Session
from turnlog.session.usage.message_counts import parse_version

if TYPE_CHECKING:
    from turnlog.api.index import Progress


class UnresolvedMessage(Struct, frozen=True):
    """A recorded message that turnlog can't rebuild."""

    request: str
    hash: str


class RequestCheck(Struct, frozen=True):
    """How the messages in a session's recorded requests were resolved."""

    requests: int
    messages: int
    rebuilt: int
    """Messages that were rebuilt from the entries."""
    blobs: int
    """Messages that the file contains in full."""
    altered: int
    """Messages whose text in the file was changed later, so they prove nothing."""
    unresolved: list[UnresolvedMessage]


class ResumeCheck(Struct, frozen=True):
    """The result of checking whether Claude Code and the API would continue a session."""

    ok: bool
    resumes: bool
    broken: tuple[BrokenRule, ...]
    kept: dict[str, str]
    users: int
    assistants: int
    messages: int
    roots: int
    compactions: int
    old_clients: tuple[Loss, ...]


class CheckedFile(Struct, frozen=True):
    """One file and its findings."""

    path: str
    session_id: str | None
    findings: list[Finding]
    requests: RequestCheck | None
    resumable: ResumeCheck | None = None

    @property
    def is_refused(self) -> bool:
        """True if the file was checked for resuming and can't be resumed."""
        return self.resumable is not None and not self.resumable.ok

    def count_findings(self, severity: str) -> int:
        """Count the kinds of findings that have the given severity."""
        return sum(finding.severity == severity for finding in self.findings)


class FormatNews(Struct, frozen=True):
    """An unknown type or field, counted across all files."""

    kind: str
    path: str
    count: int
    version: str | None
    """The first version of Claude Code that wrote it."""
    files: int


class CheckSummary(Struct, frozen=True):
    """The number of findings and the number of files that have them."""

    files: int
    errors: int
    warnings: int
    infos: int


class CheckReport(Struct, frozen=True):
    """The findings in the files that were checked."""

    files: list[CheckedFile]
    drift: list[FormatNews]
    """Types and fields that are unknown to this version of turnlog."""
    summary: CheckSummary

    @property
    def is_sound(self) -> bool:
        """True if there are no errors and every file that was checked for resuming can be resumed."""
        return not self.summary.errors and not any(file.is_refused for file in self.files)


@list_folders_once()
def check_session(
    session: str | Path,
    *further: str | Path,
    requests: bool = False,
    resumable: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Check session files, or all `.jsonl` files below a folder; an unreadable file is reported as a finding.

    `requests` compares the rebuilt messages with the requests that a file records; `resumable` checks whether Claude
    Code and the API would continue the session.
    """
    paths = _find_files((session, *further), config or load_config(), notify)
    files = []
    for number, path in enumerate(paths):
        if progress and len(paths) > 1:
            progress(number, len(paths))
        files.append(check_session_file(path, requests, resumable))
    if progress and len(paths) > 1:
        progress(len(paths), len(paths))
    counts = (sum(file.count_findings(severity) for file in files) for severity in ("error", "warning", "info"))
    return CheckReport(files, collect_format_news(files), CheckSummary(len(files), *counts))


def check_session_file(path: Path, requests: bool = False, resumable: bool = False) -> CheckedFile:
    """Check one file."""
    try:
        with Session.open(path) as session:
            return CheckedFile(
                str(path),
                session.session_id,
                check(session, requests=requests),
                _to_request_check(prove_session_requests(session)) if requests else None,
                _judge_resumability(session) if resumable else None,
            )
    except TurnlogError as error:
        return CheckedFile(str(path), None, [Finding("unreadable", "error", str(error), 1)], None)


def _to_request_check(proof: RequestProof | None) -> RequestCheck | None:
    if proof is None:
        return None
    unresolved = [UnresolvedMessage(request, digest) for request, digest in proof.unresolved]
    return RequestCheck(proof.requests, proof.total, proof.rebuilt, proof.blobs, proof.altered, unresolved)


def _judge_resumability(session: Session) -> ResumeCheck:
    found = judge_session(session)
    return ResumeCheck(
        found.is_ok,
        found.resumes,
        found.broken,
        found.kept,
        found.users,
        found.assistants,
        found.messages,
        found.roots,
        found.compactions,
        found.old_clients,
    )


def collect_format_news(files: Iterable[CheckedFile]) -> list[FormatNews]:
    """Collect the unknown types and fields in the files, most frequent first."""
    found: dict[str, list[UnknownItem]] = {}
    for file in files:
        for finding in file.findings:
            if finding.unknown is not None:
                found.setdefault(finding.unknown.path, []).append(finding.unknown)
    summed = [_sum_news(path, seen) for path, seen in found.items()]
    return sorted(summed, key=lambda item: (-item.count, item.path))


def _sum_news(path: str, seen: list[UnknownItem]) -> FormatNews:
    versions = sorted((item.version for item in seen if item.version), key=parse_version)
    first = versions[0] if versions else None
    return FormatNews(seen[0].kind, path, sum(item.count for item in seen), first, len(seen))


def _find_files(names: Sequence[str | Path], config: Config, notify: Notify | None) -> list[Path]:
    """Find the files that the names refer to, without duplicates."""
    folders = {name: Path(os.path.expanduser(name)) for name in names}  # noqa: PTH111 - Path raises for ~nobody
    sessions = [name for name in names if not folders[name].is_dir()]
    located = dict(zip(sessions, locate_sessions(sessions, config, notify), strict=True))
    found = (path for name in names for path in ([located[name]] if name in located else _list_folder(folders[name])))
    return list(dict.fromkeys(found))


def _is_transcript(path: Path) -> bool:
    """Return whether a file may be a session's or a sub-agent's; a session's folder also has outputs and journals."""
    is_in_session = any(is_session_id(folder.name) for folder in path.parents)
    return path.name.startswith("agent-") if is_in_session else path.name != "history.jsonl"


def _list_folder(folder: Path) -> list[Path]:
    """List the transcripts in a folder, without Claude Code's prompt history and the other files of sessions."""
    found = sorted(path for path in folder.rglob("*.jsonl") if path.is_file() and _is_transcript(path))
    if not found:
        raise NotFound(f"{folder}: no .jsonl files in this folder or its subfolders")
    return found
