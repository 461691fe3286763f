"""cozempic: prunes session files in place; a Python program from PyPI."""

from __future__ import annotations

import os
from pathlib import Path

from ..measure import ROOT, Program
from .environment import install_package

VERSION = "1.8.39"
FOLDER = ROOT / ".tools" / "peers" / f"cozempic-{VERSION}"


def install_program() -> Path | str:
    """Return the program, installed on first use, or the reason why it is not available."""
    return install_package(FOLDER, "cozempic", f"cozempic=={VERSION}")


def build_prune_command(program: Path, session: Path, home: Path, prescription: str = "standard") -> Program:
    """Build the command that prunes one file, with its own home folder and without installing its hooks."""
    environ = {"HOME": str(home), "PATH": os.defpath, "COZEMPIC_NO_GLOBAL_INIT": "1", "COZEMPIC_NO_AUTO_UPDATE": "1"}
    variables = [f"{name}={value}" for name, value in environ.items()]
    return Program(["env", "-i", *variables, str(program), "treat", str(session), "-rx", prescription, "--execute"])
