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

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from operator import attrgetter
from typing import Any, overload
from urllib.parse import quote

from turnlog.redact.base64_text import is_base64_binary
from turnlog.redact.json_walk import JsonPath, JsonWalk, format_json_path
from turnlog.redact.key_blocks import MIN_KNOWN_KEY_LINE_CHARS, split_key_lines
from turnlog.redact.plausibility import has_letters_and_digits
from turnlog.redact.redaction_report import RedactionReport, RedactionTally, SecretPlace
from turnlog.redact.rules import SecretRules
from turnlog.redact.secret_rule import SECRET_MARK, FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

MIN_KNOWN_SECRET_CHARS = 8
"""Shorter secrets, and plain words, are replaced only where a rule finds them."""
_MIN_ANYWHERE_CHARS = 12
"""Shorter known secrets are replaced only as whole words."""


class SecretLedger:
    """Numbers secrets by rule in order of appearance, and finds known secrets in other text."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._known: dict[str, SecretFinding] = {}
        self._findings: dict[str, SecretFinding] = {}
        self.size = 0

    def assign_mark(self, finding: SecretFinding) -> str:
        """Return the placeholder for a secret, which is always the same, whichever rule found the secret."""
        if (mark := self._marks.get(finding.secret)) is None:
            self._numbers[finding.rule] += 1
            mark = f"[secret:{finding.rule}:{self._numbers[finding.rule]}]"
            self._marks[finding.secret] = mark
            self._findings[finding.secret] = finding
            self._learn_secret(finding)
        return mark

    def list_secrets(self) -> tuple[SecretFinding, ...]:
        """List everything that has a placeholder, in the order of their numbers."""
        return tuple(self._findings.values())

    def reserve_marks(self, text: str) -> None:
        """Skip the numbers that are used in placeholders from an earlier redaction."""
        if "[secret:" in text:
            for mark in SECRET_MARK.findall(text):
                _, rule, number = mark[1:-1].split(":")
                self._numbers[rule] = max(self._numbers[rule], int(number))

    def has_known_secret(self, text: str) -> bool:
        return any(form in text for form in self._known)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        text = view.text
        present = [form for form in self._known if form in text]
        for form in present:
            known = self._known[form]
            is_short = len(form) < _MIN_ANYWHERE_CHARS
            expression = rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])" if is_short else re.escape(form)
            for match in re.finditer(expression, text):
                yield known._replace(start=match.start(), end=match.end())

    def _learn_secret(self, finding: SecretFinding) -> None:
        secret = finding.secret
        if finding.rank is FindingRank.PERSON:
            return
        if finding.rank is FindingRank.KEY_BLOCK:
            forms = [line for line in split_key_lines(secret) if len(line) >= MIN_KNOWN_KEY_LINE_CHARS]
        elif len(secret) >= MIN_KNOWN_SECRET_CHARS and has_letters_and_digits(secret):
            forms = [secret, *_list_escaped_forms(secret)]
        else:
            forms = []
        for form in forms:
            self._known.setdefault(form, finding._replace(rank=FindingRank.KNOWN))
        self.size = len(self._known)


def _list_escaped_forms(secret: str) -> list[str]:
    once = json.dumps(secret)[1:-1]
    plain = json.dumps(secret, ensure_ascii=False)[1:-1]
    return [once, json.dumps(once)[1:-1], plain, quote(secret, safe="", errors="replace")]


JsonValue = Any
_UUID_PATTERN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAX_ROUNDS = 5
"""How many times redacted text is searched again, so that a second redaction finds nothing more."""
_MAX_REMEMBERED_CHARS = 256
_MAX_CLEAN_TEXTS = 50_000
_UNNAMED_PLACE = SecretPlace("", 0, "")
"""The place of text that is not part of an entry or file."""


class Redactor:
    """Replaces secrets with placeholders and counts them."""

    def __init__(self, rules: SecretRules | None = None, *, ledger: SecretLedger | None = None) -> None:
        self._rules = rules or SecretRules()
        self._ledger = ledger or SecretLedger()
        self._tally = RedactionTally()
        self._clean: set[str | bytes] = set()
        """Short strings in which neither the rules nor the ledger find anything; most strings in a session recur."""
        self._clean_at = 0

    def make_rehearsal(self) -> Redactor:
        """Return a redactor that shares the known secrets but has its own counts, for a first pass or a dry run."""
        return Redactor(self._rules, ledger=self._ledger)

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

    def redact_entry_body(self, body: dict[str, JsonValue], line: int | None = None) -> dict[str, JsonValue]:
        """Redact a whole entry, except for the strings that link entries to each other."""
        uuid = body.get("uuid")
        known = uuid if isinstance(uuid, str) and _UUID_PATTERN.fullmatch(uuid) else None
        redacted: dict[str, JsonValue] = JsonWalk(
            _RedactingVisitor(self, SecretPlace("", 0, "", line, known))
        ).walk_value(body, None, free=False)
        return redacted

    @overload
    def redact_file_data(self, data: bytes, name: str | None = None) -> bytes: ...
    @overload
    def redact_file_data(self, data: str, name: str | None = None) -> str: ...
    def redact_file_data(self, data: bytes | str, name: str | None = None) -> bytes | str:
        """Redact a file that is not a transcript, except binary files and undecodable bytes."""
        place = SecretPlace("", 0, "", file=self.make_rehearsal().redact_text(name) if name else None)
        if isinstance(data, str):
            return self._redact_and_count(data, place)
        encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
        errors = "strict" if encoding == "utf-16" else "surrogateescape"
        if encoding == "utf-8" and b"\0" in data:
            return data
        try:
            text = data.decode(encoding, errors)
        except UnicodeDecodeError:
            return data
        redacted = self._redact_and_count(text, place)
        return data if redacted == text else redacted.encode(encoding, errors)

    def _redact_and_count(self, text: str, place: SecretPlace) -> str:
        redacted, marks = self._replace_secrets(text)
        if marks:
            self._tally.add(marks, place)
        return redacted

    def _replace_secrets(self, text: str) -> tuple[str, list[str]]:
        if len(text) < 4 or text in self.get_clean_texts() or is_base64_binary(text):
            return text, []
        if self._rules.is_plain(text) and not self._ledger.has_known_secret(text):
            self._remember_clean_text(text)
            return text, []
        self._ledger.reserve_marks(text)
        redacted, marks = self._replace_secrets_once(text)
        if not marks:
            self._remember_clean_text(text)
        for _ in range(_MAX_ROUNDS if marks else 0):
            before, (redacted, more) = redacted, self._replace_secrets_once(redacted)
            marks += more
            if redacted == before:
                break
        return redacted, marks

    def get_clean_texts(self) -> Container[object]:
        """Return short strings that are known not to contain secrets."""
        return self._get_own_clean_texts() if self._ledger.size else self._rules.clean

    def _remember_clean_text(self, text: str) -> None:
        clean = self._get_own_clean_texts() if self._ledger.size else self._rules.clean
        if len(text) <= _MAX_REMEMBERED_CHARS and len(clean) < _MAX_CLEAN_TEXTS and "[secret:" not in text:
            clean.add(text)

    def _get_own_clean_texts(self) -> set[str | bytes]:
        """Return this redactor's clean strings; the set is emptied whenever the ledger learns a new secret."""
        if self._clean_at != self._ledger.size:
            self._clean.clear()
            self._clean_at = self._ledger.size
        return self._clean

    def _replace_secrets_once(self, text: str) -> tuple[str, list[str]]:
        is_clean = self._rules.is_clean(text)
        if is_clean and not self._ledger.size:
            return text, []
        view = TextView(text)
        findings = [] if is_clean else _settle_overlaps(self._rules.find_and_remember(view), view.text)
        for finding in findings:
            self._ledger.assign_mark(finding)
        known = [*self._ledger.find(view)] if self._ledger.size else []
        findings = _settle_overlaps([*findings, *known], view.text) if known else findings
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
        return mark


class _RedactingVisitor:
    """Redacts the strings of one entry or value."""

    def __init__(self, redactor: Redactor, place: SecretPlace) -> None:
        self._redactor = redactor
        self._place = place

    def get_clean_texts(self) -> Container[object]:
        return self._redactor.get_clean_texts()

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
    marks = [match.span() for match in SECRET_MARK.finditer(text)] if "[secret:" in text else []
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
