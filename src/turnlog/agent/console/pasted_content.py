"""What a person pastes: the input line shows long texts as `[Pasted text #1 +500 lines]` and pictures as `[Image #2]`.

A picture comes from the clipboard or from a file whose path is pasted, as terminals do when one is dragged into them.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.small_file import read_small_file
from turnlog.errors import TurnlogError, UsageError
from turnlog.render.figures import format_size

MAX_PICTURE_BYTES = 5 << 20
"""The largest picture that the API accepts."""
MAX_SHOWN_BREAKS = 2
MAX_SHOWN_CHARS = 800
_MAX_PATH_CHARS = 4096
_PLACE_PATTERN = re.compile(r"\[Pasted text #(\d{1,6})(?: \+\d+ lines)?\]")
_PICTURE_PATTERN = re.compile(r"\[Image #(\d{1,6})\]")
_PICTURE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_PICTURE_STARTS = ((b"\x89PNG\r\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class PastedPicture(NamedTuple):
    number: int
    block: dict[str, Any]
    """The picture as the model receives it."""


class PastedContent:
    """Keeps what was pasted in this session, by number."""

    def __init__(self, find_obstacle: Callable[[Path], str] = lambda _path: "") -> None:
        self._find_obstacle = find_obstacle
        """Returns why a file may not be read, or ""."""
        self._texts: dict[int, str] = {}
        self._pictures: dict[int, PastedPicture] = {}

    def adopt_paste(self, text: str) -> str:
        """Return what the input line shows for pasted text: the text itself, or a short name for it."""
        if (path := find_picture_path(text)) is not None:
            return self.add_picture(self._read_picture(path))
        breaks = text.count("\n")
        if breaks <= MAX_SHOWN_BREAKS and len(text) <= MAX_SHOWN_CHARS:
            return text
        number = self._take_number()
        self._texts[number] = text
        return f"[Pasted text #{number}{f' +{breaks} lines' if breaks else ''}]"

    def add_picture(self, data: bytes) -> str:
        """Keep a picture, and return its name; raise UsageError if the API would not accept it."""
        kind = find_picture_type(data)
        if not kind:
            raise UsageError("not a picture: PNG, JPEG, GIF and WebP can be attached")
        if len(data) > MAX_PICTURE_BYTES:
            raise UsageError(f"the picture has {format_size(len(data))}; at most {format_size(MAX_PICTURE_BYTES)} fit")
        number = self._take_number()
        source = {"type": "base64", "data": base64.b64encode(data).decode("ascii"), "media_type": kind}
        self._pictures[number] = PastedPicture(number, {"type": "image", "source": source})
        return f"[Image #{number}]"

    def expand(self, text: str) -> str:
        """Replace the names of pasted texts with the texts."""
        return _PLACE_PATTERN.sub(lambda found: self._texts.get(int(found[1]), found[0]), text)

    def list_pictures(self, text: str) -> list[PastedPicture]:
        """Return the pictures that a text names, each once."""
        numbers = dict.fromkeys(int(found[1]) for found in _PICTURE_PATTERN.finditer(text))
        return [self._pictures[number] for number in numbers if number in self._pictures]

    def _take_number(self) -> int:
        return len(self._texts) + len(self._pictures) + 1

    def _read_picture(self, path: Path) -> bytes:
        if obstacle := self._find_obstacle(path):
            raise UsageError(f"{path.name} is not attached: {obstacle}")
        try:
            return read_small_file(path, MAX_PICTURE_BYTES)
        except OSError as error:
            raise TurnlogError(f"{path.name} is not attached: {error.strerror or error}") from None


def find_picture_path(text: str) -> Path | None:
    """Return the picture whose path a pasted text is, as terminals write it when a file is dragged into them."""
    text = text.strip()
    if not text or len(text) > _MAX_PATH_CHARS or "\n" in text:
        return None
    try:
        words = shlex.split(text)
        path = Path(words[0].removeprefix("file://")).expanduser() if len(words) == 1 else Path()
        is_picture = path.is_absolute() and path.suffix.lower() in _PICTURE_SUFFIXES and path.is_file()
    except (OSError, ValueError, RuntimeError):
        return None
    return path if is_picture else None


def find_picture_type(data: bytes) -> str:
    """Return the media type of a picture by its first bytes; "" if it is none that the API accepts."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURE_STARTS if data.startswith(start)), "")
