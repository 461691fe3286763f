"""What `turnlog export` says when it is done: what was written, what was left out, which secrets were replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.cli.output import dump, remark, say
from turnlog.cli.terminal import line
from turnlog.cli.when import size
from turnlog.render.figures import count

if TYPE_CHECKING:
    from turnlog.cli.export.wish import Wish
    from turnlog.redact.report import Report

_LISTED = 5


class Written(NamedTuple):
    """A session that was exported."""

    session_id: str | None
    title: str
    file: Path | None
    """None where it has no file of its own."""


class Skipped(NamedTuple):
    """A session that could not be exported."""

    path: Path
    reason: str


class Exported(NamedTuple):
    """What was done."""

    goal: Path | None
    """The file or folder; None for standard output."""
    bytes: int
    sessions: list[Written]
    skipped: list[Skipped]
    report: Report | None
    """What was redacted; None where nothing was looked for."""


def tell(done: Exported, wish: Wish) -> None:
    """Say it to people or to programs."""
    if wish.as_json:
        dump(document(done, wish))
        return
    for item in done.skipped[:_LISTED]:
        remark(f"Left out: {item.reason}")
    if len(done.skipped) > _LISTED:
        remark(f"… and {len(done.skipped) - _LISTED:,} more sessions (--json lists them all)")
    lines = list(_lines(done, wish))
    if wish.to_pipe:
        for text in lines:
            remark(text)
    else:
        say(map(line, lines))


def _lines(done: Exported, wish: Wish) -> Iterator[str]:
    if done.goal is not None:
        many = f"{count(len(done.sessions), 'session')}, " if wish.is_many else ""
        yield f"Written to {done.goal} ({many}{size(done.bytes)})"
        pages = done.goal.with_name(f"{done.goal.stem}-pages")
        if wish.format == "html" and not wish.is_many and pages.is_dir():
            yield f"It is long: its other pages stand in {pages}; the two belong together (--one-file writes one)"
    if done.report is not None:
        rules = ", ".join(f"{name} {found.found:,}" for name, found in done.report.rules.items())
        times = f"{count(done.report.found, 'time')} ({rules})" if rules else "never"
        yield f"Secrets replaced by marks: {times}. Rules know the forms of well-known secrets only; look yourself"
        if wish.choice().wishes.pictures:
            yield "Images and documents were not looked into; --no-images leaves them out"


def document(done: Exported, wish: Wish) -> dict[str, Any]:
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
        "redaction": None if done.report is None else _redaction(done.report),
    }


def _redaction(report: Report) -> dict[str, Any]:
    rules = [{"rule": name, "times": found.found, "secrets": found.secrets} for name, found in report.rules.items()]
    return {"found": report.found, "rules": rules}
