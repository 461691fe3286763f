"""What a file holds: its text, and the form in which the text stands in the file.

The client shows and records texts with `\\n` as line end and often without a byte order mark, whatever the file has.
So a text and its form are kept apart: what a copy of the file tells of the form holds for the texts that come later.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

_UTF16 = "utf-16-le"
_BYTE_ORDER_MARK = "\ufeff"


class TextForm(NamedTuple):
    """How a text stands in a file."""

    crlf: bool = False
    """Every line ends with `\\r\\n`."""
    mark: bool = False
    """It begins with a byte order mark."""
    encoding: str = "utf-8"


PLAIN_FORM = TextForm()


class FileContent(NamedTuple):
    """The content of a text file."""

    text: str
    """Without a byte order mark; with `\\n` as line end, unless the file mixes several."""
    form: TextForm = PLAIN_FORM

    @property
    def file_text(self) -> str:
        """The text as it stands in the file."""
        text = self.text.replace("\n", "\r\n") if self.form.crlf else self.text
        return _BYTE_ORDER_MARK + text if self.form.mark else text

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return encode_file_text(self.file_text, self.form.encoding)


def to_file_content(text: str) -> FileContent:
    """A text as somebody wrote it, apart from its form."""
    mark = text.startswith(_BYTE_ORDER_MARK)
    text = text.removeprefix(_BYTE_ORDER_MARK)
    crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    return FileContent(text.replace("\r\n", "\n") if crlf else text, TextForm(crlf, mark))


def decode_file_content(data: bytes) -> FileContent | None:
    """The text of a file, or None when it holds none that would give the same bytes again."""
    encoding = _UTF16 if data.startswith(codecs.BOM_UTF16_LE) else "utf-8"
    try:
        found = to_file_content(data.decode(encoding))
    except UnicodeDecodeError:
        return None
    return FileContent(found.text, found.form._replace(encoding=encoding))


def restore_file_form(text: str, like: FileContent | None) -> FileContent:
    """A text that the client recorded, in the form that the file was last known to have."""
    found = to_file_content(text)
    if like is None:
        return found
    form = like.form
    crlf = found.form.crlf or (form.crlf and "\r" not in found.text)  # a text with some of them was recorded as it is
    return FileContent(found.text, TextForm(crlf, form.mark or found.form.mark, form.encoding))


def encode_file_text(text: str, encoding: str = "utf-8") -> bytes:
    """The bytes of a text; half of a surrogate pair becomes U+FFFD, as in the client."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(_UTF16, "surrogatepass").decode(_UTF16, "replace").encode(encoding)


def is_damaged_text(text: str) -> bool:
    """Whether a text seems to stand for bytes that the client could not read."""
    return "\ufffd" in text or "\0" in text


def strip_file_form(text: str) -> str:
    """A text without what the client may leave out when it shows a file."""
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\r", "")
