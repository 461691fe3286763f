"""Made-up sessions that come with the package: shown when a machine has none, and used in tests.

`claude/` is shaped like a `~/.claude` folder. Nobody had these conversations; docs/demo.md says what is in
them.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["config_dir", "is_demo"]


def config_dir() -> Path:
    """The made-up config folder."""
    from importlib.resources import files  # only the few who look at the demo pay for it

    return Path(str(files(__name__))) / "claude"


def is_demo(path: Path) -> bool:
    """Whether a path lies in the made-up config folder."""
    return path.resolve().is_relative_to(config_dir().resolve())
