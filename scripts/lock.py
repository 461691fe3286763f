"""Rewrite the hash-pinned requirements files; `lock.py --upgrade` uses the newest versions.

    requirements.lock        everything that development needs
    requirements-test.lock   what the wheel and its tests need
    requirements-fleet.lock  what the tests of a lake on a cluster need
    requirements-docs.lock   what builds the documentation site
    requirements-uv.lock     the installer itself

The files are valid for Python 3.11 and newer on any platform, and don't mention a registry.
"""

from __future__ import annotations

import subprocess
import sys

from bootstrap import ROOT, UV, get_uv

COMPILE = (
    "pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url "
    "--no-emit-find-links --no-header"
).split()


def main(options: list[str]) -> int:
    """Compile all requirements files."""
    get_uv()
    extras = ["--extra", "fast", "--extra", "mcp", "--extra", "parquet"]
    compile_lock("requirements.lock", ["pyproject.toml", "--group", "dev", *extras], options)
    # The smaller file is constrained by the larger one, so that both contain the same versions.
    compile_lock(
        "requirements-test.lock",
        ["pyproject.toml", "--group", "test", "--constraint", "requirements.lock"],
        [],
    )
    compile_lock(
        "requirements-fleet.lock",
        ["pyproject.toml", "--group", "fleet-cluster", "--constraint", "requirements.lock"],
        [],
    )
    compile_lock("requirements-docs.lock", ["--group", "docs"], options)
    compile_lock("requirements-uv.lock", ["-"], options, stdin="uv>=0.13,<0.14\n")
    return 0


def compile_lock(name: str, source: list[str], options: list[str], stdin: str | None = None) -> None:
    """Compile one requirements file."""
    print(f"lock: {name}")
    command = [str(UV), *COMPILE, *options, *source, "--no-annotate", "--output-file", name]
    subprocess.run(command, cwd=ROOT, input=stdin, text=True, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
