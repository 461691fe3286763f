"""Run a tool on the conformance set for counting usage, and say in which cases it is right.

    python scripts/usage_conformance.py
    python scripts/usage_conformance.py --adapter ccusage --command 'npx ccusage'
    python scripts/usage_conformance.py --adapter plain --command 'python my_counter.py'

See tests/data/usage/README.md. The exit status is 0 if all that the tool tells is right.
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
SET = ROOT / "tests" / "data" / "usage"
sys.path.insert(0, str(ROOT / "scripts"))


def differences(expected: dict[str, Any], found: dict[str, Any], where: str) -> Iterator[str]:
    """What a tool tells otherwise than expected; what it does not tell is no difference."""
    for name, right in expected.items():
        if name not in found:
            continue
        told = found[name]
        if isinstance(right, dict):
            yield from differences(right, told, f"{where}.{name}")
        elif not isclose(told, right, rel_tol=1e-6, abs_tol=5e-7):
            yield f"{where}.{name}: {told} instead of {right}"


def parts(expected: dict[str, dict[str, Any]], found: dict[str, dict[str, Any]], where: str) -> Iterator[str]:
    """The same for sums by session or by day; one that is missing, or too much, is a difference."""
    if not found:
        return
    for name, amounts in expected.items():
        yield from differences(
            amounts, found.get(name) or dict.fromkeys(amounts, 0) | {"quality": {}}, f"{where} {name}"
        )
    for name in found.keys() - expected.keys():
        if any(found[name].get(kind) for kind in ("input_tokens", "output_tokens", "cost_usd")):
            yield f"{where} {name}: not expected"


def judge(case: Path, adapter: str, command: list[str]) -> list[str]:
    """What a tool gets wrong in one case."""
    from usage_cases.adapters import ask

    expected = json.loads((case / "expected.json").read_bytes())
    found = ask(adapter, command, case, list(expected.get("days", {})))
    wrong = list(differences(expected["total"], found.total, "total"))
    wrong += [] if found.total else ["no answer"]
    wrong += parts(expected.get("sessions", {}), found.sessions, "session") if "sessions" in expected else []
    for zone, days in expected.get("days", {}).items():
        wrong += parts(days, found.days.get(zone, {}), f"{zone} day")
    return wrong


def main() -> int:
    """Run all cases, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the folders of cases; all by default")
    parser.add_argument("--adapter", choices=("turnlog", "ccusage", "plain"), default="turnlog")
    parser.add_argument("--command", default=f"{shlex.quote(sys.executable)} -m turnlog", help="how the tool is called")
    words = parser.parse_args()
    folders = [SET / name for name in words.cases] or sorted(path.parent for path in SET.glob("*/expected.json"))
    right = in_total = 0
    for case in folders:
        wrong = judge(case, words.adapter, shlex.split(words.command))
        right += not wrong
        in_total += not any(text.startswith(("total", "no answer")) for text in wrong)
        print(f"{'wrong' if wrong else 'right'}  {case.name}")
        for text in wrong:
            print(f"         {text}")
    print(f"{right} of {len(folders)} cases right, {in_total} in their totals")
    return 0 if right == len(folders) else 1


if __name__ == "__main__":
    sys.exit(main())
