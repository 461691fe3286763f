"""Generate collections of made-up sessions, and describe any collection.

python -m bench.corpus generate OUT --size 500MB [--seed 1] [--clean]
    [--session-size 200MB | --sessions 5000 | --tiny 50000]
python -m bench.corpus append OUT --files 20 --lines 100 [--seed 2]
python -m bench.corpus stats FOLDER
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from .collection import (
    append_lines,
    generate_collection,
    generate_session,
    generate_short_sessions,
    generate_tiny_sessions,
)

_UNITS = {"GB": 10**9, "MB": 10**6, "KB": 10**3, "B": 1}


def parse_size(text: str) -> int:
    """Convert a size such as `500MB` to bytes."""
    text = text.strip().upper()
    for unit, factor in _UNITS.items():
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * factor)
    return int(text)


def print_stats(root: Path) -> None:
    """Print which kinds of lines the files in a folder contain, and how long the lines are."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for path in sorted(root.rglob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            if line:
                kinds[_classify_line(line)].append(len(line))
    every = sorted(size for sizes in kinds.values() for size in sizes)
    total = sum(every)
    quantiles = [_find_quantile(every, share) for share in (0.1, 0.5, 0.9, 0.99, 0.999)]
    print(
        f"{len(every)} lines, {total / 1e6:.1f} MB, mean {total / len(every):.0f}; p10/50/90/99/99.9/max",
        quantiles,
        every[-1],
    )
    print(f"{'kind':32}{'lines%':>8}{'bytes%':>8}{'p10':>8}{'p50':>8}{'p90':>9}{'p99':>9}{'max':>10}")
    for kind, sizes in sorted(kinds.items(), key=lambda item: -sum(item[1])):
        sizes.sort()
        shares = f"{kind:32}{100 * len(sizes) / len(every):8.2f}{100 * sum(sizes) / total:8.2f}"
        p10, p50, p90, p99 = (_find_quantile(sizes, share) for share in (0.1, 0.5, 0.9, 0.99))
        print(f"{shares}{p10:8}{p50:8}{p90:9}{p99:9}{sizes[-1]:10}")


def _find_quantile(sizes: list[int], share: float) -> int:
    return sizes[min(len(sizes) - 1, int(len(sizes) * share))]


def _classify_line(line: bytes) -> str:
    try:
        entry = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "(not JSON)"
    if not isinstance(entry, dict):
        return "(not an object)"
    kind, detail = entry.get("type"), None
    if kind in ("user", "assistant"):
        content = _get_object(entry, "message").get("content")
        block = content[0] if isinstance(content, list) and content else None
        return f"{kind}:{block.get('type') if isinstance(block, dict) else 'str'}"
    if kind == "progress":
        detail = _get_object(entry, "data").get("type")
    elif kind == "system":
        detail = entry.get("subtype")
    return f"{kind}:{detail}" if detail else str(kind)


def _get_object(entry: dict[str, Any], name: str) -> dict[str, Any]:
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    generate = commands.add_parser("generate")
    generate.add_argument("out", type=Path)
    generate.add_argument("--size", type=parse_size, default=50 * 10**6)
    generate.add_argument("--seed", type=int, default=1)
    generate.add_argument("--session-size", type=parse_size, help="size of a single session, instead of many sessions")
    generate.add_argument("--sessions", type=int, help="number of short sessions, instead of a total size")
    generate.add_argument("--tiny", type=int, help="number of sessions of a few KB, instead of a total size")
    generate.add_argument("--clean", action="store_true", help="no torn last lines")
    append = commands.add_parser("append")
    append.add_argument("out", type=Path)
    append.add_argument("--files", type=int, default=20)
    append.add_argument("--lines", type=int, default=100)
    append.add_argument("--seed", type=int, default=2)
    stats = commands.add_parser("stats")
    stats.add_argument("root", type=Path)
    return parser.parse_args()


def main() -> None:
    arguments = _parse_arguments()
    if arguments.command == "stats":
        print_stats(arguments.root)
    elif arguments.command == "append":
        added = append_lines(arguments.out, arguments.files, arguments.lines, arguments.seed)
        print(f"appended {added / 1e6:.2f} MB", file=sys.stderr)
    else:
        if arguments.session_size:
            truth = generate_session(arguments.out, arguments.session_size, arguments.seed)
        elif arguments.tiny:
            truth = generate_tiny_sessions(arguments.out, arguments.tiny, arguments.seed)
        elif arguments.sessions:
            truth = generate_short_sessions(arguments.out, arguments.sessions, arguments.seed)
        else:
            truth = generate_collection(arguments.out, arguments.size, arguments.seed, is_clean=arguments.clean)
        size, files = truth.facts["bytes"] / 1e6, truth.facts["files"]
        print(f"{arguments.out}: {size:.1f} MB in {files} files, {truth.types.total()} lines", file=sys.stderr)


if __name__ == "__main__":
    main()
