"""Install the tracing backends that `make backends` tests against: `scripts/install-backends`.

    install-backends          install .backends/phoenix and .backends/mlflow exactly as locked
    install-backends lock     rewrite tests/backends/requirements-*.txt (--upgrade: newest versions)

Each requires hundreds of packages, so each has its own environment, separate from the project's.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bootstrap
import lock

BACKENDS = bootstrap.ROOT / ".backends"
LOCKS = Path("tests") / "backends"
REQUIREMENTS = {"phoenix": "arize-phoenix>=20.26,<21", "mlflow": "mlflow>=3.17,<4"}


def main(arguments: list[str]) -> int:
    """Install the backends, or rewrite the lock files."""
    try:
        if arguments[:1] == ["lock"]:
            write_locks(arguments[1:])
        elif arguments:
            return report_error(f"unknown argument: {' '.join(arguments)}")
        else:
            for name in REQUIREMENTS:
                install_backend(name)
    except subprocess.CalledProcessError as error:
        return report_error(f"failed: {' '.join(map(str, error.cmd))}")
    return 0


def write_locks(options: list[str]) -> None:
    """Pin everything that the backends need by hash."""
    bootstrap.get_uv()
    for name, requirement in REQUIREMENTS.items():
        lock.compile_lock(str(LOCKS / f"requirements-{name}.txt"), ["-"], options, stdin=f"{requirement}\n")


def install_backend(name: str) -> None:
    """Create the environment of one backend, unless it is up to date."""
    requirements = bootstrap.ROOT / LOCKS / f"requirements-{name}.txt"
    state = bootstrap.compute_fingerprint([requirements])
    venv = BACKENDS / name
    if not bootstrap.is_current(venv, "backend", state):
        BACKENDS.mkdir(exist_ok=True)
        bootstrap.fill_environment(venv, requirements)
        bootstrap.write_stamp(venv, "backend", state)


def report_error(text: str) -> int:
    """Print an error and return the exit status."""
    print(f"install-backends: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
