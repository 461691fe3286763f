"""Fictional sessions that ship with the package: shown if a machine has none of its own, and used in tests.

`claude/` has the layout of a `~/.claude` folder. docs/demo.md describes the sessions.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["config_dir", "is_demo"]


def config_dir() -> Path:
    """Return the config folder with the demo sessions."""
    from importlib.resources import files  # imported here because few commands need the demo

    return Path(str(files(__name__))) / "claude"


def is_demo(path: Path) -> bool:
    """Return whether a path is in the demo's config folder."""
    return path.resolve().is_relative_to(config_dir().resolve())
