"""What `turnlog export` says when it is done: what was written, what was left out, which secrets were replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.cli.output import print_json, print_lines, print_remark
from turnlog.cli.terminal import to_visible_line
from turnlog.cli.time_format import format_size
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.cli.export.export_options import ExportOptions
    from turnlog.redact.redaction_report import RedactionReport

_MAX_LISTED_SKIPS = 5


class ExportedSession(NamedTuple):
    """A session that was exported."""

    session_id: str | None
    title: str
    file: Path | None
    """None where it has no file of its own."""


class SkippedSession(NamedTuple):
    """A session that could not be exported."""

    path: Path
    reason: str


class ExportResult(NamedTuple):
    """What was done."""

    goal: Path | None
    """The file or folder; None for standard output."""
    bytes: int
    sessions: list[ExportedSession]
    skipped: list[SkippedSession]
    report: RedactionReport | None
    """What was redacted; None where nothing was looked for."""


def print_export_result(done: ExportResult, wish: ExportOptions) -> None:
    """Say it to people or to programs."""
    if wish.as_json:
        print_json(to_export_document(done, wish))
        return
    for item in done.skipped[:_MAX_LISTED_SKIPS]:
        print_remark(f"Left out: {item.reason}")
    if len(done.skipped) > _MAX_LISTED_SKIPS:
        print_remark(f"… and {len(done.skipped) - _MAX_LISTED_SKIPS:,} more sessions (--json lists them all)")
    lines = list(_render_result(done, wish))
    if wish.is_piped:
        for text in lines:
            print_remark(text)
    else:
        print_lines(map(to_visible_line, lines))


def _render_result(done: ExportResult, wish: ExportOptions) -> Iterator[str]:
    if done.goal is not None:
        many = f"{format_count(len(done.sessions), 'session')}, " if wish.is_many else ""
        yield f"Written to {done.goal} ({many}{format_size(done.bytes)})"
        pages = done.goal.with_name(f"{done.goal.stem}-pages")
        if wish.format == "html" and not wish.is_many and pages.is_dir():
            yield f"It is long: its other pages stand in {pages}; the two belong together (--one-file writes one)"
    if done.report is not None:
        rules = ", ".join(f"{name} {found.found:,}" for name, found in done.report.rules.items())
        times = f"{format_count(done.report.replacement_count, 'time')} ({rules})" if rules else "never"
        yield f"Secrets replaced by marks: {times}. Rules know the forms of well-known secrets only; look yourself"
        if wish.build_choice().wishes.pictures:
            yield "Images and documents were not looked into; --no-images leaves them out"


def to_export_document(done: ExportResult, wish: ExportOptions) -> dict[str, Any]:
    """The same for programs."""
    return {
        "format": wish.format,
        "output": str(done.goal),
        "bytes": done.bytes,
        "sessions": [
            {"session_id": item.session_id, "title": item.title, "file": str(item.file) if item.file else None}
            for item in done.sessions
        ],
        "skipped": [{"path": str(item.path), "reason": item.reason} for item in done.skipped],
        "redaction": None if done.report is None else _to_redaction_document(done.report),
    }


def _to_redaction_document(report: RedactionReport) -> dict[str, Any]:
    rules = [{"rule": name, "times": found.found, "secrets": found.secrets} for name, found in report.rules.items()]
    return {"found": report.replacement_count, "rules": rules}
