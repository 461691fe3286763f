"""What the real client sent, kept as lines of JSON beside the sessions.

    tests/data/sessions.oracle.jsonl    genuine sessions of several versions
    tests/data/variants.oracle.jsonl    one session edited in 58 ways
    tests/data/cases.oracle.jsonl       hand-made files (`cases`), one oddity each

A record: file (relative to its root), sha256, version, outcome (sent | refused | timeout | sent-nothing |
compacts), model, messages as digests. Only `sent` records are judged; one with `unjudged` (rows without uuid
or parentUuid: the client keeps little more than the last of them) only where a strict comparison is wanted.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.interop.classify import Object
from tests.interop.digest import difference, digests
from tests.interop.resume import resume, version_of

DATA = Path(__file__).resolve().parent.parent / "data"
SETS = ("sessions", "variants")


@dataclass(frozen=True)
class Recording:
    """What one client did with one file."""

    file: str
    sha256: str
    version: str
    outcome: str
    messages: list[Object]
    model: str | None = None
    note: str | None = None
    unjudged: str | None = None

    def line(self) -> str:
        """The record as a line of JSON, without what it does not have."""
        entry = {key: value for key, value in vars(self).items() if value is not None}
        entry["messages"] = entry.pop("messages")
        return json.dumps(entry, ensure_ascii=False) + "\n"


def load(path: Path) -> list[Recording]:
    """The records of a file."""
    with path.open(encoding="utf-8") as lines:
        return [Recording(**json.loads(line)) for line in lines]


def record(client: Path, root: Path, files: list[Path], jobs: int = 2, limit: float = 30) -> list[Recording]:
    """Fresh records of files below a root, in their order."""
    version = version_of(client)

    def one(path: Path) -> Recording:
        raw, got = path.read_bytes(), resume(client, path, limit)
        return Recording(
            file=path.relative_to(root).as_posix(),
            sha256=hashlib.sha256(raw).hexdigest(),
            version=version,
            outcome=got.outcome,
            messages=digests(got.messages),
            model=got.model,
            note=got.note,
            unjudged=explain_weakness(raw),
        )

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, files))


def explain_weakness(raw: bytes) -> str | None:
    """Why a file proves little, or None."""
    for line in raw.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict) or row.get("type") not in ("user", "assistant"):
            continue
        if not row.get("uuid") or "parentUuid" not in row:
            return "rows without uuid or parentUuid"
    return None


def disagreement(recording: Recording, messages: list[Object] | None) -> str | None:
    """Where a reader's messages (None = it refuses the file) differ from a recording, in words, or None."""
    if recording.outcome == "refused":
        return None if messages is None else "the client refuses this file, turnlog does not"
    if messages is None:
        return "turnlog refuses this file, the client does not" if recording.messages else None
    return difference(recording.messages, digests(messages))
