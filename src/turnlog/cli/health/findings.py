"""Findings about session files, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from turnlog.cli.terminal import Screen, line
from turnlog.entries.drift import Unknown
from turnlog.errors import TurnlogError
from turnlog.render.figures import count
from turnlog.session.health.check import Finding, check, proof_of
from turnlog.session.health.resumable import Verdict, verdict
from turnlog.session.resume.requests import Proof
from turnlog.session.session import Session

_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
_TITLES = {"error": "Errors", "warning": "Warnings", "info": "Notes"}
_LINES_NAMED = 5
_TOLD_BELOW = {"drift", "requests"}
"""These have a table or a line of their own."""


class Checked(msgspec.Struct, frozen=True):
    """One file and what was found in it."""

    path: Path
    session_id: str | None
    findings: list[Finding]
    requests: Proof | None
    resumable: Verdict | None = None

    @property
    def is_refused(self) -> bool:
        """Whether it was to be resumable and is not."""
        return self.resumable is not None and not self.resumable.ok

    def count(self, severity: str) -> int:
        """How many kinds of findings there are of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


class News(msgspec.Struct, frozen=True):
    """Something unknown, over all files."""

    kind: str
    path: str
    count: int
    version: str | None
    """The first version of the client that wrote it."""
    files: int


def inspect(path: Path, requests: bool = False, resumable: bool = False) -> Checked:
    """Check one file; one that can't be read is a finding like any other."""
    try:
        with Session.open(path) as session:
            return Checked(
                path,
                session.session_id,
                check(session, requests=requests),
                proof_of(session) if requests else None,
                verdict(session) if resumable else None,
            )
    except TurnlogError as error:
        return Checked(path, None, [Finding("unreadable", "error", str(error), 1)], None)


def news(files: Iterable[Checked]) -> list[News]:
    """What is unknown in the files, the most frequent first."""
    found: dict[str, list[Unknown]] = {}
    for file in files:
        for finding in file.findings:
            if finding.unknown is not None:
                found.setdefault(finding.unknown.path, []).append(finding.unknown)
    summed = [_summed(path, seen) for path, seen in found.items()]
    return sorted(summed, key=lambda item: (-item.count, item.path))


def _summed(path: str, seen: list[Unknown]) -> News:
    from turnlog.session.messages import version_key

    versions = sorted((item.version for item in seen if item.version), key=version_key)
    first = versions[0] if versions else None
    return News(seen[0].kind, path, sum(item.count for item in seen), first, len(seen))


class Report:
    """What was found in some files."""

    def __init__(self, files: list[Checked]) -> None:
        self.files = files
        self.news = news(files)

    def count(self, severity: str) -> int:
        """How many kinds of findings of a severity there are in all files."""
        return sum(file.count(severity) for file in self.files)

    def document(self) -> dict[str, Any]:
        """The report as a JSON document."""
        names = {"error": "errors", "warning": "warnings", "info": "infos"}
        return {
            "files": [_file(file) for file in self.files],
            "drift": [msgspec.structs.asdict(item) for item in self.news],
            "summary": {"files": len(self.files)} | {names[key]: self.count(key) for key in names},
        }

    def lines(self, screen: Screen, requests: bool = False) -> Iterator[str]:
        """The report for people."""
        if len(self.files) == 1:
            yield from _one(self.files[0], screen)
        else:
            yield from self._many(screen)
        for file in self.files:
            if file.resumable is not None:
                yield from _judged(file, file.resumable, screen)
        if requests:
            yield _proved(file.requests for file in self.files)
        if self.news:
            yield ""
            yield screen.paint("News of the format: what this version of turnlog has not heard of", "bold")
            yield from _table([_news_row(item) for item in self.news], "rl")
        yield ""
        yield self._verdict(screen)

    def _many(self, screen: Screen) -> Iterator[str]:
        told = [file for file in self.files if file.count("error") or file.count("warning")]
        if told:
            yield from _table([("errors", "warnings", "file"), *map(_file_row, told)], "rr")
            yield ""
            yield from _table([("files", "places", "", "what"), *self._kinds()], "rr")

    def _kinds(self) -> list[tuple[str, ...]]:
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
            (f"{len(paths):,}", f"{places:,}", severity, f"{kind}: {line(text)}")
            for (severity, kind), (paths, places, text) in rows
        ]

    def _verdict(self, screen: Screen) -> str:
        errors, warnings = self.count("error"), self.count("warning")
        sound = sum(not file.count("error") and not file.count("warning") for file in self.files)
        said = f"{count(errors, 'error')}, {count(warnings, 'warning')}"
        where = f" in {count(len(self.files), 'file')}, {sound:,} of them sound" if len(self.files) > 1 else ""
        style = "red" if errors else "yellow" if warnings else "green"
        return screen.paint(said + where, style)


def _one(file: Checked, screen: Screen) -> Iterator[str]:
    """The findings of one file, the gravest first."""
    yield screen.paint(line(str(file.path)), "bold")
    for severity, title in _TITLES.items():
        findings = [f for f in file.findings if f.severity == severity and f.kind not in _TOLD_BELOW]
        if findings:
            yield ""
            yield screen.paint(title, _STYLES[severity])
            yield from (_finding(finding) for finding in findings)


def _finding(finding: Finding) -> str:
    numbers = list(dict.fromkeys(place.line for place in finding.places if place.line))
    where = ""
    if numbers:
        named = ", ".join(map(str, numbers[:_LINES_NAMED]))
        more = " …" if len(numbers) > _LINES_NAMED or finding.count > len(finding.places) else ""
        where = f"{'line' if len(numbers) == 1 else 'lines'} {named}{more}: "
    times = f" ({finding.count:,} times)" if finding.count > 1 else ""
    return f"  {where}{line(finding.text)}{times}  [{line(finding.kind)}]"


def _judged(file: Checked, found: Verdict, screen: Screen) -> Iterator[str]:
    """Whether a file can be resumed, and what stands against it."""
    said = "can be resumed" if found.ok else "can be resumed, but not as it should" if found.resumes else "is refused"
    style = "green" if found.ok else "red"
    yield ""
    yield screen.paint(f"{line(file.path.name)} {said}: {count(found.messages, 'message')} would be sent", style)
    for rule in found.broken:
        times = f" ({rule.count:,} times)" if rule.count > 1 else ""
        yield screen.paint(f"  {rule.severity}: {line(rule.text)}{times}  [{rule.name}]", _STYLES[rule.severity])
    for loss in found.old_clients:
        yield f"  clients up to {loss.version} lose {loss.text} ({loss.count:,})  [{loss.kind}]"


def _proved(proofs: Iterable[Proof | None]) -> str:
    known = [proof for proof in proofs if proof is not None]
    requests, total = sum(proof.requests for proof in known), sum(proof.total for proof in known)
    if not requests:
        return "\nRequests: none recorded; the newest clients write them down."
    share = f"{sum(proof.resolved for proof in known):,} of {total:,} recorded messages resolved"
    whole, altered = sum(proof.blobs for proof in known), sum(proof.altered for proof in known)
    changed = f" {altered:,} are written whole, but their text was changed since." if altered else ""
    return f"\nRequests: {requests:,}; {share}, {whole:,} of them written whole.{changed}"


def _file_row(file: Checked) -> tuple[str, ...]:
    return f"{file.count('error'):,}", f"{file.count('warning'):,}", line(str(file.path))


def _news_row(item: News) -> tuple[str, ...]:
    since = f"first in {line(item.version)}" if item.version else ""
    return f"{item.count:,} ×", f"{item.kind} {line(item.path)}", since, count(item.files, "file")


def _table(rows: list[tuple[str, ...]], sides: str) -> Iterator[str]:
    """Rows in columns; `sides` says which columns stand to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            text.rjust(size) if sides[column : column + 1] == "r" else text.ljust(size)
            for column, (text, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _file(file: Checked) -> dict[str, Any]:
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
        "resumable": None if file.resumable is None else _resumable(file.resumable),
    }


def _resumable(found: Verdict) -> dict[str, Any]:
    return {
        "ok": found.ok,
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
