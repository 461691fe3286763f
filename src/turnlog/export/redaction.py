"""Redacted copies of sessions; exports are made from these copies, so that no format can miss a secret.

Everything to export is read twice: a secret that a rule finds once is then replaced everywhere, including in earlier
places. The copies are in a folder that only the user can read, and are deleted when the export is done.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.entries.agents import list_agent_files, read_agent_meta
from turnlog.entries.entry import Body, Entry, Scrap
from turnlog.entries.line_decoder import decode_body
from turnlog.entries.patch import encode_json_line
from turnlog.entries.reader import Transcript
from turnlog.errors import BrokenPlugin, TurnlogError
from turnlog.redact.redaction_report import RedactionReport
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules

ByteProgress = Callable[[int, int], object]
"""Called with the number of finished bytes and the total; each byte counts twice."""


class ExportRedaction:
    """Redacts the sessions of one export; the same secret gets the same placeholder in all of them."""

    def __init__(self, rules: SecretRules, told: ByteProgress | None = None) -> None:
        self._redactor = Redactor(rules)
        self._report_progress = told
        self._done = self._total = 0

    def build_report(self) -> RedactionReport:
        """Report what has been replaced so far."""
        return self._redactor.build_report()

    @property
    def known_forms(self) -> int:
        """How many forms of secrets are known, which only grows; what was redacted before may contain the newest."""
        return self._redactor.known_forms

    def text(self, text: str) -> str:
        """Redact the known secrets in text such as a path, without counting them."""
        return self._redactor.make_rehearsal().redact_text(text)

    def redact_line(self, line: bytes) -> bytes:
        """Redact one line of a session file, without counting; call `learn_secrets` first."""
        redactor = self._redactor.make_rehearsal()
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):
            return redactor.redact_file_data(line)
        return encode_json_line(redactor.redact_entry_body(body)) if isinstance(body, dict) else b""

    def redact_data(self, data: bytes) -> bytes:
        """Redact the content of a file, without counting; call `learn_secrets` first."""
        return self._redactor.make_rehearsal().redact_file_data(data)

    def learn_secrets(self, paths: list[Path]) -> None:
        """Collect every secret in the given sessions and their sub-agents."""
        first = self._redactor.make_rehearsal()
        files = [file for path in paths for file in _iter_files(path)]
        self._total = 2 * sum(file.stat().st_size for file in files if file.is_file())
        for file in files:
            try:
                for _ in self._redact_file(file, first):
                    pass
            except BrokenPlugin:
                raise
            except (TurnlogError, OSError):
                continue  # copying this file fails for the same reason, and that is reported

    @contextmanager
    def copy_redacted(self, path: Path) -> Iterator[Path]:
        """Provide a redacted copy of a session with its sub-agents; call `learn_secrets` first."""
        with tempfile.TemporaryDirectory(prefix="turnlog-export-") as folder:
            for file in _iter_files(path):
                goal = Path(folder) / file.relative_to(path.parent)
                goal.parent.mkdir(parents=True, exist_ok=True)
                with goal.open("wb") as out:
                    out.writelines(self._redact_file(file, self._redactor))
            yield Path(folder) / path.name

    def _redact_file(self, path: Path, redactor: Redactor) -> Iterator[bytes]:
        if path.suffix != ".jsonl":
            yield encode_json_line(redactor.redact_value(read_agent_meta(path)))
            return
        file = Transcript.open(path)
        try:
            for number, item in enumerate(file.items, 1):
                yield _redact_line(file, item, number, redactor)
                self._done += item.size
                if self._report_progress and self._done < self._total:
                    self._report_progress(self._done, self._total)
        finally:
            file.close()
            if self._report_progress:
                self._report_progress(self._total, self._total)  # clears the progress line


def _iter_files(path: Path) -> Iterator[Path]:
    yield path
    for agent in list_agent_files(path):
        yield agent.path
        if agent.meta_path is not None:
            yield agent.meta_path


def _redact_line(file: Transcript, item: Entry | Scrap, number: int, redactor: Redactor) -> bytes:
    """Redact a line; bytes that are not an entry are kept only if they contain no secret."""
    if isinstance(item, Scrap):
        return redact_scrap(file.read_raw(item), redactor)
    raw = file.read_raw(item)
    if redactor.is_settled(raw):
        return raw
    body = decode_body(raw)
    new = redactor.redact_entry_body(body, number, raw=raw)
    return encode_json_line(drop_stale_signatures(new, body)) + b"\n"


def redact_scrap(raw: bytes, redactor: Redactor) -> bytes:
    """Return bytes that are not an entry as a line, or an empty line if they contain a secret."""
    visible = raw.replace(b"\0", b" ")
    return raw.rstrip(b"\r\n") + b"\n" if redactor.redact_file_data(visible) == visible else b"\n"


def drop_stale_signatures(new: Body, old: Body) -> Body:
    """Remove the signature of thinking whose text changed, because it would no longer match."""
    message, before = new.get("message"), old.get("message")
    if not isinstance(message, dict) or not isinstance(before, dict) or not isinstance(message.get("content"), list):
        return new
    pairs = zip(message["content"], before["content"], strict=True)
    blocks = [{**block, "signature": ""} if _is_changed(block, original) else block for block, original in pairs]
    return {**new, "message": {**message, "content": blocks}}


def _is_changed(block: object, original: object) -> bool:
    return isinstance(block, dict) and "signature" in block and block.get("type") == "thinking" and block != original
