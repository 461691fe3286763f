"""Earlier names of public attributes, which still work."""

from __future__ import annotations

from typing import Any


class OldName:
    """An attribute under its earlier name."""

    def __init__(self, new: str) -> None:
        self._new = new

    def __get__(self, instance: Any, owner: type) -> Any:
        return getattr(owner if instance is None else instance, self._new)
