"""Human-readable output of `turnlog check`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.api.checks import CheckedFile, CheckReport, FormatNews, RequestCheck, ResumeCheck
    from turnlog.session.check import Finding

_SEVERITY_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}
_SEVERITY_TITLES = {"error": "Errors", "warning": "Warnings", "info": "Notes"}
_MAX_LISTED_LINES = 5
_SEPARATE_KINDS = {"drift", "requests"}
"""Kinds that have their own table or line in the report."""


def render_check_report(report: CheckReport, screen: TerminalScreen, requests: bool = False) -> Iterator[str]:
    if len(report.files) == 1:
        yield from _render_one(report.files[0], screen)
    else:
        yield from _render_many(report.files)
    for file in report.files:
        if file.resumable is not None:
            yield from _render_resumability(file, file.resumable, screen)
    if requests:
        yield _describe_proofs(file.requests for file in report.files)
    if report.drift:
        yield ""
        yield screen.paint("New in the format: types and fields that this version of turnlog does not know", "bold")
        yield from _render_table([_build_news_row(item) for item in report.drift], "rl")
    yield ""
    yield _render_verdict(report, screen)


def _render_many(files: list[CheckedFile]) -> Iterator[str]:
    damaged = [file for file in files if file.count_findings("error") or file.count_findings("warning")]
    if damaged:
        yield from _render_table([("errors", "warnings", "file"), *map(_build_file_row, damaged)], "rr")
        yield ""
        yield from _render_table([("files", "places", "", "what"), *_list_kinds(files)], "rr")


def _list_kinds(files: list[CheckedFile]) -> list[tuple[str, ...]]:
    """List each kind of error and warning with the number of files and places in which it occurs."""
    found: dict[tuple[str, str], tuple[set[str], int, str]] = {}
    for file in files:
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


def _render_verdict(report: CheckReport, screen: TerminalScreen) -> str:
    errors, warnings = report.summary.errors, report.summary.warnings
    sound = sum(not file.count_findings("error") and not file.count_findings("warning") for file in report.files)
    counts = f"{format_count(errors, 'error')}, {format_count(warnings, 'warning')}"
    where = f" in {format_count(len(report.files), 'file')}, {sound:,} of them sound" if len(report.files) > 1 else ""
    style = "red" if errors else "yellow" if warnings else "green"
    return screen.paint(counts + where, style)


def _render_one(file: CheckedFile, screen: TerminalScreen) -> Iterator[str]:
    """Render the findings in one file, the most severe first."""
    yield screen.paint(to_visible_line(file.path), "bold")
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


def _render_resumability(file: CheckedFile, found: ResumeCheck, screen: TerminalScreen) -> Iterator[str]:
    """Render whether a file can be resumed, and what prevents it."""
    verdict = "can be resumed" if found.ok else "can be resumed, with losses" if found.resumes else "can't be resumed"
    style = "green" if found.ok else "red"
    yield ""
    messages = format_count(found.messages, "message")
    yield screen.paint(f"{to_visible_line(PurePath(file.path).name)} {verdict}: {messages} would be sent", style)
    for rule in found.broken:
        times = f" ({rule.count:,} times)" if rule.count > 1 else ""
        yield screen.paint(
            f"  {rule.severity}: {to_visible_line(rule.text)}{times}  [{rule.name}]", _SEVERITY_STYLES[rule.severity]
        )
    for loss in found.old_clients:
        yield f"  Claude Code up to {loss.version} loses {loss.text} ({loss.count:,})  [{loss.kind}]"


def _describe_proofs(proofs: Iterable[RequestCheck | None]) -> str:
    known = [proof for proof in proofs if proof is not None]
    requests, total = sum(proof.requests for proof in known), sum(proof.messages for proof in known)
    if not requests:
        return "\nRequests: none recorded; only the newest versions of Claude Code record them."
    share = f"{sum(proof.rebuilt + proof.blobs for proof in known):,} of {total:,} recorded messages resolved"
    whole, altered = sum(proof.blobs for proof in known), sum(proof.altered for proof in known)
    changed = f" {altered:,} are recorded in full, but their text was changed later." if altered else ""
    return f"\nRequests: {requests:,}; {share}, {whole:,} of them recorded in full.{changed}"


def _build_file_row(file: CheckedFile) -> tuple[str, ...]:
    return f"{file.count_findings('error'):,}", f"{file.count_findings('warning'):,}", to_visible_line(file.path)


def _build_news_row(item: FormatNews) -> tuple[str, ...]:
    since = f"first in {to_visible_line(item.version)}" if item.version else ""
    return f"{item.count:,} ×", f"{item.kind} {to_visible_line(item.path)}", since, format_count(item.files, "file")


def _render_table(rows: list[tuple[str, ...]], sides: str) -> Iterator[str]:
    """Render rows in columns; `r` in `sides` aligns a column to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            text.rjust(size) if sides[column : column + 1] == "r" else text.ljust(size)
            for column, (text, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
