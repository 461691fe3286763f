"""Run pytest, and repeat the few tests that failed, one after another.

    run_tests.py PYTEST [ARGUMENT ...]

In CI, thousands of tests that start browsers, terminals and servers share two cores. A test that fails there but
passes alone has found a race, in the test or in turnlog. The race must be corrected, but it says little about the
change that CI is judging, so the run lists such tests and succeeds. A test that fails both times fails the run, and so
do more failures than MAX_REPEATED_TESTS.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MAX_REPEATED_TESTS = 6
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
TESTS_FAILED = 1  # pytest's exit status; others mean that it could not run


def main(command: list[str]) -> int:
    """Return the exit status of the run, or of its repetition."""
    LAST_FAILED.unlink(missing_ok=True)
    status = subprocess.call(command)
    failed = list_failed_tests()
    if status != TESTS_FAILED or not 0 < len(failed) <= MAX_REPEATED_TESTS:
        return status
    print_section(f"{len(failed)} failed; running them again, one after another", failed)
    status = subprocess.call([*command, "-n", "0", "--last-failed", "--last-failed-no-failures", "none"])
    if status == 0:
        print_section("passed alone, so these tests race with something: correct them", failed)
    return status


def list_failed_tests() -> list[str]:
    """Return the ids of the tests that failed in the latest run."""
    try:
        return sorted(json.loads(LAST_FAILED.read_bytes()))
    except FileNotFoundError:
        return []


def print_section(title: str, tests: list[str]) -> None:
    print(f"== {title}", *(f"==   {test}" for test in tests), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
