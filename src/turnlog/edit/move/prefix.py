r"""One folder's path that becomes another, in paths and in texts; whole names only: /a/b is not the start of /a/bc.

Paths of Windows (`C:\code`, `c:/code`) are told by their drive or by two backslashes. Their letters count the same in
both cases, and so do their separators; what lies below gets the separators of the new path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnlog.entries.slug import slug
from turnlog.errors import UsageError

_WINDOWS = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")
_SEPARATORS = re.compile(r"[\\/]+")
_ANY = r"[\\/]+"
_LONGEST = 4096
"""No path is longer."""
_NAME = r"\w\-@+~"
"""What goes on with a name, so that a text means another path."""


class Prefix:
    """A folder's old path and its new one."""

    def __init__(self, old: str, new: str, slugs: Mapping[str, str] | None = None) -> None:
        self.old, self.new = (_bare(path) for path in (old, new))
        self.is_windows = _WINDOWS.match(self.old) is not None
        self._to_windows = _WINDOWS.match(self.new) is not None
        self.slugs = {slug(self.old): slug(self.new)} if slugs is None else dict(slugs)
        """The names of project folders that change with it."""
        spelled = _spelled(self.old) if self.is_windows else re.escape(self.old)
        flags = re.IGNORECASE if self.is_windows else re.NOFLAG
        separator = _ANY if self.is_windows else "/"
        self._whole = re.compile(rf"(file://(?:/(?=[A-Za-z]:))?)?{spelled}(?P<rest>{separator}.*)?", flags | re.DOTALL)
        ends = rf"(?![{_NAME}]|\.\w)"
        self._inside = re.compile(
            rf"(?:(?<![{_NAME}./\\])|(?<=file://)|(?<=file:///)){spelled}(?P<rest>)(?P<next>{separator})?{ends}"
            if self.is_windows
            else rf"(?:(?<![{_NAME}./\\])|(?<=file://)){spelled}(?P<rest>)(?P<next>)(?=/|{ends})",
            flags,
        )
        names = "|".join(re.escape(name) for name in sorted(self.slugs, key=len, reverse=True)) or r"(?!)"
        self._slug = re.compile(rf"(?<=projects[\\/])(?:{names})(?=[\\/]|$)")
        self._slug_inside = re.compile(rf"(?<=projects[\\/])(?:{names})(?![{_NAME}]|\.\w)")

    def covers(self, path: str) -> bool:
        """Whether a path is that of the folder or of something in it."""
        return len(path) < _LONGEST and self._whole.fullmatch(path) is not None

    def path(self, text: str) -> str:
        """A path as it is now; what is none, or lies elsewhere, stays as it is."""
        if len(text) < _LONGEST and "projects" in text:
            text = self._slug.sub(lambda found: self.slugs[found[0]], text)
        found = self._whole.fullmatch(text)
        if found is None or len(text) >= _LONGEST:
            return text
        scheme, rest = found[1] or "", found["rest"] or ""
        return scheme + self._spelled_as(found[0][len(scheme) :]) + self._rest(rest, found[0])

    def text(self, text: str) -> str:
        """A text with all paths in it as they are now."""
        text = self._slug_inside.sub(lambda found: self.slugs[found[0]], text)
        return self._inside.sub(lambda found: self._spelled_as(found[0]) + (found["next"] or ""), text)

    def _spelled_as(self, found: str) -> str:
        """The new path with the separators that were found in the old one."""
        first = _SEPARATORS.search(found)
        if not self._to_windows or not self.is_windows or first is None:
            return self.new
        return _SEPARATORS.sub(lambda _: first[0], self.new)

    def _rest(self, rest: str, found: str) -> str:
        if self.is_windows and not self._to_windows:
            return _SEPARATORS.sub("/", rest)
        if self._to_windows and not self.is_windows:
            return rest.replace("/", "\\")
        return rest


def _bare(path: str) -> str:
    """A path without separators at its end; a relative one is refused."""
    bare = path.rstrip("/\\") if len(path) > 1 else path
    if not (path.startswith("/") or _WINDOWS.match(path)) or not bare.strip("/\\"):
        raise UsageError(f"{path!r}: is no whole path of a folder; give one that begins at the root")
    return bare


def _spelled(path: str) -> str:
    """A path of Windows as a pattern, with any separators."""
    lead = _ANY if path[0] in "\\/" else ""
    return lead + _ANY.join(re.escape(part) for part in _SEPARATORS.split(path.lstrip("\\/")))
