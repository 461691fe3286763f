"""Try the reader and the views on whatever comes up, until something fails or the time is over.

    python -m fuzz.read raw   [options of libFuzzer] [seed folders]    bytes as they are
    python -m fuzz.read built [options of libFuzzer] [seed folders]    bytes as choices of the tests' strategies
    python -m fuzz.read plain [SECONDS]                                without atheris: hypothesis alone

The first two need atheris and stop at the first failure, whose input libFuzzer keeps. A useful seed is a folder of
short session files; `-max_total_time=3600` is an hour.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

DICTIONARY = Path(__file__).with_name("json.dict")


def run_hypothesis(seconds: float) -> None:
    """Try made-up files with hypothesis."""
    from .properties import check_built_files

    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        check_built_files()
        rounds += 1
    print(f"{rounds} rounds of 200 files: nothing found")


def run_libfuzzer(source: str, options: list[str]) -> None:
    """Try what libFuzzer finds by watching which code each input reaches."""
    import atheris  # type: ignore[import-untyped]

    with atheris.instrument_imports(include=["turnlog"]):
        from . import properties
    target = properties.check_raw_bytes if source == "raw" else properties.check_built_files.hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    atheris.Setup([source, f"-dict={DICTIONARY}", *options], target)
    atheris.Fuzz()


def main(arguments: list[str]) -> None:
    """Run one of the three ways."""
    match arguments:
        case ["raw" | "built" as source, *options]:
            run_libfuzzer(source, options)
        case ["plain"] | []:
            run_hypothesis(60)
        case ["plain", seconds]:
            run_hypothesis(float(seconds))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
