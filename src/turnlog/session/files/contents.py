"""The content of a file: its text, and the form that the text has in the file.

The client shows and records text with `\\n` line ends and often without a byte order mark, whatever the file contains.
Therefore, text and form are separate: the form found in a copy of the file applies to later text.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

_UTF16 = "utf-16-le"
_BYTE_ORDER_MARK = "\ufeff"


class TextForm(NamedTuple):
    """The line ends, byte order mark and encoding of a text file."""

    crlf: bool = False
    """Whether every line ends with `\\r\\n`."""
    mark: bool = False
    """Whether the file starts with a byte order mark."""
    encoding: str = "utf-8"


PLAIN_FORM = TextForm()


class FileContent(NamedTuple):
    text: str
    """The text without a byte order mark, with `\\n` line ends unless the file mixes several."""
    form: TextForm = PLAIN_FORM

    @property
    def file_text(self) -> str:
        """The text with the line ends and byte order mark that the file has."""
        text = self.text.replace("\n", "\r\n") if self.form.crlf else self.text
        return _BYTE_ORDER_MARK + text if self.form.mark else text

    @property
    def data(self) -> bytes:
        return encode_file_text(self.file_text, self.form.encoding)


def to_file_content(text: str) -> FileContent:
    """Separate text from its form."""
    mark = text.startswith(_BYTE_ORDER_MARK)
    text = text.removeprefix(_BYTE_ORDER_MARK)
    crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    return FileContent(text.replace("\r\n", "\n") if crlf else text, TextForm(crlf, mark))


def decode_file_content(data: bytes) -> FileContent | None:
    """Decode a file; return None if it is not text that can be encoded to the same bytes again."""
    encoding = _UTF16 if data.startswith(codecs.BOM_UTF16_LE) else "utf-8"
    try:
        content = to_file_content(data.decode(encoding))
    except UnicodeDecodeError:
        return None
    return FileContent(content.text, content.form._replace(encoding=encoding))


def restore_file_form(text: str, like: FileContent | None) -> FileContent:
    """Give recorded text the latest known form of the file."""
    content = to_file_content(text)
    if like is None:
        return content
    form = like.form
    crlf = content.form.crlf or (form.crlf and "\r" not in content.text)  # text that already has some is left unchanged
    return FileContent(content.text, TextForm(crlf, form.mark or content.form.mark, form.encoding))


def encode_file_text(text: str, encoding: str = "utf-8") -> bytes:
    """Encode text; a lone surrogate becomes U+FFFD, as in the client."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(_UTF16, "surrogatepass").decode(_UTF16, "replace").encode(encoding)


def is_damaged_text(text: str) -> bool:
    """Return whether the text seems to come from bytes that the client could not decode."""
    return "\ufffd" in text or "\0" in text


def strip_file_form(text: str) -> str:
    """Remove everything that the client may omit when it shows a file."""
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\r", "")
