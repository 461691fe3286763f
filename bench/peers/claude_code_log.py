"""claude-code-log: makes HTML pages of session files, a Python program from PyPI."""

from __future__ import annotations

import os
from pathlib import Path

from ..measure import ROOT, Program
from .environment import install_package

VERSION = "1.7.0"
FOLDER = ROOT / ".tools" / "peers" / f"claude-code-log-{VERSION}"


def install_program() -> Path | str:
    """The program, installed if it is not yet; or why there is none."""
    return install_package(FOLDER, "claude-code-log", f"claude-code-log=={VERSION}")


def build_page_command(program: Path, session: Path, output: Path, home: Path) -> Program:
    """One HTML page of one session, in a home folder of its own."""
    environ = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}
    variables = [f"{name}={value}" for name, value in environ.items()]
    return Program(["env", "-i", *variables, str(program), str(session), "-o", str(output), "--no-individual-sessions"])
