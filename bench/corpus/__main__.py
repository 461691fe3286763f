"""Write collections of made-up sessions, and describe any collection.

python -m bench.corpus generate OUT --size 500MB [--seed 1] [--session-size 200MB | --sessions 5000] [--clean]
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

from .collection import append, generate, generate_session, generate_short

_UNITS = {"GB": 10**9, "MB": 10**6, "KB": 10**3, "B": 1}


def parse_size(text: str) -> int:
    """How many bytes `500MB` are."""
    text = text.strip().upper()
    for unit, factor in _UNITS.items():
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * factor)
    return int(text)


def stats(root: Path) -> None:
    """Print which kinds of lines the files below a folder hold, and how long they are."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for path in sorted(root.rglob("*.jsonl")):
        for line in path.read_bytes().split(b"\n"):
            if line:
                kinds[_kind(line)].append(len(line))
    every = sorted(size for sizes in kinds.values() for size in sizes)
    total = sum(every)
    quantiles = [_quantile(every, share) for share in (0.1, 0.5, 0.9, 0.99, 0.999)]
    print(
        f"{len(every)} lines, {total / 1e6:.1f} MB, mean {total / len(every):.0f}; p10/50/90/99/99.9/max",
        quantiles,
        every[-1],
    )
    print(f"{'kind':32}{'lines%':>8}{'bytes%':>8}{'p10':>8}{'p50':>8}{'p90':>9}{'p99':>9}{'max':>10}")
    for kind, sizes in sorted(kinds.items(), key=lambda item: -sum(item[1])):
        sizes.sort()
        shares = f"{kind:32}{100 * len(sizes) / len(every):8.2f}{100 * sum(sizes) / total:8.2f}"
        p10, p50, p90, p99 = (_quantile(sizes, share) for share in (0.1, 0.5, 0.9, 0.99))
        print(f"{shares}{p10:8}{p50:8}{p90:9}{p99:9}{sizes[-1]:10}")


def _quantile(sizes: list[int], share: float) -> int:
    return sizes[min(len(sizes) - 1, int(len(sizes) * share))]


def _kind(line: bytes) -> str:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "(not JSON)"
    if not isinstance(found, dict):
        return "(not an object)"
    kind, detail = found.get("type"), None
    if kind in ("user", "assistant"):
        content = _inner(found, "message").get("content")
        block = content[0] if isinstance(content, list) and content else None
        return f"{kind}:{block.get('type') if isinstance(block, dict) else 'str'}"
    if kind == "progress":
        detail = _inner(found, "data").get("type")
    elif kind == "system":
        detail = found.get("subtype")
    return f"{kind}:{detail}" if detail else str(kind)


def _inner(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("generate")
    making.add_argument("out", type=Path)
    making.add_argument("--size", type=parse_size, default=50 * 10**6)
    making.add_argument("--seed", type=int, default=1)
    making.add_argument("--session-size", type=parse_size, help="one session of this size instead of many")
    making.add_argument("--sessions", type=int, help="so many short sessions instead of a total size")
    making.add_argument("--clean", action="store_true", help="no torn last lines")
    adding = commands.add_parser("append")
    adding.add_argument("out", type=Path)
    adding.add_argument("--files", type=int, default=20)
    adding.add_argument("--lines", type=int, default=100)
    adding.add_argument("--seed", type=int, default=2)
    describing = commands.add_parser("stats")
    describing.add_argument("root", type=Path)
    return parser.parse_args()


def main() -> None:
    """Run one command."""
    words = _words()
    if words.command == "stats":
        stats(words.root)
    elif words.command == "append":
        added = append(words.out, words.files, words.lines, words.seed)
        print(f"appended {added / 1e6:.2f} MB", file=sys.stderr)
    else:
        if words.session_size:
            truth = generate_session(words.out, words.session_size, words.seed)
        elif words.sessions:
            truth = generate_short(words.out, words.sessions, words.seed)
        else:
            truth = generate(words.out, words.size, words.seed, clean=words.clean)
        size, files = truth.facts["bytes"] / 1e6, truth.facts["files"]
        print(f"{words.out}: {size:.1f} MB in {files} files, {truth.types.total()} lines", file=sys.stderr)


if __name__ == "__main__":
    main()
