"""Rows of a session file that name the session, or seem to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from turnlog.entries.file_ends import MAX_END_BYTES
from turnlog.entries.titles import TITLE_FIELDS

FILLER = {"type": "assistant", "message": {"content": "y" * 2 * MAX_END_BYTES}}


def write(path: Path, *rows: dict[str, Any] | bytes) -> Path:
    lines = [row if isinstance(row, bytes) else json.dumps(row, separators=(",", ":")).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def build_prompt_row(text: Any, **fields: Any) -> dict[str, Any]:
    return {"parentUuid": None, **fields, "type": "user", "message": {"content": text}}


def build_title_row(kind: str, title: Any) -> dict[str, Any]:
    return {"type": kind, TITLE_FIELDS[kind][0]: title}


TEXTS = st.sampled_from(["a", "b", "", "<command-name>/clear</command-name>", "<bash-input>ls</bash-input>", "\ud800"])
CONTENTS = TEXTS | st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXTS), max_size=2)
FIELDS = st.sampled_from([{}, {"isSidechain": True}, {"isMeta": True}, {"origin": {"kind": "peer"}}, {"x": '"user"'}])
USERS = st.builds(lambda content, fields: build_prompt_row(content, **fields), CONTENTS, FIELDS)
TITLES = st.builds(build_title_row, st.sampled_from(list(TITLE_FIELDS)), TEXTS | st.none())
SPACED = TITLES.map(lambda row: json.dumps(dict(reversed(row.items())), indent=None).encode())
OTHERS = st.sampled_from([FILLER, {"type": "assistant", "message": {}}, b"[1]", b"{broken", b"", b'{"x":"ai-title"}'])
ROWS = st.lists(USERS | TITLES | SPACED | OTHERS, max_size=9)
