"""Finds secrets in base64: a token that decodes to text with a secret is replaced as a whole."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterable, Iterator

from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_MIN_BASE64_CHARS = 24
# In base64 of ASCII text, the first of every four characters is one of these.
_BASE64_TEXT = r"(?:[CI-Za-f][A-Za-z0-9+/_-]{3}){6}(?:[A-Za-z0-9+/_-]|\\*[rn\n](?=[A-Za-z0-9+/]{20})){0,200000}+={0,2}"
_BASE64_TOKEN = re.compile(r"(?:(?<![A-Za-z0-9+/_\\-])|(?<=\\[nrt]))" + _BASE64_TEXT)
_MIN_BINARY_CHARS = 1_024
"""Shorter text may be a token."""
_BASE64_BINARY = re.compile(r"[A-Za-z0-9+/\r\n]{120}")


class Base64Rule:
    """Finds secrets encoded in base64; `look` searches the decoded text."""

    hints = ()
    names = ()

    def __init__(self, look: Callable[[str], Iterable[SecretFinding]]) -> None:
        self._look = look

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        text, searched_end = view.text, 0
        escapes = "\\" in text
        for start, end in view.runs:
            # A token starts where a run does, or after the letter of an escape that the run starts with.
            at = start + 1 if escapes and text.endswith("\\", 0, start) else start
            if end - at < _MIN_BASE64_CHARS or at < searched_end or not (match := _BASE64_TOKEN.match(text, at)):
                continue
            searched_end = match.end()
            hidden = decode_base64_text(match[0])
            inner = next(iter(self._look(hidden)), None) if hidden else None
            if inner:
                yield SecretFinding(*match.span(), inner.rule, FindingRank.ENCODED, inner.secret)


def decode_base64_text(token: str) -> str | None:
    """Decode a base64 token to text; return None if it does not encode text."""
    plain = re.sub(r"\\+[rn]|[\s=]", "", token).replace("-", "+").replace("_", "/")
    try:
        text = b64decode(
            plain[: len(plain) // 4 * 4] if len(plain) % 4 == 1 else plain + "=" * (-len(plain) % 4)
        ).decode("utf-8")
    except (Error, ValueError):
        return None
    return text if text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable() else None


def is_base64_binary(text: str) -> bool:
    """Return whether a whole string is base64 that encodes something other than text, such as an image."""
    if len(text) < _MIN_BINARY_CHARS or not _BASE64_BINARY.match(text) or text.strip().find(" ") >= 0:
        return False
    if not re.fullmatch(r"[A-Za-z0-9+/\r\n]++={0,2}\s*+", text):
        return False
    return decode_base64_text(text[:120]) is None
