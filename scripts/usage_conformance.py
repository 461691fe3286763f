"""Run a tool on the conformance set for counting usage, and report in which cases it is right.

    python scripts/usage_conformance.py
    python scripts/usage_conformance.py --adapter ccusage --command 'npx ccusage'
    python scripts/usage_conformance.py --adapter plain --command 'python my_counter.py'

See tests/data/usage/README.md. The exit status is 0 if everything that the tool reports is right.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from math import isclose
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CASES_FOLDER = ROOT / "tests" / "data" / "usage"
sys.path.insert(0, str(ROOT / "scripts"))


def find_differences(expected: dict[str, Any], actual: dict[str, Any], place: str) -> Iterator[str]:
    """Find values that differ from the expected ones; a missing value is not a difference."""
    for name, right in expected.items():
        if name not in actual:
            continue
        value = actual[name]
        if isinstance(right, dict):
            yield from find_differences(right, value, f"{place}.{name}")
        elif not isclose(value, right, rel_tol=1e-6, abs_tol=5e-7):
            yield f"{place}.{name}: {value}, expected {right}"


def compare_groups(expected: dict[str, dict[str, Any]], actual: dict[str, dict[str, Any]], place: str) -> Iterator[str]:
    """Compare sums by session or by day; a missing or additional group is a difference."""
    if not actual:
        return
    for name, amounts in expected.items():
        yield from find_differences(
            amounts, actual.get(name) or dict.fromkeys(amounts, 0) | {"quality": {}}, f"{place} {name}"
        )
    for name in actual.keys() - expected.keys():
        if any(actual[name].get(kind) for kind in ("input_tokens", "output_tokens", "cost_usd")):
            yield f"{place} {name}: not expected"


def judge_case(case: Path, adapter: str, command: list[str]) -> list[str]:
    """Return what a tool gets wrong in one case."""
    from usage_cases.adapters import ask_tool

    expected = json.loads((case / "expected.json").read_bytes())
    answer = ask_tool(adapter, command, case, list(expected.get("days", {})))
    mistakes = list(find_differences(expected["total"], answer.total, "total"))
    mistakes += [] if answer.total else ["no answer"]
    mistakes += (
        compare_groups(expected.get("sessions", {}), answer.sessions, "session") if "sessions" in expected else []
    )
    for zone, days in expected.get("days", {}).items():
        mistakes += compare_groups(days, answer.days.get(zone, {}), f"{zone} day")
    return mistakes


def main() -> int:
    """Run all cases, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of the cases to run (default: all)")
    parser.add_argument("--adapter", choices=("turnlog", "ccusage", "plain"), default="turnlog")
    parser.add_argument(
        "--command", default=f"{shlex.quote(sys.executable)} -m turnlog", help="command that runs the tool"
    )
    arguments = parser.parse_args()
    folders = [CASES_FOLDER / name for name in arguments.cases] or sorted(
        path.parent for path in CASES_FOLDER.glob("*/expected.json")
    )
    right = in_total = 0
    for case in folders:
        mistakes = judge_case(case, arguments.adapter, shlex.split(arguments.command))
        right += not mistakes
        in_total += not any(text.startswith(("total", "no answer")) for text in mistakes)
        print(f"{'wrong' if mistakes else 'right'}  {case.name}")
        for text in mistakes:
            print(f"         {text}")
    print(f"{right} of {len(folders)} cases are right; {in_total} have the right total")
    return 0 if right == len(folders) else 1


if __name__ == "__main__":
    sys.exit(main())
