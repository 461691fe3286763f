"""Syntax highlighting with Pygments: by CSS classes only, and within limits.

Pygments reads about half a megabyte per second, so long text is left plain and results are cached.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup

from turnlog.render.html_escape import escape_text, escape_to_markup, normalise_line_ends

MAX_HIGHLIGHT_CHARS = 60_000
"""The longest text that is highlighted."""
_PLAIN_LANGUAGES = frozenset(
    {"", "text", "plain", "plaintext", "txt", "output", "none", "log", "console-output", "ansi"}
)
_MAX_LANGUAGE_CHARS = 200
_LONG_LINE = re.compile("[^\n]{4000}")
"""Minified code, which is unreadable and slows some lexers down."""


class CodePiece(NamedTuple):
    """A run of characters with the same colour."""

    kind: str
    """The CSS class; empty for none."""
    text: str

    @property
    def html(self) -> str:
        return f'<span class="{self.kind}">{escape_text(self.text)}</span>' if self.kind else escape_text(self.text)


class Highlighter:
    """Highlights code while the budget lasts: a fast page matters more than a colourful one."""

    def __init__(self, budget: int) -> None:
        self._left = budget

    def highlight_code(self, text: str, language: str = "") -> Markup:
        """Render text with its tokens in spans, or only escape it if it is too long or the language is unknown."""
        found = self._split_pieces(normalise_line_ends(text), language)
        return escape_to_markup(text) if found is None else Markup("".join(piece.html for piece in found))

    def highlight_lines(self, text: str, language: str = "") -> list[list[CodePiece]]:
        """Split each line of the text into coloured pieces."""
        text = normalise_line_ends(text)
        found = self._split_pieces(text, language)
        if found is None:
            return [[CodePiece("", line)] for line in text.split("\n")]
        lines: list[list[CodePiece]] = [[]]
        for kind, piece in found:
            first, *others = piece.split("\n")
            lines[-1].append(CodePiece(kind, first))
            lines += [[CodePiece(kind, part)] for part in others]
        return lines

    def _split_pieces(self, text: str, language: str) -> tuple[CodePiece, ...] | None:
        lexer = _find_lexer(language) if language and text else None
        if lexer is None or len(text) > min(MAX_HIGHLIGHT_CHARS, self._left) or _LONG_LINE.search(text):
            return None
        self._left -= len(text)
        return _lex_text(text, lexer)


def is_known_language(language: str) -> bool:
    """Return whether the name is that of a known language, or of a file in a known language."""
    return _find_lexer(language) is not None


@lru_cache(maxsize=512)
def _lex_text(text: str, lexer: Any) -> tuple[CodePiece, ...] | None:
    """Split text into pieces, merging neighbours of the same colour and adding white space to the piece before it."""
    pieces: list[tuple[str, list[str]]] = []
    try:
        for _, token, value in lexer.get_tokens_unprocessed(text):
            kind = _find_token_class(token)
            if pieces and (pieces[-1][0] == kind or value.isspace()):
                pieces[-1][1].append(value)
            else:
                pieces.append((kind, [value]))
    except Exception:  # noqa: BLE001 - there are hundreds of lexers; one that fails must not break the page
        return None
    found = tuple(CodePiece(kind, "".join(values)) for kind, values in pieces)
    return found if sum(len(piece.text) for piece in found) == len(text) else None


@lru_cache(maxsize=1024)
def _find_token_class(token: Any) -> str:
    """Return the CSS class of a token type; there are only as many classes as people can distinguish."""
    from pygments.token import (  # type: ignore[import-untyped]
        Comment,
        Error,
        Generic,
        Keyword,
        Literal,
        Name,
        Number,
        Operator,
        String,
    )

    for kinds, name in (
        ((Comment.Preproc, Comment.PreprocFile, Name.Decorator, Generic.Subheading), "tok-decor"),
        ((Comment, Generic.Output, Generic.Prompt), "tok-comment"),
        ((Keyword.Type, Name.Class, Name.Namespace, Name.Exception), "tok-type"),
        ((Keyword.Constant, Number, Literal.Date, String.Escape, String.Interpol, Name.Constant), "tok-number"),
        ((Keyword, Operator.Word, Name.Tag, Generic.Heading), "tok-keyword"),
        ((String, Literal, Generic.Inserted), "tok-string"),
        ((Name.Function, Name.Attribute, Name.Builtin, Name.Label, Name.Variable), "tok-name"),
        ((Generic.Deleted, Generic.Error, Generic.Traceback), "tok-error"),
        ((Generic.Strong,), "tok-strong"),
        ((Generic.Emph,), "tok-emph"),
        ((Error,), ""),
    ):
        if any(token in kind for kind in kinds):
            return name
    return ""


@lru_cache(maxsize=4096)
def _find_lexer(language: str) -> Any:
    """Find the lexer for a language or file name; return None if there is none."""
    from pygments.lexers import (  # type: ignore[import-untyped]
        find_lexer_class_by_name,
        find_lexer_class_for_filename,
    )
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    name = language.strip().lower()
    if name in _PLAIN_LANGUAGES or len(name) > _MAX_LANGUAGE_CHARS or not name.isprintable():
        return None
    try:
        found = find_lexer_class_by_name(name)
    except ClassNotFound:
        base = language.strip().replace("\\", "/").rsplit("/", 1)[-1]
        found = find_lexer_class_for_filename(base) or find_lexer_class_for_filename(base.lower())
        if found is None and "." not in base:
            found = find_lexer_class_for_filename(f"x.{base}")
    return None if found is None or found.name == "Text only" else found()
