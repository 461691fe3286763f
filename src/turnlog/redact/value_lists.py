"""Finds all values of a list whose name reveals secrets, and all values of a Kubernetes Secret."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.assignments import find_rule_for_key
from turnlog.redact.plausibility import is_placeholder
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_LINE_END = r"(?:\r?\n|\\n)"
_LIST = re.compile(
    r"(?:key|token|secret|password)s\\*[\"']?\s?[:=]"
    rf"(?:[ \t]{{0,4}}(?={_LINE_END}[ \t]{{0,40}}- )|\s?\[|(?=[^\s,\[]{{6,200}},))"
)
_NAME_BEFORE = re.compile(r"[A-Za-z_-]{0,40}$")
_LIST_ITEM = re.compile(
    rf"(?:{_LINE_END}[ \t]{{0,40}}- |,?\s{{0,40}}|\s)"
    r"\\*[\"']?(?P<value>[^\s\"'\\,\[\]{}()=]{6,400}={0,2})\\*[\"']?"
    r"(?=[\s,\]\\]|$)"
)
_MAX_ITEMS = 100
_MANIFEST_KIND = re.compile(r"\\*[\"']?kind\\*[\"']?: ?\\*[\"']?(?:Sealed)?Secret\b(?!L)")
_MANIFEST_DATA = re.compile(rf"(?:^|\n|\\n|[\"'])[ \t]{{0,20}}(?:stringData|data)\\*[\"']?: ?(?:\{{|(?={_LINE_END}))")
_MANIFEST_PAIR = re.compile(
    rf"(?:{_LINE_END}|,)?[ \t\n]{{1,40}}\\*[\"']?[\w.-]{{1,80}}\\*[\"']?: (?:[|>]-?{_LINE_END}[ \t]{{1,40}})?"
    r"\\*[\"']?(?P<value>[^\n\"'\\,]{4,8000}+)\\*[\"']?"
)
_MANIFEST_END = re.compile(r"(?:\n|\\n)(?:[0-9 ]{1,8}→|[0-9 ]{1,8}\t)?---")
_MAX_MANIFEST_CHARS = 4_000


class ValueListRule:
    """Finds the values of lists and Kubernetes Secrets."""

    hints = ("keys", "tokens", "secrets", "passwords", "kind: secret", '"secret')
    names = ("password", "secret", "token", "key")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        early = view.early
        if any(map(early.__contains__, ("keys", "tokens", "secrets", "passwords"))):
            for match in _LIST.finditer(view.lower):
                yield from _find_items(view.text, match)
        if "secret" in early and "kind" in early:
            for match in _MANIFEST_KIND.finditer(view.text):
                yield from _find_manifest_values(view.text, match)


def _find_items(text: str, plural: re.Match[str]) -> Iterator[SecretFinding]:
    before = _NAME_BEFORE.search(text, max(0, plural.start() - 40), plural.start())
    name = (before[0] if before else "") + plural[0].rpartition("s")[0]
    at = plural.end()
    for _ in range(_MAX_ITEMS):
        item = _LIST_ITEM.match(text, at)
        if not item:
            return
        if rule := find_rule_for_key(name, item["value"]):
            yield SecretFinding(*item.span("value"), rule, FindingRank.ASSIGNMENT, item["value"])
        at = item.end()


def _find_manifest_values(text: str, kind: re.Match[str]) -> Iterator[SecretFinding]:
    before = text[max(0, kind.start() - _MAX_MANIFEST_CHARS) : kind.start()]
    after = text[kind.end() : kind.end() + _MAX_MANIFEST_CHARS]
    first = kind.start() - len(_MANIFEST_END.split(before)[-1])
    last = kind.end() + len(_MANIFEST_END.split(after)[0])
    for data in _MANIFEST_DATA.finditer(text, first, last):
        at = data.end()
        while pair := _MANIFEST_PAIR.match(text, at):
            at = pair.end()
            if not is_placeholder(pair["value"]) and "://" not in pair["value"]:
                yield SecretFinding(*pair.span("value"), "secret", FindingRank.ASSIGNMENT, pair["value"])
