"""A process that writes sessions as a client does: line by line, sometimes in halves, and sub-agents beside them.

writer.py SESSION LINES PAUSE [NAME]      appends so many answers to a file; NAME is put into their uuids
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def line(uuid: str, message: Mapping[str, object], kind: str = "assistant", **fields: Any) -> bytes:
    """One entry, written now."""
    date = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    body = {"parentUuid": None, "isSidechain": False, "type": kind, "uuid": uuid, "timestamp": date, "message": message}
    return json.dumps({**body, **fields}).encode() + b"\n"


def answer(uuid: str, text: str, **fields: Any) -> bytes:
    """An answer of one text."""
    content = [{"type": "text", "text": text}]
    return line(uuid, {"role": "assistant", "id": f"m-{uuid}", "model": "claude-opus-5", "content": content}, **fields)


def main() -> None:
    """Write."""
    path, count, pause = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    name = sys.argv[4] if len(sys.argv) > 4 else "w"
    with path.open("ab", buffering=0) as file:
        for number in range(count):
            data = answer(f"{name}-{number}", f"answer {number} of {name}")
            half = len(data) // 2 if number % 3 == 0 else len(data)
            file.write(data[:half])
            if half < len(data):
                time.sleep(pause / 2)
                file.write(data[half:])
            time.sleep(pause)


if __name__ == "__main__":
    main()
