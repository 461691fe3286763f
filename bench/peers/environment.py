"""Programs from PyPI that we compare with, each in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path


def install_package(folder: Path, name: str, requirement: str, package: str | None = None) -> Path | str:
    """A program, installed into a folder if it is not yet; or why there is none.

    A library has no program: it is the `package` then that must be there, and the program the interpreter.
    """
    program = folder / "bin" / name

    def is_installed() -> bool:
        return program.exists() and (package is None or any(folder.glob(f"lib/*/site-packages/{package}")))

    if is_installed():
        return program
    if sys.platform == "win32":
        return "not tried on Windows"
    try:
        venv.create(folder, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no environment for it: {error}"
    command = [str(folder / "bin" / "pip"), "install", "--quiet", requirement]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if is_installed():
        return program
    return f"pip could not install it: {(process.stderr.strip().splitlines() or ['?'])[-1]}"
