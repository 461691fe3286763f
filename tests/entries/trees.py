"""Made-up config folders for the tests of `entries`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SID = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"


def row(kind: str = "user", content: object = "hello", **fields: Any) -> dict[str, Any]:
    """An entry as 2.1.x writes it."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/alice/work",
        "sessionId": SID,
        "version": "2.1.29",
        "gitBranch": "main",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": "aaaaaaaa-0000-4000-8000-000000000001",
        "timestamp": "2026-01-02T03:04:05.678Z",
        **fields,
    }


def jsonl(*rows: object) -> bytes:
    """Lines as the client writes them: no spaces, raw UTF-8; bytes stay as they are."""
    return b"".join(
        line
        if isinstance(line, bytes)
        else json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        for line in rows
    )


def write(path: Path, *rows: object) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*rows))
    return path
