"""agentsview: indexes all sessions with their full text; a native program from PyPI."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from ..measure import ROOT, Program

VERSION = "0.46.1"
FOLDER = ROOT / ".tools" / "peers" / f"agentsview-{VERSION}"


def install_program() -> Path | str:
    """Return the native program, installed on first use, or the reason why it is not available."""
    if binary := _find_binary():
        return binary
    if sys.platform == "win32":
        return "not tried on Windows"
    try:
        venv.create(FOLDER, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"could not create an environment: {error}"
    command = [str(FOLDER / "bin" / "pip"), "install", "--quiet", "--only-binary", ":all:", f"agentsview=={VERSION}"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    return (
        _find_binary()
        or f"pip could not install it: {(process.stderr.strip().splitlines() or ['no native program'])[-1]}"
    )


def _find_binary() -> Path | None:
    for path in sorted(FOLDER.glob("lib/python3*/site-packages/agentsview/bin/agentsview")):
        path.chmod(0o755)  # its own wrapper does the same
        return path
    return None


def build_sync_command(binary: Path, config_dir: Path, home: Path) -> Program:
    """Build the command that updates its index for one config folder without starting the daemon."""
    environ = {
        "HOME": str(home),
        "PATH": os.defpath,
        "TZ": "UTC",
        "CLAUDE_PROJECTS_DIR": str(config_dir / "projects"),
        "AGENTSVIEW_NO_DAEMON": "1",
        "AGENTSVIEW_TELEMETRY_ENABLED": "0",
        "DO_NOT_TRACK": "1",
    }
    return Program(["env", "-i", *(f"{name}={value}" for name, value in environ.items()), str(binary), "sync"])


def measure_index_size(home: Path) -> int:
    """Return the size of its index in bytes."""
    return sum(path.stat().st_size for path in (home / ".agentsview").glob("sessions.db*"))
