"""One session: its description, its messages as the API would receive them, and its file piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify, locate_session, open_session
from turnlog.entries.entry import FLAW_DESCRIPTIONS, Entry, Scrap
from turnlog.entries.file_ends import read_lines
from turnlog.entries.reader import RawItem, scan_lines
from turnlog.errors import Refused, Unreadable
from turnlog.session.session import Session
from turnlog.session.session_summary import SessionSummary, summarize_session

_READ_BYTES = 1 << 20


class RedactedSession(NamedTuple):
    """A copy of a session without secrets, and the path of the original."""

    session: Session
    copied_folder: str
    original_folder: str
    """The folder of the original, with secrets replaced."""


class MessageList(Struct, frozen=True):
    """What the Messages API would receive if a session were resumed."""

    messages: list[dict[str, Any]]


class FilePiece(Struct, frozen=True):
    """A piece of a file: an entry, or data that is not an entry."""

    line: int
    offset: int
    size: int
    kind: str
    """The type of the entry, with its subtype or kind; in parentheses if it is not an entry."""
    problem: str
    """The problem with it; empty if there is none."""


def describe_session(
    session: str | Path, *, redact: bool = False, config: Config | None = None, notify: Notify | None = None
) -> SessionSummary:
    """Describe a session: its turns, calls, branches, usage and files, without the text of answers.

    `redact` replaces API keys, tokens and passwords in text and paths with placeholders.
    """
    config = config or load_config()
    if not redact:
        with open_session(session, config, notify) as found:
            return summarize_session(found)
    with open_redacted_session(session, config, notify) as copy:
        summary = summarize_session(copy.session)
        agents = [replace(agent, path=_to_original_path(agent.path, copy)) for agent in summary.agents]
        return replace(summary, path=_to_original_path(summary.path, copy), agents=agents)


@contextmanager
def open_redacted_session(
    session: str | Path, config: Config | None = None, notify: Notify | None = None
) -> Iterator[RedactedSession]:
    """Open a copy of a session with placeholders for API keys, tokens and passwords; the copy is deleted on exit."""
    from turnlog.export.redaction import ExportRedaction
    from turnlog.redact.rules import SecretRules

    config = config or load_config()
    path = locate_session(session, config, notify)
    redaction = ExportRedaction(SecretRules())
    redaction.learn_secrets([path])
    with (
        redaction.copy_redacted(path) as copy,
        Session.open(copy, gap=timedelta(minutes=config.gap_minutes)) as opened,
    ):
        yield RedactedSession(opened, str(copy.parent), redaction.text(str(path.parent)))


def _to_original_path(path: str | None, copy: RedactedSession) -> str | None:
    if path is None or not path.startswith(copy.copied_folder):
        return path
    return copy.original_folder + path.removeprefix(copy.copied_folder)


def list_messages(
    session: str | Path,
    *,
    leaf: str | None = None,
    as_sent: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> MessageList:
    """Return what the API would receive if a session were resumed now; raise `Refused` if Claude Code can't resume it.

    `leaf` is the entry to resume from (default: the one that Claude Code would choose); `as_sent` includes what Claude
    Code would add.
    """
    with open_session(session, config or load_config(), notify) as found:
        return collect_messages(found, leaf, as_sent=as_sent)


def collect_messages(session: Session, leaf: str | None = None, *, as_sent: bool = False) -> MessageList:
    """Collect what the API would receive if an open session were resumed."""
    try:
        return MessageList(session.conversation(leaf, as_sent=as_sent).messages)
    except Refused as reason:
        raise Refused(f"{session.path}: {reason}") from None


def list_file_pieces(path: str | Path) -> Iterator[FilePiece]:
    """Yield every piece of a file in file order, whether or not it is an entry."""
    with open_raw_file(path) as file:
        yield from explain_pieces(scan_raw_pieces(file))


def open_raw_file(path: str | Path) -> BinaryIO:
    """Open a file for reading piece by piece."""
    try:
        return open(path, "rb", buffering=_READ_BYTES)  # noqa: PTH123 - a path as given, no Path needed
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def scan_raw_pieces(source: BinaryIO) -> Iterator[RawItem]:
    """Yield the pieces of an open file with their bytes, which together equal the file."""
    return scan_lines(read_lines(source) if source.seekable() else source)


def explain_pieces(pieces: Iterator[RawItem]) -> Iterator[FilePiece]:
    """Describe each piece of a file and any problem with it."""
    number = 1
    for item, raw in pieces:
        kind, problem = _explain_piece(item)
        yield FilePiece(number, item.offset, item.size, kind, problem)
        number += raw.endswith(b"\n")


def _explain_piece(item: Entry | Scrap) -> tuple[str, str]:
    if isinstance(item, Scrap):
        return f"({item.kind})", item.reason
    inner = item.kind or next((part.type for part in (item.attachment, item.data) if part and part.type), None)
    return f"{item.name}/{inner}" if inner else item.name, FLAW_DESCRIPTIONS[item.flaw] if item.flaw else ""
