"""All benchmarks.

    python -m bench [--runs 5] [--scale 1.0] [part …]

Everything is measured in one run, in turns; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import argparse

from . import agent, edit, live, read, search, store, strip, trace, web
from .measure import Failed

PARTS = {
    **read.PARTS,
    **store.PARTS,
    **search.PARTS,
    **edit.PARTS,
    **strip.PARTS,
    **web.PARTS,
    **trace.PARTS,
    **agent.PARTS,
    **live.PARTS,
}


def main() -> None:
    """Measure and print; a missed goal is told, and is no failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", choices=[[], *PARTS], help=f"all of {', '.join(PARTS)}")
    parser.add_argument("--runs", type=int, default=5, help="the best of so many runs counts")
    parser.add_argument("--scale", type=float, default=1.0, help="smaller collections, for a quick look")
    arguments = parser.parse_args()
    for name in arguments.parts or PARTS:
        print(f"\n{name}: {PARTS[name].__doc__}", flush=True)
        try:
            for line in PARTS[name](arguments.runs, arguments.scale):
                print(line, flush=True)
        except BenchmarkError as error:
            print(f"  left out: {error}", flush=True)


if __name__ == "__main__":
    main()
