"""Print how often the board is right: `python -m tests.interop.live.score [--version V] [--[no-]hooks] [NAME …]`.

`judging` plays every recording to the board and compares. `--markdown` prints the table of docs/live.md.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from statistics import median

from tests.interop.live.screen import TRUE_STATES
from tests.interop.live.state_judge import JudgedInterval, Stretch, judge_all, measure_share
from tests.interop.live.state_recording import FOLDER

CAUSES = ("written late", "noticed late", "shown early", "in between", "never shown")
_MAX_PAIRS = 12


def find_causes(interval: JudgedInterval, miss: Stretch) -> dict[str, float]:
    """Split the seconds of a miss by cause.

    A miss at the start of a state lasts until the client writes something (or starts a process, or runs a hook), and
    then until the board has noticed. A miss at the end of a state means that the board was ahead of the screen.
    """
    right = [stretch for stretch in interval.stretches if interval.is_right(stretch)]
    is_first = all(stretch.start > miss.start for stretch in right)
    is_last = all(stretch.start < miss.start for stretch in right)
    if is_first and is_last:
        return {"never shown": miss.seconds}
    if not is_first:
        return {"shown early" if is_last else "in between": miss.seconds}
    deciding = max((change for change in interval.changes if change <= miss.end), default=miss.start)
    late = min(max(deciding - miss.start, 0.0), miss.seconds)
    return {"written late": late, "noticed late": miss.seconds - late}


def _list_groups(intervals: list[JudgedInterval]) -> list[tuple[str, bool]]:
    return sorted({(i.version, i.has_hooks) for i in intervals}, key=lambda g: (_version_key(g[0]), g[1]))


def format_table(intervals: list[JudgedInterval], is_short: bool) -> str:
    """Return a Markdown table: per true state and client, the share of time and the latency."""
    groups = _list_groups(intervals)
    names = [f"{version}{' with hooks' if has_hooks else ''}" for version, has_hooks in groups]
    lines = ["| truth | " + " | ".join(names) + " |", "|---|" + "---|" * len(groups)]
    for state in (*TRUE_STATES, "all"):
        cells = [
            _format_cell(
                [i for i in intervals if (i.version, i.has_hooks) == group and state in ("all", i.truth.state)],
                is_short,
            )
            for group in groups
        ]
        lines.append(f"| {state} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(-int(part) for part in version.split("."))


def _format_cell(intervals: list[JudgedInterval], is_short: bool) -> str:
    if not intervals:
        return ""
    seconds = sum(i.seconds for i in intervals)
    column = sum(i.column_seconds for i in intervals) / max(seconds, 1e-9)
    waits = sorted(min(i.latency, i.seconds) for i in intervals if i.seconds >= 0.5)
    late = f"{median(waits):.1f}/{waits[math.ceil(len(waits) * 0.95) - 1]:.1f}" if waits else "-"
    if is_short:
        return f"{measure_share(intervals):.0%}, {late}".replace("%", " %", 1)
    return f"{measure_share(intervals):.0%} ({column:.0%} of columns) of {seconds:.0f} s, {late} s"


def format_misses(intervals: list[JudgedInterval], min_seconds: float) -> list[str]:
    return [
        f"{i.recording} {i.truth.session_id[:4]} at {s.start:.1f} for {s.seconds:.1f} s: "
        f"{i.truth.state}, told {s.told} ({s.words})"
        for i in intervals
        for s in i.misses
        if s.seconds >= min_seconds
    ]


def format_causes(intervals: list[JudgedInterval]) -> str:
    """Return a Markdown table: per client, the share of all time that was missed, by cause."""
    lines = ["| client | " + " | ".join(CAUSES) + " |", "|---|" + "---|" * len(CAUSES)]
    for version, has_hooks in _list_groups(intervals):
        group = [i for i in intervals if (i.version, i.has_hooks) == (version, has_hooks)]
        total, found = sum(i.seconds for i in group), dict.fromkeys(CAUSES, 0.0)
        for interval in group:
            for miss in interval.misses:
                for cause, seconds in find_causes(interval, miss).items():
                    found[cause] += seconds
        shares = [f"{found[cause] / total:.1%}".replace("%", " %") for cause in CAUSES]
        lines.append(f"| {version}{' with hooks' if has_hooks else ''} | " + " | ".join(shares) + " |")
    return "\n".join(lines)


def format_pairs(intervals: list[JudgedInterval]) -> list[str]:
    """List which state the board showed for which true state, and for how long, the worst first."""
    found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for interval in intervals:
        for miss in interval.misses:
            found[interval.truth.state, miss.told].append(miss.seconds)
    worst = sorted(found.items(), key=lambda item: -sum(item[1]))[:_MAX_PAIRS]
    return [f"{sum(times):6.1f} s in {len(times):3} cases: {truth}, told {told}" for (truth, told), times in worst]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how often the board is right about recorded sessions.")
    parser.add_argument("names", nargs="*", help="only recordings whose name contains one of these")
    parser.add_argument("--version", help="only recordings of this client")
    parser.add_argument("--hooks", action=argparse.BooleanOptionalAction, help="only recordings with or without hooks")
    parser.add_argument("--markdown", action="store_true", help="print only the tables of docs/live.md")
    parser.add_argument("--misses", type=float, default=2.0, help="list misses of this many seconds or more")
    options = parser.parse_args()
    paths = [
        path
        for path in sorted(FOLDER.glob("*.jsonl.gz"))
        if (options.version is None or path.name.startswith(f"{options.version}-"))
        and (options.hooks is None or options.hooks == path.name.endswith("-hooks.jsonl.gz"))
        and (not options.names or any(name in path.name for name in options.names))
    ]
    if not paths:
        parser.error(f"no such recording in {FOLDER}")
    intervals = judge_all(paths)
    if options.markdown:
        print(f"{format_table(intervals, is_short=True)}\n\n{format_causes(intervals)}")
        return 0
    print("Share of time right (share in the right column) of the time in that state, latency median/95 %\n")
    print(format_table(intervals, is_short=False))
    print(f"\nShare of all time that was missed, by cause\n\n{format_causes(intervals)}\n")
    print("\n".join(format_pairs(intervals)))
    misses = format_misses(intervals, options.misses)
    print(f"\n{len(paths)} recordings; {len(misses)} misses of {options.misses:g} s or more:")
    print("\n".join(misses))
    return 0


if __name__ == "__main__":
    sys.exit(main())
