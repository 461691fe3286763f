"""Redacts a session and all its files, with the same placeholder for the same secret everywhere.

    redactor = Redactor(SecretRules(emails=True))
    first = redactor.make_rehearsal()            first pass: learn every secret in the session
    for body in bodies: first.redact_entry_body(body)
    for body in bodies: write(redactor.redact_entry_body(body, line))
    redactor.build_report()

With only one pass, a secret would remain in text that comes before the place where a rule first finds it. Nothing is
changed in place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable
from functools import partial
from operator import attrgetter
from typing import Any, overload

from turnlog.entries.line_decoder import is_plainly_encoded
from turnlog.redact.base64_text import is_base64_binary
from turnlog.redact.json_walk import JsonPath, JsonWalk, format_json_path
from turnlog.redact.redaction_report import RedactionReport, RedactionTally, SecretPlace
from turnlog.redact.rules import SecretRules
from turnlog.redact.secret_ledger import SecretLedger
from turnlog.redact.secret_rule import SECRET_MARK, FindingRank, SecretFinding, can_have_marks
from turnlog.redact.text_memory import RedactedText, TextMemory
from turnlog.redact.text_view import TextView

JsonValue = Any
_UUID_PATTERN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAX_ROUNDS = 5
"""How many times redacted text is searched again, so that a second redaction finds nothing more."""
_MIN_TEXT_CHARS = 4
"""Shorter text contains no secret."""
_BINARY_TEXTS = (
    (re.compile(rb"[\t\n\r\x20-\x7e]{8,}+"), "ascii"),
    (re.compile(rb"(?:[\t\n\r\x20-\x7e]\0){8,}+"), "utf-16-le"),
)
"""Texts in binary files, and their encodings."""
_UNNAMED_PLACE = SecretPlace("", 0, "")
"""The place of text that is not part of an entry or file."""


class Redactor:
    """Replaces secrets with placeholders and counts them."""

    def __init__(self, rules: SecretRules | None = None, *, ledger: SecretLedger | None = None) -> None:
        self._rules = rules or SecretRules()
        self._ledger = ledger or SecretLedger()
        self._tally = RedactionTally()
        self._memory = TextMemory(self._ledger)
        self._cut_texts = 0
        """How many clean texts would contain a secret if something that splits it were left out."""

    def make_rehearsal(self) -> Redactor:
        """Return a redactor that shares the known secrets but has its own counts, for a first pass or a dry run."""
        return Redactor(self._rules, ledger=self._ledger)

    @property
    def known_forms(self) -> int:
        """How many forms of secrets are known, which only grows."""
        return self._ledger.size

    def learn_secrets(self, value: JsonValue) -> None:
        """Record the secrets in text or a value, as if it had been redacted."""
        self.make_rehearsal().redact_value(value)

    def build_report(self) -> RedactionReport:
        """Report what has been replaced so far."""
        return self._tally.build_report()

    def redact_text(self, text: str) -> str:
        return self._redact_and_count(text, _UNNAMED_PLACE)

    def redact_value(self, value: JsonValue) -> JsonValue:
        """Redact every string in a JSON value, including the keys of objects."""
        return JsonWalk(_RedactingVisitor(self, _UNNAMED_PLACE)).walk_value(value, None, free=True)

    def redact_entry_body(
        self, body: dict[str, JsonValue], line: int | None = None, *, raw: bytes | None = None
    ) -> dict[str, JsonValue]:
        """Redact a whole entry, except for the strings that link entries to each other.

        If `raw` is given, it is the entry as it stands in the file, and `is_settled` remembers it.
        """
        uuid = body.get("uuid")
        known = uuid if isinstance(uuid, str) and _UUID_PATTERN.fullmatch(uuid) else None
        cut_texts = self._cut_texts
        redacted: dict[str, JsonValue] = JsonWalk(
            _RedactingVisitor(self, SecretPlace("", 0, "", line, known))
        ).walk_value(body, None, free=False)
        if raw is not None and cut_texts == self._cut_texts and redacted == body and is_plainly_encoded(raw, body):
            self._ledger.settled_lines.add(raw, self._ledger.size)
        return redacted

    def is_settled(self, raw: bytes) -> bool:
        """Return whether an entry was searched before, and contains none of the secrets that are known by now."""
        return self._ledger.settled_lines.is_settled(raw, self._ledger.forms)

    @overload
    def redact_file_data(self, data: bytes, name: str | None = None) -> bytes: ...
    @overload
    def redact_file_data(self, data: str, name: str | None = None) -> str: ...
    def redact_file_data(self, data: bytes | str, name: str | None = None) -> bytes | str:
        """Redact a file that is not a transcript; in a binary file, secrets become as many asterisks."""
        place = SecretPlace("", 0, "", file=self.make_rehearsal().redact_text(name) if name else None)
        if isinstance(data, str):
            return self._redact_and_count(data, place)
        encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
        errors = "strict" if encoding == "utf-16" else "surrogateescape"
        if encoding == "utf-8" and b"\0" in data:
            return self._redact_binary(data, place)
        try:
            text = data.decode(encoding, errors)
        except UnicodeDecodeError:
            return data
        redacted = self._redact_and_count(text, place)
        return data if redacted == text else redacted.encode(encoding, errors)

    def _redact_binary(self, data: bytes, place: SecretPlace) -> bytes:
        """Redact the texts in a binary file, whose parts must keep their places."""
        for pattern, encoding in _BINARY_TEXTS:
            data = pattern.sub(partial(self._mask_text, encoding, place), data)
        return data

    def _mask_text(self, encoding: str, place: SecretPlace, match: re.Match[bytes]) -> bytes:
        text = match[0].decode(encoding)
        known = self._rules.find_and_remember(text)
        view = TextView(text)
        findings = [*known.findings, *(self._ledger.find(view.text) if self._ledger.size else ())]
        marks = []
        for finding in _settle_overlaps(findings, view.text):
            start, end = view.find_origin(finding.start, finding.end)
            text = text[:start] + "*" * (end - start) + text[end:]
            marks.append(self._ledger.assign_mark(finding))
        if not marks:
            return match[0]
        self._tally.add(marks, place)
        self._memory.forget_stale_texts()
        return text.encode(encoding)

    def _redact_and_count(self, text: str, place: SecretPlace) -> str:
        redacted, marks = self._replace_secrets(text)
        if marks:
            self._tally.add(marks, place)
        return redacted

    def _replace_secrets(self, text: str) -> RedactedText:
        if self._memory.is_clean(text):
            return RedactedText(text, ())
        if len(text) < _MIN_TEXT_CHARS:
            self._memory.remember_clean_text(text)
            return RedactedText(text, ())
        if (known := self._memory.recall(text)) is not None:
            return known
        if is_base64_binary(text):
            return RedactedText(text, ())
        if self._rules.is_plain(text) and not self._ledger.has_known_secret(text):
            self._memory.remember_clean_text(text)
            return RedactedText(text, ())
        self._ledger.reserve_marks(text)
        size, cut_texts = self._ledger.size, self._cut_texts
        redacted, marks = self._replace_secrets_once(text)
        for _ in range(_MAX_ROUNDS if marks else 0):
            before, (redacted, more) = redacted, self._replace_secrets_once(redacted)
            marks += more
            if redacted == before:
                break
        replaced = RedactedText(redacted, tuple(marks))
        self._memory.forget_stale_texts()
        if not marks and cut_texts == self._cut_texts:
            self._memory.remember_clean_text(text)
        elif marks and size == self._ledger.size:  # otherwise, the next result may be different
            self._memory.remember_redacted_text(text, replaced)
        return replaced

    def _replace_secrets_once(self, text: str) -> tuple[str, list[str]]:
        known = self._rules.find_and_remember(text)
        if not known.findings:
            self._cut_texts += known.is_cut
            if not self._ledger.size or not (known.is_cut or self._ledger.has_known_secret(text)):
                return text, []
        view = TextView(text)
        findings = _settle_overlaps(known.findings, view.text)
        for finding in findings:
            self._ledger.assign_mark(finding)
        if self._ledger.size and (more := self._ledger.find(view.text)):
            findings = _settle_overlaps([*findings, *more], view.text)
        if not findings:
            return text, []
        parts, at, marks = [], 0, []
        for finding in findings:
            start, end = view.find_origin(finding.start, finding.end)
            marks.append(self._ledger.assign_mark(finding))
            parts += [text[at:start], marks[-1]]
            at = end
        return "".join([*parts, text[at:]]), marks

    def _redact_whole(self, rule: str, text: str, place: SecretPlace) -> str:
        mark = self._ledger.assign_mark(SecretFinding(0, len(text), rule, FindingRank.ASSIGNMENT, text))
        self._tally.add([mark], place)
        self._memory.forget_stale_texts()
        return mark


class _RedactingVisitor:
    """Redacts the strings of one entry or value."""

    def __init__(self, redactor: Redactor, place: SecretPlace) -> None:
        self._redactor = redactor
        self._place = place

    def get_clean_texts(self) -> Container[str]:
        return self._redactor._memory.get_clean_texts()

    def redact_text(self, text: str, path: JsonPath) -> str:
        redacted, marks = self._redactor._replace_secrets(text)
        if marks:
            self._redactor._tally.add(marks, self._place._replace(path=format_json_path(path)))
        return redacted

    def redact_whole(self, rule: str, text: str, path: JsonPath) -> str:
        return self._redactor._redact_whole(rule, text, self._place._replace(path=format_json_path(path)))

    def note_changed_thinking(self, path: JsonPath) -> None:
        self._redactor._tally.thinking[self._place._replace(rule="thinking", times=1, path=format_json_path(path))] = (
            None
        )


def _settle_overlaps(found: Iterable[SecretFinding], text: str) -> list[SecretFinding]:
    """Resolve overlapping findings: merge those of lower priority into the best one; keep placeholders."""
    ordered = [*found]
    if not ordered:
        return []
    ordered.sort(key=attrgetter("start", "rank"))
    marks = [match.span() for match in SECRET_MARK.finditer(text)] if can_have_marks(text) else []
    ends = [end for _, end in marks]
    settled: list[SecretFinding] = []
    for finding in ordered:
        after = bisect_right(ends, finding.start)
        if after < len(marks) and marks[after][0] < finding.end and finding.rank is not FindingRank.KEY_BLOCK:
            continue
        last = settled[-1] if settled else None
        if last is None or finding.start >= last.end:
            settled.append(finding)
        else:
            settled[-1] = _join_findings(last, finding)
    return settled


def _join_findings(first: SecretFinding, second: SecretFinding) -> SecretFinding:
    best, other = (first, second) if first.rank <= second.rank else (second, first)
    if other.rank is FindingRank.PERSON and best.rank is not FindingRank.PERSON:
        return best
    return best._replace(start=min(first.start, second.start), end=max(first.end, second.end))
