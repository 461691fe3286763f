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


def plain(seconds: float) -> None:
    """Try made-up files with hypothesis."""
    from .properties import built

    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        built()
        rounds += 1
    print(f"{rounds} rounds of 200 files: nothing found")


def guided(way: str, options: list[str]) -> None:
    """Try what libFuzzer finds by watching which code each input reaches."""
    import atheris  # type: ignore[import-untyped]

    with atheris.instrument_imports(include=["turnlog"]):
        from . import properties
    target = properties.raw if way == "raw" else properties.built.hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    atheris.Setup([way, f"-dict={DICTIONARY}", *options], target)
    atheris.Fuzz()


def main(words: list[str]) -> None:
    """Run one of the three ways."""
    match words:
        case ["raw" | "built" as way, *options]:
            guided(way, options)
        case ["plain"] | []:
            plain(60)
        case ["plain", seconds]:
            plain(float(seconds))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
