r"""One folder's path that becomes another, in paths and in texts; whole names only: /a/b is not the start of /a/bc.

Paths of Windows (`C:\code`, `c:/code`) are told by their drive or by two backslashes. Their letters count the same in
both cases, and so do their separators; what lies below gets the separators of the new path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnlog.entries.slug import make_slug
from turnlog.errors import UsageError

_WINDOWS_PATH_PATTERN = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")
_SEPARATORS_PATTERN = re.compile(r"[\\/]+")
_ANY_SEPARATOR = r"[\\/]+"
_MAX_PATH_CHARS = 4096
"""No path is longer."""
_NAME_CHARACTERS = r"\w\-@+~"
"""What goes on with a name, so that a text means another path."""


class PathPrefix:
    """A folder's old path and its new one."""

    def __init__(self, old: str, new: str, slugs: Mapping[str, str] | None = None) -> None:
        self.old, self.new = (_strip_separators(path) for path in (old, new))
        self.is_windows = _WINDOWS_PATH_PATTERN.match(self.old) is not None
        self._to_windows = _WINDOWS_PATH_PATTERN.match(self.new) is not None
        self.slugs = {make_slug(self.old): make_slug(self.new)} if slugs is None else dict(slugs)
        """The names of project folders that change with it."""
        spelled = _build_windows_pattern(self.old) if self.is_windows else re.escape(self.old)
        flags = re.IGNORECASE if self.is_windows else re.NOFLAG
        separator = _ANY_SEPARATOR if self.is_windows else "/"
        self._whole = re.compile(rf"(file://(?:/(?=[A-Za-z]:))?)?{spelled}(?P<rest>{separator}.*)?", flags | re.DOTALL)
        ends = rf"(?![{_NAME_CHARACTERS}]|\.\w)"
        self._inside = re.compile(
            rf"(?:(?<![{_NAME_CHARACTERS}./\\])|(?<=file://)|(?<=file:///)){spelled}(?P<rest>)(?P<next>{separator})?{ends}"
            if self.is_windows
            else rf"(?:(?<![{_NAME_CHARACTERS}./\\])|(?<=file://)){spelled}(?P<rest>)(?P<next>)(?=/|{ends})",
            flags,
        )
        names = "|".join(re.escape(name) for name in sorted(self.slugs, key=len, reverse=True)) or r"(?!)"
        self._slug = re.compile(rf"(?<=projects[\\/])(?:{names})(?=[\\/]|$)")
        self._slug_inside = re.compile(rf"(?<=projects[\\/])(?:{names})(?![{_NAME_CHARACTERS}]|\.\w)")

    def covers_path(self, path: str) -> bool:
        """Whether a path is that of the folder or of something in it."""
        return len(path) < _MAX_PATH_CHARS and self._whole.fullmatch(path) is not None

    def replace_in_path(self, text: str) -> str:
        """A path as it is now; what is none, or lies elsewhere, stays as it is."""
        if len(text) < _MAX_PATH_CHARS and "projects" in text:
            text = self._slug.sub(lambda found: self.slugs[found[0]], text)
        found = self._whole.fullmatch(text)
        if found is None or len(text) >= _MAX_PATH_CHARS:
            return text
        scheme, rest = found[1] or "", found["rest"] or ""
        return scheme + self._spell_like(found[0][len(scheme) :]) + self._spell_rest(rest, found[0])

    def replace_in_text(self, text: str) -> str:
        """A text with all paths in it as they are now."""
        text = self._slug_inside.sub(lambda found: self.slugs[found[0]], text)
        return self._inside.sub(lambda found: self._spell_like(found[0]) + (found["next"] or ""), text)

    def _spell_like(self, found: str) -> str:
        """The new path with the separators that were found in the old one."""
        first = _SEPARATORS_PATTERN.search(found)
        if not self._to_windows or not self.is_windows or first is None:
            return self.new
        return _SEPARATORS_PATTERN.sub(lambda _: first[0], self.new)

    def _spell_rest(self, rest: str, found: str) -> str:
        if self.is_windows and not self._to_windows:
            return _SEPARATORS_PATTERN.sub("/", rest)
        if self._to_windows and not self.is_windows:
            return rest.replace("/", "\\")
        return rest


def _strip_separators(path: str) -> str:
    """A path without separators at its end; a relative one is refused."""
    bare = path.rstrip("/\\") if len(path) > 1 else path
    if not (path.startswith("/") or _WINDOWS_PATH_PATTERN.match(path)) or not bare.strip("/\\"):
        raise UsageError(f"{path!r}: is no whole path of a folder; give one that begins at the root")
    return bare


def _build_windows_pattern(path: str) -> str:
    """A path of Windows as a pattern, with any separators."""
    lead = _ANY_SEPARATOR if path[0] in "\\/" else ""
    return lead + _ANY_SEPARATOR.join(re.escape(part) for part in _SEPARATORS_PATTERN.split(path.lstrip("\\/")))
