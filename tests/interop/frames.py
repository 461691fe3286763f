"""What the newest client sends for messages that came while the model worked: `python -m tests.interop.frames`.

Records tests/data/queued_frames.json anew, for the attachments that it names. Look at the difference before committing
it; for another origin, add an attachment and record it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.interop.case_rows import base, raw, row
from tests.interop.clients import NEWEST, client
from tests.interop.recordings import DATA
from tests.interop.resume import resume

RECORDED = DATA / "queued_frames.json"


def record_frames(attachments: list[dict[str, Any]]) -> list[str]:
    """The text that the client sends for each attachment, in one session with an answer behind each."""
    rows = base()[:2]
    for attachment in attachments:
        rows.append(row(len(rows) + 1, len(rows), "attachment", attachment=attachment))
        rows.append(row(len(rows) + 1, len(rows), "assistant", "ok"))
    for number, item in enumerate(rows):
        item["timestamp"] = f"2026-01-01T{10 + number // 60:02d}:{number % 60:02d}:00.000Z"
    with tempfile.TemporaryDirectory(prefix="interop-") as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(raw(rows))
        sent = [message["content"] for message in resume(client(NEWEST), path).messages if message["role"] == "user"]
    return [content if isinstance(content, str) else content[0]["text"] for content in sent[1 : len(attachments) + 1]]


def main() -> int:
    """Write down what the client sends now."""
    attachments = [case["attachment"] for case in json.loads(RECORDED.read_text("utf-8"))]
    pairs = zip(attachments, record_frames(attachments), strict=True)
    cases = [{"attachment": attachment, "sent": sent} for attachment, sent in pairs]
    RECORDED.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
