"""Record anew what the newest client sends: `python -m tests.interop.oracle [sessions] [variants] [cases]`.

Writes tests/data/<set>.oracle.jsonl. Look at the difference before committing it.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.interop import cases
from tests.interop.clients import NEWEST, client
from tests.interop.recordings import DATA, SETS, Recording, load, record


def main(names: list[str]) -> int:
    """Record the named sets, or all."""
    for name in names or [*SETS, "cases"]:
        made = recorded_cases() if name == "cases" else record_anew(name)
        with (DATA / f"{name}.oracle.jsonl").open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(entry.line() for entry in made)
        totals = Counter(entry.outcome for entry in made)
        print(name, ", ".join(f"{count} {outcome}" for outcome, count in totals.most_common()))
    return 0


def record_anew(name: str) -> list[Recording]:
    """The files that a set's recording names, recorded anew."""
    root = DATA / name
    known = [root / entry.file for entry in load(DATA / f"{name}.oracle.jsonl")]
    return record(client(NEWEST), root, known)


def recorded_cases() -> list[Recording]:
    """The hand-made files, recorded."""
    with tempfile.TemporaryDirectory(prefix="interop-") as folder:
        return record(client(NEWEST), Path(folder), cases.write(Path(folder)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
