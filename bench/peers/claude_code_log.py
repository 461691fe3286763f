"""claude-code-log: converts session files to HTML pages; a Python program from PyPI."""

from __future__ import annotations

import os
from pathlib import Path

from ..measure import ROOT, Program
from .environment import install_package

VERSION = "1.7.0"
FOLDER = ROOT / ".tools" / "peers" / f"claude-code-log-{VERSION}"


def install_program() -> Path | str:
    """Return the program, installed on first use, or the reason why it is not available."""
    return install_package(FOLDER, "claude-code-log", f"claude-code-log=={VERSION}")


def build_page_command(program: Path, session: Path, output: Path, home: Path) -> Program:
    """Build the command that converts one session to one HTML page, with its own home folder."""
    environ = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}
    variables = [f"{name}={value}" for name, value in environ.items()]
    return Program(["env", "-i", *variables, str(program), str(session), "-o", str(output), "--no-individual-sessions"])
