"""Run the benchmarks.

    python -m bench [--runs 5] [--scale 1.0] [part …]

Each part measures turnlog and its reference alternately in the same run; compare ratios, not seconds.
See bench/README.md.
"""

from __future__ import annotations

import argparse

from . import (
    agent,
    console,
    edit,
    first,
    fleet,
    growth,
    live,
    mcp,
    pages,
    quest,
    read,
    search,
    store,
    strip,
    trace,
    web,
)
from .measure import BenchmarkError

PARTS = {
    **read.PARTS,
    **first.PARTS,
    **store.PARTS,
    **search.PARTS,
    **edit.PARTS,
    **strip.PARTS,
    **web.PARTS,
    **pages.PARTS,
    **trace.PARTS,
    **agent.PARTS,
    **console.PARTS,
    **live.PARTS,
    **mcp.PARTS,
    **fleet.PARTS,
    **quest.PARTS,
    **growth.PARTS,
}


def main() -> None:
    """Run the parts and print their reports; a missed goal is reported but doesn't change the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        choices=[[], *PARTS],
        help=f"parts to run (default: all): {', '.join(PARTS)}",
    )
    parser.add_argument(
        "--runs", type=int, default=5, help="how many times to run each program; the best run counts (default: 5)"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="size of the collections, such as 0.1 for a quick run (default: 1.0)"
    )
    arguments = parser.parse_args()
    for name in arguments.parts or PARTS:
        print(f"\n{name}: {PARTS[name].__doc__}", flush=True)
        try:
            for line in PARTS[name](arguments.runs, arguments.scale):
                print(line, flush=True)
        except BenchmarkError as error:
            print(f"  skipped: {error}", flush=True)


if __name__ == "__main__":
    main()
