"""Feed generated input to the reader and the views until something fails or the time is up.

    python -m fuzz.read raw   [libFuzzer options] [seed folders]    raw bytes
    python -m fuzz.read built [libFuzzer options] [seed folders]    files built by the tests' strategies
    python -m fuzz.read plain [SECONDS]                             hypothesis alone, without atheris

The first two need atheris and stop at the first failure; libFuzzer saves its input. A folder of short session files is
a useful seed; `-max_total_time=3600` runs for an hour.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

DICTIONARY = Path(__file__).with_name("json.dict")


def run_hypothesis(seconds: float) -> None:
    """Check generated files with hypothesis until the time is up."""
    from .properties import check_built_files

    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        check_built_files()
        rounds += 1
    print(f"{rounds} rounds of 200 files: nothing found")


def run_libfuzzer(source: str, options: list[str]) -> None:
    """Check input that libFuzzer derives from the code that earlier input has reached."""
    import atheris  # type: ignore[import-untyped]

    with atheris.instrument_imports(include=["turnlog"]):
        from . import properties
    target = properties.check_raw_bytes if source == "raw" else properties.check_built_files.hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    atheris.Setup([source, f"-dict={DICTIONARY}", *options], target)
    atheris.Fuzz()


def main(arguments: list[str]) -> None:
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
