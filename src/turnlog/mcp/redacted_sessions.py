"""Opens sessions without their secrets: everything that an agent reads comes from redacted copies.

A secret that a rule finds once is replaced everywhere, in every session that was read since the server started. The
copies are in a folder that only the user can read, and are deleted when the server stops.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from turnlog.api.config import Config
from turnlog.entries.agents import list_agent_files
from turnlog.entries.file_stamp import FileStamp, to_file_stamp
from turnlog.entries.layout import scan_folder
from turnlog.errors import TurnlogError, Unreadable
from turnlog.export.redaction import ByteProgress, ExportRedaction
from turnlog.redact.key_blocks import MIN_KNOWN_KEY_LINE_CHARS
from turnlog.redact.plausibility import has_letters_and_digits
from turnlog.redact.rules import SecretRules
from turnlog.redact.secret_ledger import MIN_KNOWN_SECRET_CHARS, is_unmistakable
from turnlog.session.session import Session

_MAX_OPEN_SESSIONS = 8
_MAX_NUMBERED_SESSIONS = 200
_PIECE_BYTES = 8 << 20
_LABEL_WORD = re.compile(r"[^\s/\\]+")
_UNUSUAL_MARK = re.compile(r"[^\w\s./:,;'’\"`()\[\]-]")
"""What hardly occurs in names of files and in titles."""

FileStates = tuple[tuple[str, FileStamp], ...]
"""The path, size and time of each file of a session."""


class OpenCopy(NamedTuple):
    """An open session, and what its files looked like when it was read."""

    session: Session
    states: FileStates
    stack: contextlib.ExitStack


class TurnNumbers(NamedTuple):
    """The number of the turn that each entry of a session belongs to."""

    states: FileStates
    by_uuid: dict[str, int]


class RedactedSessions:
    """The sessions that were read last."""

    def __init__(self, config: Config, *, redact: bool = True) -> None:
        self._gap = timedelta(minutes=config.gap_minutes)
        self._redaction = ExportRedaction(SecretRules(), self._report_progress) if redact else None
        self.progress: ByteProgress | None = None
        """Called while a session is read for its secrets."""
        self._copies: OrderedDict[Path, OpenCopy] = OrderedDict()
        self._learned: dict[Path, FileStates] = {}
        self._turn_numbers: OrderedDict[Path, TurnNumbers] = OrderedDict()

    def open_session(self, path: Path) -> Session:
        """Open a session; the copy stays open for the next calls, until its files change."""
        states = _read_states(path)
        known = self._copies.pop(path, None)
        if known and known.states != states:
            known.stack.close()
            known = None
        self._copies[path] = known or self._copy_session(path, states)
        while len(self._copies) > _MAX_OPEN_SESSIONS:
            self._copies.popitem(last=False)[1].stack.close()
        return self._copies[path].session

    def learn_secrets(self, path: Path) -> FileStates:
        """Collect the secrets of a session, so that they are replaced in any text; return what its files look like."""
        states = _read_states(path)
        if self._redaction and self._learned.get(path) != states:
            self._redaction.learn_secrets([path])
            for output in _list_outputs(path):
                self._learn_output(output)
            self._learned[path] = states
        return states

    def _learn_output(self, path: Path) -> None:
        """Collect the secrets in a result that was too large for the transcript."""
        with contextlib.suppress(OSError), path.open("rb") as file:
            while piece := b"".join(file.readlines(_PIECE_BYTES)):
                self.redact_data(piece)

    def learn_lines(self, lines: Iterable[bytes]) -> None:
        """Collect the secrets of a session whose files only the archive has."""
        for line in lines:
            self.redact_line(line)

    @property
    def known_forms(self) -> int:
        """How many forms of secrets are known; what was redacted when there were fewer may contain the newest."""
        return self._redaction.known_forms if self._redaction else 0

    def find_turn_number(self, path: Path, uuid: str) -> int | None:
        """Return the number of the turn that an entry belongs to; the numbers of many sessions are kept in memory."""
        states = _read_states(path)
        known = self._turn_numbers.pop(path, None)
        if known is None or known.states != states:
            with Session.open(path, gap=self._gap) as session:
                turns = ((entry.uuid, session.find_turn(entry)) for entry in session.entries)
                known = TurnNumbers(states, {name: turn.number for name, turn in turns if name and turn})
        self._turn_numbers[path] = known
        while len(self._turn_numbers) > _MAX_NUMBERED_SESSIONS:
            self._turn_numbers.popitem(last=False)
        return known.by_uuid.get(uuid)

    def redact_text(self, text: str) -> str:
        """Replace known secrets, and those that the rules find."""
        return self._redaction.text(text) if self._redaction else text

    def redact_label(self, text: str, paths: Iterable[Path]) -> str:
        """Replace secrets in a title or a path from the index.

        The sessions that it comes from are read only if one of their secrets may be in it: reading all sessions of a
        list would take minutes.
        """
        for path in paths if self._redaction else ():
            with contextlib.suppress(TurnlogError):  # a deleted session has no text left to tell its secrets
                if _may_hold_secret(text, path):
                    self.learn_secrets(path)
        return self.redact_text(text)

    def redact_line(self, line: bytes) -> bytes:
        """Replace the secrets in one line of a session file."""
        return self._redaction.redact_line(line) if self._redaction else line

    def redact_data(self, data: bytes) -> bytes:
        """Replace the secrets in the content of a file."""
        return self._redaction.redact_data(data) if self._redaction else data

    def close(self) -> None:
        """Close all sessions and delete the copies."""
        while self._copies:
            self._copies.popitem()[1].stack.close()

    def _report_progress(self, done: int, total: int) -> None:
        if self.progress:
            self.progress(done, total)

    def _copy_session(self, path: Path, states: FileStates) -> OpenCopy:
        self.learn_secrets(path)
        with contextlib.ExitStack() as stack:
            copy = stack.enter_context(self._redaction.copy_redacted(path)) if self._redaction else path
            session = stack.enter_context(Session.open(copy, gap=self._gap))
            return OpenCopy(session, states, stack.pop_all())


def _may_hold_secret(text: str, path: Path) -> bool:
    """Return whether text may contain a secret that only the rest of its session reveals (see `redact.redactor`)."""
    if any(len(word) >= MIN_KNOWN_KEY_LINE_CHARS for word in text.split()):
        return True
    if len(text) >= MIN_KNOWN_SECRET_CHARS and has_letters_and_digits(text):
        return True
    words = [word for word in _LABEL_WORD.findall(text) if is_unmistakable(word)]
    if any(map(_UNUSUAL_MARK.search, words)):
        return True
    # Names are often several words joined by a mark, so one is read about only if it stands where a value does.
    return bool(words) and _is_value(words, path)


def _is_value(words: list[str], path: Path) -> bool:
    """Return whether a session contains one of these words behind an equals sign, a colon or the like."""
    choices = "|".join(re.escape(json.dumps(word, ensure_ascii=False)[1:-1]) for word in words)
    pattern = re.compile(
        rf"""(?:[=:]|\bis|\s-\w|to)[\s\\"'`]*(?:{choices})""".encode("utf-8", "replace"), re.IGNORECASE
    )
    try:
        return pattern.search(path.read_bytes()) is not None
    except OSError:
        return False


def _list_outputs(path: Path) -> list[Path]:
    """List the results of a session that were too large for its transcript."""
    found = scan_folder(path.with_suffix("") / "tool-results")
    return [Path(item.path) for item in found if item.is_file(follow_symlinks=False)]


def _read_states(path: Path) -> FileStates:
    try:
        files = [path, *(agent.path for agent in list_agent_files(path)), *_list_outputs(path)]
        states = [(str(file), file.stat()) for file in files]
    except OSError as error:
        raise Unreadable(f"{path.stem}: {error.strerror}; the session can't be read now") from None
    return tuple((name, to_file_stamp(status)) for name, status in states)
