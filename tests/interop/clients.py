"""Where the real clients are, and how to get them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NEWEST = "2.1.328"
OLD = "2.1.29"


def client(version: str) -> Path:
    """The executable of a version; TURNLOG_CLAUDE_DIR names another folder of the same shape."""
    folder = Path(os.environ.get("TURNLOG_CLAUDE_DIR") or ROOT / ".tools" / "claude")
    return (folder / version / "node_modules" / ".bin" / "claude").absolute()


def list_missing_clients(versions: tuple[str, ...] = (NEWEST, OLD)) -> list[str]:
    """The versions that are not installed."""
    return [version for version in versions if not client(version).is_file()]


def install(versions: list[str]) -> str | None:
    """Install clients; what stands in the way, in words, or None."""
    if os.environ.get("TURNLOG_CLAUDE_DIR"):
        return f"TURNLOG_CLAUDE_DIR has no client {' and no '.join(versions)}"
    tools = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if tools:
        return f"needs Node 18 or newer with npm, to install the real client; not found: {', '.join(tools)}"
    done = subprocess.run([str(ROOT / "scripts" / "install-clients"), *versions], check=False)
    return "scripts/install-clients failed" if done.returncode else None
