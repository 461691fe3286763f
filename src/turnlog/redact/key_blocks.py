r"""Finds private keys: blocks from `-----BEGIN … PRIVATE KEY-----` to their end, however their lines are joined.

Some tools use other names: OpenVPN has static keys, and SSH2 uses four dashes and a space.

The lines may be joined by line endings, by `\n` in JSON, by the line numbers of a listing, or by quotes and plus signs
in code. A truncated block ends with its last line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

PRIVATE_KEY_RULE = "private-key"
MIN_KNOWN_KEY_LINE_CHARS = 40
"""Key lines of at least this length are later recognised even when they appear alone."""
_KIND = (
    r"(?:[A-Za-z0-9-]{1,20}+ ){0,3}"
    r"(?:(?:PRIVATE|SECRET|[Ss]tatic|[Ss]hared|[Ss]ymmetric|(?:tls-crypt-v2 )?(?:client|server))"
    r" (?:KEY|[Kk]ey))(?: BLOCK| V[0-9])?"
)
_KEY_BEGIN = re.compile(rf"-----BEGIN {_KIND}-----|---- BEGIN {_KIND} ----")
_KEY_END = re.compile(rf"-----END {_KIND}-----|---- END {_KIND} ----")
_MAX_ODD_KEY_CHARS = 32 * 1024
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{16,}+={0,2}")
# What separates two lines: line endings and escapes, or the quotes of code, which end one line and start the next;
# then the number or symbol that a listing puts first.
_LINE_JOINT = re.compile(
    r"(?:(?:\s|\\+[nrt]|\\(?=\n)){1,40}+|(?:\\+[nrt])*+[\"'`][ \t]*+[+,.\\]?[ \t]*+\r?\n[\s+]*+[\"'`](?:\s|\\+[nrt])*+)"
    r"(?:[0-9]{1,6}(?:→|\t|:|-|\s)\s{0,8}+|[-+>|#*]\s{0,4}+)?"
)
_ESCAPED_LINE_END = re.compile(r"\\+[nrt]")
_SHORT_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{1,15}+={0,2}(?![A-Za-z0-9])")
_FOREIGN_TEXT = re.compile(r"[{}]|[\"'`]\s?[,:]\s?\\*[\"'`]|[\"'`]: ")
_KEY_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Subject): [^\n\\]{0,200}+")
_BREAK = r"(?:\r?\n|\\+n)"
_MAX_KEY_FILE_CHARS = 4_000
_KEY_FILES = (
    AnchoredPattern("secret key", rf"{_BREAK}(?P<key>RW[A-Za-z0-9+/]{{40,400}}+={{0,2}})"),  # minisign, signify
    AnchoredPattern(
        "Private-Lines: ",
        rf"[0-9]{{1,3}}{_BREAK}(?P<key>[A-Za-z0-9+/]{{20,64}}+={{0,2}}(?:{_BREAK}[A-Za-z0-9+/]{{4,64}}+={{0,2}})*+)",
    ),
    AnchoredPattern("ED25519-V3:", r"(?P<key>[A-Za-z0-9+/]{60,100}+={0,2})"),  # tor, an onion service
    AnchoredPattern(":x25519:", r"(?P<key>[A-Z2-7]{52})(?![A-Za-z0-9])"),  # tor, a client of one
)
"""Keys in files with a special format, by the text before them."""


class KeyBlockRule:
    hints = ("---begin ", "--- begin ", *(form.anchor.lower() for form in _KEY_FILES))
    names = (PRIVATE_KEY_RULE,)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        if view.random_runs and len(view.text) <= _MAX_KEY_FILE_CHARS:
            yield from _find_key_files(view.text)
        if "BEGIN " not in view.text:
            return
        at = 0
        while header := _KEY_BEGIN.search(view.text, at):
            at = self._find_block_end(view.text, header.end())
            key = normalise_key_body(view.text[header.end() : at])
            if key:
                yield SecretFinding(header.start(), at, PRIVATE_KEY_RULE, FindingRank.KEY_BLOCK, key)

    def _find_block_end(self, text: str, at: int) -> int:
        at = _find_last_line_end(text, at)
        end = _KEY_END.search(text, at, at + _MAX_ODD_KEY_CHARS)
        # A block with odd content is replaced as a whole too, unless its end belongs to another block or string.
        odd = text[at : end.start()] if end else ""
        return end.end() if end and not _KEY_BEGIN.search(odd) and not _FOREIGN_TEXT.search(odd) else at


def _find_key_files(text: str) -> Iterator[SecretFinding]:
    for form in _KEY_FILES:
        if form.anchor in text:
            for match in form.finditer(text):
                yield SecretFinding(*match.span("key"), PRIVATE_KEY_RULE, FindingRank.TOKEN, match["key"])


def normalise_key_body(body: str) -> str:
    """Return the lines of a key without the separators between them, or an empty string if it is not a key."""
    lines = split_key_lines(body)
    return "\n".join(lines) if sum(map(len, lines)) >= MIN_KNOWN_KEY_LINE_CHARS else ""


def split_key_lines(body: str) -> list[str]:
    return _KEY_LINE.findall(_ESCAPED_LINE_END.sub("\n", body))


def _find_last_line_end(text: str, at: int) -> int:
    """Return where the lines of a key end."""
    while (joint := _LINE_JOINT.match(text, at)) and (
        line := _KEY_LINE.match(text, joint.end())
        or _KEY_HEADER.match(text, joint.end())
        or _SHORT_KEY_LINE.match(text, joint.end())
    ):
        at = line.end()
        if line.re is _SHORT_KEY_LINE:
            break
    return at
