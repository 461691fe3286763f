"""ccusage: reports usage by day from all session files; a native program from npm."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from ..measure import ROOT, Program

VERSION = "20.0.24"
FOLDER = ROOT / ".tools" / "peers" / f"ccusage-{VERSION}"


def install_program() -> Path | str:
    """Return the native program, installed on first use, or the reason why it is not available."""
    if binary := _find_binary():
        return binary
    npm = shutil.which("npm")
    if npm is None:
        return "npm is missing"
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [
        npm,
        "install",
        "--prefix",
        str(FOLDER),
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        f"ccusage@{VERSION}",
    ]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    return (
        _find_binary()
        or f"npm could not install it: {(process.stderr.strip().splitlines() or ['no native program'])[-1]}"
    )


def _find_binary() -> Path | None:
    for path in sorted(FOLDER.glob("node_modules/@ccusage/*/bin/ccusage*")):
        path.chmod(0o755)  # its own wrapper does the same
        return path
    return None


def build_report_command(binary: Path, config_dir: Path, home: Path) -> Program:
    """Build the command that reports usage by day for one config folder, without network access."""
    environ = {"CLAUDE_CONFIG_DIR": str(config_dir), "HOME": str(home), "USERPROFILE": str(home), "TZ": "UTC"}
    return Program([str(binary), "claude", "daily", "--json", "--offline"], environ)


def sum_output_tokens(report: bytes) -> int:
    """Sum the output tokens of all days in a report."""
    return sum(day["outputTokens"] for day in json.loads(report)["daily"])
