"""Findings about session files, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.entries.drift import UnknownItem
from turnlog.errors import TurnlogError
from turnlog.render.figures import format_count
from turnlog.session.check import Finding, check, prove_session_requests
from turnlog.session.resume.request_proof import RequestProof
from turnlog.session.session import Session

if TYPE_CHECKING:
    from turnlog.edit.illnesses.verdict import Verdict

_SEVERITY_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
_SEVERITY_TITLES = {"error": "Errors", "warning": "Warnings", "info": "Notes"}
_MAX_LISTED_LINES = 5
_SEPARATE_KINDS = {"drift", "requests"}
"""These have a table or a line of their own."""


class CheckedFile(msgspec.Struct, frozen=True):
    """One file and what was found in it."""

    path: Path
    session_id: str | None
    findings: list[Finding]
    requests: RequestProof | None
    resumable: Verdict | None = None

    @property
    def is_refused(self) -> bool:
        """Whether it was to be resumable and is not."""
        return self.resumable is not None and not self.resumable.is_ok

    def count_findings(self, severity: str) -> int:
        """How many kinds of findings there are of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


class FormatNews(msgspec.Struct, frozen=True):
    """Something unknown, over all files."""

    kind: str
    path: str
    count: int
    version: str | None
    """The first version of the client that wrote it."""
    files: int


def check_session_file(path: Path, requests: bool = False, resumable: bool = False) -> CheckedFile:
    """Check one file; one that can't be read is a finding like any other."""
    try:
        with Session.open(path) as session:
            return CheckedFile(
                path,
                session.session_id,
                check(session, requests=requests),
                prove_session_requests(session) if requests else None,
                _judge_resumability(session) if resumable else None,
            )
    except TurnlogError as error:
        return CheckedFile(path, None, [Finding("unreadable", "error", str(error), 1)], None)


def _judge_resumability(session: Session) -> Verdict:
    from turnlog.edit.illnesses.verdict import judge_session  # a check without --resumable starts faster

    return judge_session(session)


def collect_format_news(files: Iterable[CheckedFile]) -> list[FormatNews]:
    """What is unknown in the files, the most frequent first."""
    found: dict[str, list[UnknownItem]] = {}
    for file in files:
        for finding in file.findings:
            if finding.unknown is not None:
                found.setdefault(finding.unknown.path, []).append(finding.unknown)
    summed = [_sum_news(path, seen) for path, seen in found.items()]
    return sorted(summed, key=lambda item: (-item.count, item.path))


def _sum_news(path: str, seen: list[UnknownItem]) -> FormatNews:
    from turnlog.session.usage.message_counts import parse_version

    versions = sorted((item.version for item in seen if item.version), key=parse_version)
    first = versions[0] if versions else None
    return FormatNews(seen[0].kind, path, sum(item.count for item in seen), first, len(seen))


class CheckReport:
    """What was found in some files."""

    def __init__(self, files: list[CheckedFile]) -> None:
        self.files = files
        self.news = collect_format_news(files)

    def count_findings(self, severity: str) -> int:
        """How many kinds of findings of a severity there are in all files."""
        return sum(file.count_findings(severity) for file in self.files)

    def to_document(self) -> dict[str, Any]:
        """The report as a JSON document."""
        names = {"error": "errors", "warning": "warnings", "info": "infos"}
        return {
            "files": [_to_file_document(file) for file in self.files],
            "drift": [msgspec.structs.asdict(item) for item in self.news],
            "summary": {"files": len(self.files)} | {names[key]: self.count_findings(key) for key in names},
        }

    def render_lines(self, screen: TerminalScreen, requests: bool = False) -> Iterator[str]:
        """The report for people."""
        if len(self.files) == 1:
            yield from _render_one(self.files[0], screen)
        else:
            yield from self._render_many(screen)
        for file in self.files:
            if file.resumable is not None:
                yield from _render_resumability(file, file.resumable, screen)
        if requests:
            yield _describe_proofs(file.requests for file in self.files)
        if self.news:
            yield ""
            yield screen.paint("News of the format: what this version of turnlog has not heard of", "bold")
            yield from _render_table([_build_news_row(item) for item in self.news], "rl")
        yield ""
        yield self._render_verdict(screen)

    def _render_many(self, screen: TerminalScreen) -> Iterator[str]:
        told = [file for file in self.files if file.count_findings("error") or file.count_findings("warning")]
        if told:
            yield from _render_table([("errors", "warnings", "file"), *map(_build_file_row, told)], "rr")
            yield ""
            yield from _render_table([("files", "places", "", "what"), *self._list_kinds()], "rr")

    def _list_kinds(self) -> list[tuple[str, ...]]:
        """Each kind of error and warning with the number of its files and places."""
        found: dict[tuple[str, str], tuple[set[Path], int, str]] = {}
        for file in self.files:
            for finding in file.findings:
                if finding.severity != "info":
                    key = (finding.severity, finding.kind)
                    paths, places, text = found.get(key, (set(), 0, finding.text))
                    found[key] = paths | {file.path}, places + finding.count, text
        rows = sorted(found.items(), key=lambda item: (item[0][0], -item[1][1]))
        return [
            (f"{len(paths):,}", f"{places:,}", severity, f"{kind}: {to_visible_line(text)}")
            for (severity, kind), (paths, places, text) in rows
        ]

    def _render_verdict(self, screen: TerminalScreen) -> str:
        errors, warnings = self.count_findings("error"), self.count_findings("warning")
        sound = sum(not file.count_findings("error") and not file.count_findings("warning") for file in self.files)
        said = f"{format_count(errors, 'error')}, {format_count(warnings, 'warning')}"
        where = f" in {format_count(len(self.files), 'file')}, {sound:,} of them sound" if len(self.files) > 1 else ""
        style = "red" if errors else "yellow" if warnings else "green"
        return screen.paint(said + where, style)


def _render_one(file: CheckedFile, screen: TerminalScreen) -> Iterator[str]:
    """The findings of one file, the gravest first."""
    yield screen.paint(to_visible_line(str(file.path)), "bold")
    for severity, title in _SEVERITY_TITLES.items():
        findings = [f for f in file.findings if f.severity == severity and f.kind not in _SEPARATE_KINDS]
        if findings:
            yield ""
            yield screen.paint(title, _SEVERITY_STYLES[severity])
            yield from (_render_finding(finding) for finding in findings)


def _render_finding(finding: Finding) -> str:
    numbers = list(dict.fromkeys(place.line for place in finding.places if place.line))
    where = ""
    if numbers:
        named = ", ".join(map(str, numbers[:_MAX_LISTED_LINES]))
        more = " …" if len(numbers) > _MAX_LISTED_LINES or finding.count > len(finding.places) else ""
        where = f"{'line' if len(numbers) == 1 else 'lines'} {named}{more}: "
    times = f" ({finding.count:,} times)" if finding.count > 1 else ""
    return f"  {where}{to_visible_line(finding.text)}{times}  [{to_visible_line(finding.kind)}]"


def _render_resumability(file: CheckedFile, found: Verdict, screen: TerminalScreen) -> Iterator[str]:
    """Whether a file can be resumed, and what stands against it."""
    said = (
        "can be resumed" if found.is_ok else "can be resumed, but not as it should" if found.resumes else "is refused"
    )
    style = "green" if found.is_ok else "red"
    yield ""
    yield screen.paint(
        f"{to_visible_line(file.path.name)} {said}: {format_count(found.messages, 'message')} would be sent", style
    )
    for rule in found.broken:
        times = f" ({rule.count:,} times)" if rule.count > 1 else ""
        yield screen.paint(
            f"  {rule.severity}: {to_visible_line(rule.text)}{times}  [{rule.name}]", _SEVERITY_STYLES[rule.severity]
        )
    for loss in found.old_clients:
        yield f"  clients up to {loss.version} lose {loss.text} ({loss.count:,})  [{loss.kind}]"


def _describe_proofs(proofs: Iterable[RequestProof | None]) -> str:
    known = [proof for proof in proofs if proof is not None]
    requests, total = sum(proof.requests for proof in known), sum(proof.total for proof in known)
    if not requests:
        return "\nRequests: none recorded; the newest clients write them down."
    share = f"{sum(proof.resolved_count for proof in known):,} of {total:,} recorded messages resolved"
    whole, altered = sum(proof.blobs for proof in known), sum(proof.altered for proof in known)
    changed = f" {altered:,} are written whole, but their text was changed since." if altered else ""
    return f"\nRequests: {requests:,}; {share}, {whole:,} of them written whole.{changed}"


def _build_file_row(file: CheckedFile) -> tuple[str, ...]:
    return f"{file.count_findings('error'):,}", f"{file.count_findings('warning'):,}", to_visible_line(str(file.path))


def _build_news_row(item: FormatNews) -> tuple[str, ...]:
    since = f"first in {to_visible_line(item.version)}" if item.version else ""
    return f"{item.count:,} ×", f"{item.kind} {to_visible_line(item.path)}", since, format_count(item.files, "file")


def _render_table(rows: list[tuple[str, ...]], sides: str) -> Iterator[str]:
    """Rows in columns; `sides` says which columns stand to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            text.rjust(size) if sides[column : column + 1] == "r" else text.ljust(size)
            for column, (text, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _to_file_document(file: CheckedFile) -> dict[str, Any]:
    proof = file.requests
    return {
        "path": str(file.path),
        "session_id": file.session_id,
        "findings": [msgspec.to_builtins(finding) for finding in file.findings],
        "requests": None
        if proof is None
        else {
            "requests": proof.requests,
            "messages": proof.total,
            "rebuilt": proof.rebuilt,
            "blobs": proof.blobs,
            "altered": proof.altered,
            "unresolved": [{"request": request, "hash": digest} for request, digest in proof.unresolved],
        },
        "resumable": None if file.resumable is None else _to_resumable_document(file.resumable),
    }


def _to_resumable_document(found: Verdict) -> dict[str, Any]:
    return {
        "ok": found.is_ok,
        "resumes": found.resumes,
        "broken": [msgspec.to_builtins(rule) for rule in found.broken],
        "kept": found.kept,
        "users": found.users,
        "assistants": found.assistants,
        "messages": found.messages,
        "roots": found.roots,
        "compactions": found.compactions,
        "old_clients": [msgspec.to_builtins(loss) for loss in found.old_clients],
    }
