"""Recorded sessions in which the real client changed files of many forms, with what was on the disk after each turn.

tests/data/forms/<version>/{projects,file-history}   what the client wrote
tests/data/forms/<version>/turn-<n>/                 the files after turn n; turn-0: before the first
"""

from __future__ import annotations

from pathlib import Path

from tests.session.build import DATA

FORMS = DATA / "forms"
VERSIONS = ("2.1.29", "2.1.325")


def session_file(version: str) -> Path:
    """The recorded session."""
    (path,) = (FORMS / version / "projects").glob("*/*.jsonl")
    return path


def files_after(version: str, turn: int) -> dict[str, bytes]:
    """The files after a turn, by their path in the session."""
    folder = FORMS / version / f"turn-{turn}"
    return {f"/tmp/demo/forms-{version}/forms/{path.stem}": path.read_bytes() for path in sorted(folder.iterdir())}
