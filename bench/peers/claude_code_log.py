"""claude-code-log: makes HTML pages of session files, a Python program from PyPI."""

from __future__ import annotations

import os
from pathlib import Path

from ..measure import ROOT, Program
from .environment import installed

VERSION = "1.7.0"
FOLDER = ROOT / ".tools" / "peers" / f"claude-code-log-{VERSION}"


def install() -> Path | str:
    """The program, installed if it is not yet; or why there is none."""
    return installed(FOLDER, "claude-code-log", f"claude-code-log=={VERSION}")


def page(program: Path, session: Path, output: Path, home: Path) -> Program:
    """One HTML page of one session, in a home folder of its own."""
    environ = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}
    words = [f"{name}={value}" for name, value in environ.items()]
    return Program(["env", "-i", *words, str(program), str(session), "-o", str(output), "--no-individual-sessions"])
