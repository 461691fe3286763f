"""Install programs from PyPI, each into its own environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path


def install_package(folder: Path, name: str, requirement: str, package: str | None = None) -> Path | str:
    """Return a program, installed into a folder on first use, or the reason why it is not available.

    A library has no program of its own; pass its `package`, and `python` as the name of the program.
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
        return f"could not create an environment: {error}"
    command = [str(folder / "bin" / "pip"), "install", "--quiet", requirement]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if is_installed():
        return program
    return f"pip could not install it: {(process.stderr.strip().splitlines() or ['?'])[-1]}"
