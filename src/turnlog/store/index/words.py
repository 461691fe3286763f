"""How text becomes words, for the index and for queries alike.

FTS5's tokenizer (`unicode61 remove_diacritics 2`) folds case and accents, and splits at everything that is no letter
and no digit, so that `snake_case`, paths and dotted names are phrases. Two things it can't do are done here:

    scripts without spaces   each character is a word, so that any piece of a sentence is a phrase
    camelCase                stays one word; the index remembers once of which parts each identifier is made

Every text of the corpus passes here. What is dear in Python is a step per word, so identifiers are found on a copy of
the text in which small letters and digits are `a`, capitals `A`, bytes of other letters `u`, and the rest is space.
"""

from __future__ import annotations

import re
import unicodedata

_MAX_PARTS = 8
"""What has more parts is a random id or a hash, whose parts nobody looks for."""

# Bytes of UTF-8. Those that only characters of scripts without spaces (and emoji) begin with are `C`.
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
    """A text as the tokenizer shall see it."""
    if "\0" in text:
        text = text.replace("\0", " ")
    if "\x1b" in text:
        text = remove_terminal_escapes(text)
    if text.isascii():
        return text
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        data = text.encode("utf-8", "replace")
        text = data.decode()
    return _UNSPACED_SCRIPT.sub(_space_characters, text) if b"C" in data.translate(_BYTE_SHAPES) else text


def find_identifiers(data: bytes) -> set[bytes]:
    """The words of an indexed text that have a capital behind a small letter or inside of an acronym, as written."""
    shape = data.translate(_BYTE_SHAPES)
    before = shape.rfind
    return {data[before(b" ", 0, start) + 1 : end] for start, end in map(re.Match.span, _CAMEL_HUMP.finditer(shape))}


def list_identifier_parts(name: str) -> list[tuple[str, str]]:
    """The parts of what `identifiers` gave, each with the word that it is a part of, as the index knows it."""
    found = []
    for word in [name] if name.isascii() else _WORD_PATTERN.findall(name):
        pieces = split_identifier(word)
        if 1 < len(pieces) <= _MAX_PARTS:
            token = fold_word(word)
            found += [(piece, token) for piece in dict.fromkeys(pieces)]
    return found


def join_identifier_parts(name: str) -> str:
    """The parts of what `identifiers` gave, between spaces; nothing for a random id."""
    if not name.isascii():
        return " ".join(dict.fromkeys(part for part, _ in list_identifier_parts(name)))
    pieces = _IDENTIFIER_PART.findall(name)
    return " ".join(pieces).lower() if 1 < len(pieces) <= _MAX_PARTS else ""


def to_index_words(name: str) -> list[str]:
    """The words of the index that what `identifiers` gave is, its parts together."""
    return [name.lower()] if name.isascii() else [word for _, word in list_identifier_parts(name)]


def fold_word(word: str) -> str:
    """A word as the tokenizer folds it: in small letters, without accents."""
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFD", word.lower())
    return "".join(char for char in apart if unicodedata.category(char) != "Mn")


def remove_terminal_escapes(text: str) -> str:
    """A text without the escape sequences of terminals, which would glue their last letter to a word."""
    return _ANSI_ESCAPE.sub(" ", text)


def _space_characters(run: re.Match[str]) -> str:
    return f" {' '.join(run[0])} "


def split_identifier(word: str) -> list[str]:
    """The parts of an identifier in small letters: `getHTTPServer2` gives get, http, server, 2."""
    if not word.isascii():
        word = _remove_accents(word)
    return [part.lower() for part in _IDENTIFIER_PART.findall(word)]


def _remove_accents(word: str) -> str:
    """A word whose letters with accents are without; others outside ASCII end a part."""
    return "".join(char for char in unicodedata.normalize("NFD", word) if unicodedata.category(char) != "Mn")


def to_query_text(text: str) -> str:
    """A text of a query as the index sees it: scripts without spaces have one, nothing else changes."""
    return to_indexed_text(text)
