"""Splits text into words, for both the index and queries.

FTS5's tokenizer (`unicode61 remove_diacritics 2`) folds case and accents and splits at every character that is neither
a letter nor a digit, so `snake_case`, paths and dotted names become phrases. This module adds two things:

    scripts without spaces   each character is a word, so any part of a sentence is a phrase
    camelCase                is one word; the index stores the parts of each identifier once

All text passes through here, and handling each word separately is slow in Python. Therefore, identifiers are found in a
copy of the text in which lowercase letters and digits are `a`, capitals are `A`, bytes of other letters are `u`, and
everything else is a space.
"""

from __future__ import annotations

import re
import unicodedata

_MAX_PARTS = 8
"""A word with more parts is a random id or a hash; nobody searches for its parts."""

# Bytes of UTF-8. `C` marks first bytes that only characters of scripts without spaces (and emoji) have.
_BYTE_SHAPES = bytes.maketrans(
    bytes(range(256)),
    b"".join(
        b"a" if byte in b"abcdefghijklmnopqrstuvwxyz0123456789"
        else b"A" if byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        else b"C" if byte in b"\xe0\xe1" or 0xE3 <= byte <= 0xF0
        else b"u" if byte >= 0x80
        else b" "
        for byte in range(256)
    ),
)  # fmt: skip
_CAMEL_HUMP = re.compile(rb"A(?:(?<=[au]A)|(?<=AA)(?=a))[aAu]*+")
_WORD_PATTERN = re.compile(r"[^\W_]+")
_IDENTIFIER_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_ANSI_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_UNSPACED_SCRIPT = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u30ff"
    "\u3100-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff]+"
)


def to_indexed_text(text: str) -> str:
    """Prepare text for the tokenizer."""
    if "\0" in text:
        text = text.replace("\0", " ")
    if "\x1b" in text:
        text = remove_terminal_escapes(text)
    if text.isascii():
        return text
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        data = text.encode("utf-8", "replace")
        text = data.decode()
    return _UNSPACED_SCRIPT.sub(_space_characters, text) if b"C" in data.translate(_BYTE_SHAPES) else text


def find_identifiers(data: bytes) -> set[bytes]:
    """Find the words in indexed text that have a capital after a lowercase letter or inside an acronym, as written."""
    shape = data.translate(_BYTE_SHAPES)
    before = shape.rfind
    return {data[before(b" ", 0, start) + 1 : end] for start, end in map(re.Match.span, _CAMEL_HUMP.finditer(shape))}


def list_identifier_parts(name: str) -> list[tuple[str, str]]:
    """List the parts of an identifier, each with the indexed word that it is a part of."""
    parts = []
    for word in [name] if name.isascii() else _WORD_PATTERN.findall(name):
        pieces = split_identifier(word)
        if 1 < len(pieces) <= _MAX_PARTS:
            token = fold_word(word)
            parts += [(piece, token) for piece in dict.fromkeys(pieces)]
    return parts


def join_identifier_parts(name: str) -> str:
    """Join the parts of an identifier with spaces; return an empty string for a random id."""
    if not name.isascii():
        return " ".join(dict.fromkeys(part for part, _ in list_identifier_parts(name)))
    pieces = _IDENTIFIER_PART.findall(name)
    return " ".join(pieces).lower() if 1 < len(pieces) <= _MAX_PARTS else ""


def to_index_words(name: str) -> list[str]:
    """Return the words that the index contains for an identifier."""
    return [name.lower()] if name.isascii() else [word for _, word in list_identifier_parts(name)]


def fold_word(word: str) -> str:
    """Fold a word as the tokenizer does: to lower case, without accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFD", word.lower())
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


def remove_terminal_escapes(text: str) -> str:
    """Remove terminal escape sequences, whose last letter would become part of the next word."""
    return _ANSI_ESCAPE.sub(" ", text)


def _space_characters(run: re.Match[str]) -> str:
    return f" {' '.join(run[0])} "


def split_identifier(word: str) -> list[str]:
    """Split an identifier into lowercase parts: `getHTTPServer2` becomes get, http, server and 2."""
    if not word.isascii():
        word = _remove_accents(word)
    return [part.lower() for part in _IDENTIFIER_PART.findall(word)]


def _remove_accents(word: str) -> str:
    """Remove accents from letters; other characters outside ASCII end a part."""
    return "".join(char for char in unicodedata.normalize("NFD", word) if unicodedata.category(char) != "Mn")


def to_query_text(text: str) -> str:
    """Prepare query text in the same way as indexed text: add spaces to scripts without them."""
    return to_indexed_text(text)
