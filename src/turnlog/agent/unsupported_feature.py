"""A configured feature that turnlog lacks or can't use here."""

from __future__ import annotations

from typing import NamedTuple


class UnsupportedFeature(NamedTuple):
    where: str
    """The file or the command-line option."""
    what: str
    is_guard: bool = False
    """Whether a session without this feature may do what its owner wants to prevent, or lack what its owner relies on;
    such a session starts only if the person agrees."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"
