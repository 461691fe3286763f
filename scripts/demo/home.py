"""The made-up config folder while it is being filled."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from demo.ids import Row


@dataclass
class Home:
    """The files of the made-up config folder, by their relative paths."""

    files: dict[str, bytes] = field(default_factory=dict)
    history: list[Row] = field(default_factory=list)

    def put_file(self, path: str, content: str) -> None:
        self.files[path] = content.encode()

    def put_json(self, path: str, value: Any, indent: int | None = None) -> None:
        self.put_file(
            path,
            json.dumps(value, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":")),
        )

    def put_rows(self, path: str, rows: Iterable[Row]) -> None:
        """Add a file of JSON lines."""
        self.put_file(path, "".join(encode_row(row) + "\n" for row in rows))


def encode_row(row: Row) -> str:
    """Encode a row as the client does."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))
