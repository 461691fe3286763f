"""The redactor of one session with all its files: the same secret gets the same mark everywhere.

    redactor = Redactor(Rules(emails=True))
    first = redactor.rehearsal()                 first pass: learn every secret of the session
    for body in bodies: first.body(body)
    for body in bodies: write(redactor.body(body, line))
    redactor.report()

One pass is enough where a secret that stands bare before a rule finds it may stay. Nothing is changed in place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable
from operator import attrgetter
from typing import Any, overload

from turnlog.redact.encoded import is_binary
from turnlog.redact.finding import MARK, Finding, Rank
from turnlog.redact.ledger import Ledger
from turnlog.redact.report import Place, Report, Tally
from turnlog.redact.rules import Rules
from turnlog.redact.view import View
from turnlog.redact.walk import Path, Walk, shown

Json = Any
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROUNDS = 5
"""What is left after a replacement is looked at again, so that a redacted text has nothing more to redact."""
_SHORT = 256
_MOST_CLEAN = 50_000
_TEXT = Place("", 0, "")
"""The place of a text by itself."""


class Redactor:
    """Replaces secrets by marks and counts them."""

    def __init__(self, rules: Rules | None = None, *, ledger: Ledger | None = None) -> None:
        self._rules = rules or Rules()
        self._ledger = ledger or Ledger()
        self._tally = Tally()
        self._clean: set[str | bytes] = set()
        """Short texts in which neither the rules nor the ledger find anything: most strings of a session come again."""
        self._clean_at = 0

    def rehearsal(self) -> Redactor:
        """A redactor that shares what is known with this one and counts for itself: for a first pass or a dry run."""
        return Redactor(self._rules, ledger=self._ledger)

    def learn(self, value: Json) -> None:
        """Take note of the secrets in a text or value, as if it had been redacted."""
        self.rehearsal().value(value)

    def report(self) -> Report:
        """What was replaced so far."""
        return self._tally.report()

    def text(self, text: str) -> str:
        """Redact a text."""
        return self._counted(text, _TEXT)

    def value(self, value: Json) -> Json:
        """Redact every string of a JSON value, the keys of objects among them."""
        return Walk(_Visitor(self, _TEXT)).value(value, None, free=True)

    def body(self, body: dict[str, Json], line: int | None = None) -> dict[str, Json]:
        """Redact a whole entry; what holds the session together stays."""
        uuid = body.get("uuid")
        known = uuid if isinstance(uuid, str) and _UUID.fullmatch(uuid) else None
        redacted: dict[str, Json] = Walk(_Visitor(self, Place("", 0, "", line, known))).value(body, None, free=False)
        return redacted

    @overload
    def plain(self, data: bytes, name: str | None = None) -> bytes: ...
    @overload
    def plain(self, data: str, name: str | None = None) -> str: ...
    def plain(self, data: bytes | str, name: str | None = None) -> bytes | str:
        """Redact a file that is no transcript; a binary one comes back as it is. Other bytes stay as they are."""
        place = Place("", 0, "", file=self.rehearsal().text(name) if name else None)
        if isinstance(data, str):
            return self._counted(data, place)
        encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
        errors = "strict" if encoding == "utf-16" else "surrogateescape"
        if encoding == "utf-8" and b"\0" in data:
            return data
        try:
            text = data.decode(encoding, errors)
        except UnicodeDecodeError:
            return data
        redacted = self._counted(text, place)
        return data if redacted == text else redacted.encode(encoding, errors)

    def _counted(self, text: str, place: Place) -> str:
        redacted, marks = self._redact(text)
        if marks:
            self._tally.add(marks, place)
        return redacted

    def _redact(self, text: str) -> tuple[str, list[str]]:
        if len(text) < 4 or text in self.clean_texts() or is_binary(text):
            return text, []
        if self._rules.is_plain(text) and not self._ledger.knows(text):
            self._remember(text)
            return text, []
        self._ledger.respect(text)
        redacted, marks = self._once(text)
        if not marks:
            self._remember(text)
        for _ in range(_ROUNDS if marks else 0):
            before, (redacted, more) = redacted, self._once(redacted)
            marks += more
            if redacted == before:
                break
        return redacted, marks

    def clean_texts(self) -> Container[object]:
        """Short texts that stay as they are, as far as is known."""
        return self._own_clean() if self._ledger.size else self._rules.clean

    def _remember(self, text: str) -> None:
        clean = self._own_clean() if self._ledger.size else self._rules.clean
        if len(text) <= _SHORT and len(clean) < _MOST_CLEAN and "[secret:" not in text:
            clean.add(text)

    def _own_clean(self) -> set[str | bytes]:
        """Those of this redactor; none as soon as the ledger knows another secret."""
        if self._clean_at != self._ledger.size:
            self._clean.clear()
            self._clean_at = self._ledger.size
        return self._clean

    def _once(self, text: str) -> tuple[str, list[str]]:
        is_clean = self._rules.is_clean(text)
        if is_clean and not self._ledger.size:
            return text, []
        view = View(text)
        found = [] if is_clean else _settled(self._rules.found(view), view.text)
        for finding in found:
            self._ledger.mark(finding)
        known = [*self._ledger.find(view)] if self._ledger.size else []
        found = _settled([*found, *known], view.text) if known else found
        if not found:
            return text, []
        parts, at, marks = [], 0, []
        for finding in found:
            start, end = view.origin(finding.start, finding.end)
            marks.append(self._ledger.mark(finding))
            parts += [text[at:start], marks[-1]]
            at = end
        return "".join([*parts, text[at:]]), marks

    def _whole(self, rule: str, text: str, place: Place) -> str:
        mark = self._ledger.mark(Finding(0, len(text), rule, Rank.ASSIGNMENT, text))
        self._tally.add([mark], place)
        return mark


class _Visitor:
    """Redacts the strings of one entry or value."""

    def __init__(self, redactor: Redactor, place: Place) -> None:
        self._redactor = redactor
        self._place = place

    def clean_texts(self) -> Container[object]:
        return self._redactor.clean_texts()

    def text(self, text: str, path: Path) -> str:
        redacted, marks = self._redactor._redact(text)
        if marks:
            self._redactor._tally.add(marks, self._place._replace(path=shown(path)))
        return redacted

    def whole(self, rule: str, text: str, path: Path) -> str:
        return self._redactor._whole(rule, text, self._place._replace(path=shown(path)))

    def thought(self, path: Path) -> None:
        self._redactor._tally.thinking[self._place._replace(rule="thinking", times=1, path=shown(path))] = None


def _settled(found: Iterable[Finding], text: str) -> list[Finding]:
    """Findings that neither overlap each other nor a mark: of those that do, the one that knows best names all."""
    ordered = [*found]
    if not ordered:
        return []
    ordered.sort(key=attrgetter("start", "rank"))
    marks = [match.span() for match in MARK.finditer(text)] if "[secret:" in text else []
    ends = [end for _, end in marks]
    settled: list[Finding] = []
    for finding in ordered:
        after = bisect_right(ends, finding.start)
        if after < len(marks) and marks[after][0] < finding.end and finding.rank is not Rank.KEY_BLOCK:
            continue
        last = settled[-1] if settled else None
        if last is None or finding.start >= last.end:
            settled.append(finding)
        else:
            settled[-1] = _joined(last, finding)
    return settled


def _joined(first: Finding, second: Finding) -> Finding:
    best, other = (first, second) if first.rank <= second.rank else (second, first)
    if other.rank is Rank.PERSON and best.rank is not Rank.PERSON:
        return best
    return best._replace(start=min(first.start, second.start), end=max(first.end, second.end))
