"""Set up this source tree with nothing but python3 and pip.

    bootstrap.py          .venv: locked tools, and turnlog from the source tree
    bootstrap.py wheel    dist/*.whl and .venv-wheel: locked test tools, and turnlog from that wheel
    bootstrap.py fleet    .venv-fleet: locked test tools and Dask, and turnlog from dist/*.whl
    bootstrap.py docs     .venv-docs: locked tools that build the documentation site
    bootstrap.py uv       .tools/bin/uv only

uv installs the packages; if it can't (it ignores pip's configuration), venv and pip do.
Anything that is up to date is left unchanged.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
VENV = ROOT / ".venv"
WHEEL_VENV = ROOT / ".venv-wheel"
DOCS_VENV = ROOT / ".venv-docs"
FLEET_VENV = ROOT / ".venv-fleet"
BIN = "Scripts" if os.name == "nt" else "bin"
EXE = ".exe" if os.name == "nt" else ""
UV = TOOLS / "bin" / f"uv{EXE}"

# An active environment may be the one that is being replaced, and environments that uv creates don't contain pip.
PYTHON = getattr(sys, "_base_executable", sys.executable)


def main(arguments: list[str]) -> int:
    """Run the step that the argument names."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this may run with an older Python
        return report_error(
            f"requires Python 3.11 or newer, but this is {sys.version.split()[0]}; try make PYTHON=python3.13"
        )
    steps = {"": set_up_source, "wheel": set_up_wheel, "docs": set_up_docs, "fleet": set_up_fleet, "uv": get_uv}
    step = steps.get(" ".join(arguments))
    if step is None:
        return report_error(f"unknown step: {' '.join(arguments)}")
    try:
        step()
    except subprocess.CalledProcessError as error:
        return report_error(f"failed: {' '.join(map(str, error.cmd))}")
    return 0


def set_up_source() -> None:
    """Create .venv with everything that development needs, and `turnlog` running from the source tree."""
    lock = ROOT / "requirements.lock"
    state = compute_fingerprint([lock, ROOT / "pyproject.toml"])
    if is_current(VENV, "setup", state) and find_script(VENV, "turnlog").exists():
        return
    fill_environment(VENV, lock)
    install_packages(VENV, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    write_stamp(VENV, "setup", state)


def set_up_wheel() -> None:
    """Build the wheel if the sources have changed, and install it into an environment without the source tree."""
    set_up_source()
    lock = ROOT / "requirements-test.lock"
    state = compute_fingerprint([lock])
    if not is_current(WHEEL_VENV, "tools", state):
        fill_environment(WHEEL_VENV, lock)
        write_stamp(WHEEL_VENV, "tools", state)
    frame = [ROOT / name for name in ("pyproject.toml", "README.md", "LICENSE")]
    state = compute_fingerprint([*frame, *sorted((ROOT / "src").rglob("*"))])
    if not is_current(WHEEL_VENV, "wheel", state):
        install_packages(WHEEL_VENV, "--no-deps", "--force-reinstall", str(build_wheel()))
        check_requirements(WHEEL_VENV)
        write_stamp(WHEEL_VENV, "wheel", state)


def set_up_fleet() -> None:
    """Create .venv-fleet, in which the tests of a lake run on a real cluster."""
    set_up_wheel()
    lock = ROOT / "requirements-fleet.lock"
    state = compute_fingerprint([lock])
    if not is_current(FLEET_VENV, "tools", state):
        fill_environment(FLEET_VENV, lock)
        write_stamp(FLEET_VENV, "tools", state)
    (wheel,) = (ROOT / "dist").glob("turnlog-*.whl")
    install_packages(FLEET_VENV, "--no-deps", "--force-reinstall", str(wheel))


def set_up_docs() -> None:
    """Create .venv-docs, which builds the documentation site."""
    lock = ROOT / "requirements-docs.lock"
    state = compute_fingerprint([lock])
    if not is_current(DOCS_VENV, "setup", state):
        fill_environment(DOCS_VENV, lock)
        write_stamp(DOCS_VENV, "setup", state)


def build_wheel() -> Path:
    """Build dist/turnlog-*.whl with the locked build tools."""
    for old in (ROOT / "dist").glob("turnlog-*.whl"):
        old.unlink()
    run_program(find_script(VENV, "python"), "-m", "hatchling", "build", "--target", "wheel", is_quiet=True)
    (wheel,) = (ROOT / "dist").glob("turnlog-*.whl")
    return wheel


def get_uv() -> None:
    """Install the locked uv into .tools, unless it is already there."""
    lock = ROOT / "requirements-uv.lock"
    state = hashlib.sha256(lock.read_bytes()).hexdigest()
    if is_current(TOOLS, "uv", state) and UV.exists():
        return
    print_progress("installing uv")
    # Without --upgrade, pip replaces nothing in --target.
    run_program(
        PYTHON,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--upgrade",
        "--target",
        TOOLS,
        "--require-hashes",
        "-r",
        lock,
    )
    write_stamp(TOOLS, "uv", state)


def fill_environment(venv: Path, lock: Path) -> None:
    """Recreate an environment with exactly the packages in the lock file."""
    print_progress(f"setting up {venv.name}")
    try:
        get_uv()
        run_program(UV, "venv", "--quiet", "--clear", "--python", PYTHON, venv)
    except (subprocess.CalledProcessError, OSError):
        print_progress("uv is not available; using venv and pip instead")
        run_program(PYTHON, "-m", "venv", "--clear", "--without-pip", venv)
    install_packages(venv, "--require-hashes", "-r", str(lock))


def install_packages(venv: Path, *arguments: str) -> None:
    """Install into an environment with uv or, if uv fails, with pip."""
    python = find_script(venv, "python")
    if UV.exists():
        try:
            return run_program(UV, "pip", "install", "--quiet", "--python", python, "--compile-bytecode", *arguments)
        except (subprocess.CalledProcessError, OSError):
            print_progress("uv could not install this; trying pip")
    return run_program(PYTHON, "-m", "pip", "--python", python, "install", "--quiet", *arguments)


def check_requirements(venv: Path) -> None:
    """Fail if a requirement of the wheel is missing or has the wrong version."""
    python = find_script(venv, "python")
    if UV.exists():
        run_program(UV, "pip", "check", "--quiet", "--python", python)
    else:
        run_program(PYTHON, "-m", "pip", "--python", python, "check", is_quiet=True)


def run_program(*command: str | Path, is_quiet: bool = False) -> None:
    """Run a program in the source tree, and raise an exception if it fails."""
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "PIP_ROOT_USER_ACTION": "ignore"}
    environment.pop("VIRTUAL_ENV", None)
    environment.pop("PYTHONPATH", None)
    process = subprocess.run(
        [*map(str, command)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE if is_quiet else None,
        stderr=subprocess.STDOUT if is_quiet else None,
        text=True,
        check=False,
    )
    if process.returncode:
        sys.stderr.write(process.stdout or "")
        raise subprocess.CalledProcessError(process.returncode, [*map(str, command)])


def find_script(venv: Path, name: str) -> Path:
    """Return the path of a program in an environment."""
    return venv / BIN / f"{name}{EXE}"


def compute_fingerprint(paths: Iterable[Path]) -> str:
    """Hash what an environment depends on: these files, their location and the Python version."""
    digest = hashlib.sha256(f"{ROOT}\n{PYTHON}\n{sys.version}\n".encode())
    for path in paths:
        if path.is_file() and path.suffix != ".pyc":
            digest.update(f"{path.relative_to(ROOT).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def is_current(folder: Path, step: str, state: str) -> bool:
    """Return whether a step has already been done with the same input."""
    stamp = folder / f".{step}.stamp"
    return stamp.exists() and stamp.read_text() == state


def write_stamp(folder: Path, step: str, state: str) -> None:
    """Record that a step is done."""
    (folder / f".{step}.stamp").write_text(state)


def print_progress(text: str) -> None:
    print(f"bootstrap: {text}", flush=True)


def report_error(text: str) -> int:
    """Print an error and return the exit status."""
    print(f"bootstrap: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
