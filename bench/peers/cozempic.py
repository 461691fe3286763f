"""cozempic: prunes session files in place, a Python program from PyPI."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from ..measure import ROOT, Program

VERSION = "1.8.39"
FOLDER = ROOT / ".tools" / "peers" / f"cozempic-{VERSION}"


def install() -> Path | str:
    """The program, installed if it is not yet; or why there is none."""
    program = FOLDER / "bin" / "cozempic"
    if program.exists():
        return program
    if sys.platform == "win32":
        return "not tried on Windows"
    try:
        venv.create(FOLDER, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no environment for it: {error}"
    words = [str(FOLDER / "bin" / "pip"), "install", "--quiet", f"cozempic=={VERSION}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return (
        program if program.exists() else f"pip could not install it: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
    )


def treat(program: Path, session: Path, home: Path, prescription: str = "standard") -> Program:
    """Prune one file, in a home folder of its own and without the hooks that it would install."""
    environ = {"HOME": str(home), "PATH": os.defpath, "COZEMPIC_NO_GLOBAL_INIT": "1", "COZEMPIC_NO_AUTO_UPDATE": "1"}
    words = [f"{name}={value}" for name, value in environ.items()]
    return Program(["env", "-i", *words, str(program), "treat", str(session), "-rx", prescription, "--execute"])
