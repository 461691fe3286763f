"""The rows in which the newest client records what it sends."""

from __future__ import annotations

import json

from demo.backups import Backups
from demo.ids import Row, estimate_tokens, hash_message, hash_text, make_uuid
from demo.project import Call

BETAS = ["claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27"]


class Requests(Backups):
    """A journal that records requests."""

    def _add_request(self, model: str) -> str:
        """Add the rows for the current request: blobs for content that is in no other row, and the request itself."""
        if not self.base_request:
            self._add_request_shape()
        for message, blob in self.tail:
            if blob:
                self.add_metadata("api-request-blob", hash=hash_message(message), message=message)
        own = make_uuid(f"{self.name}/request/{len(self.rows)}")
        base = {"base": self.base_request} if self.base_request else {}
        hashes = [hash_message(message) for message, _ in self.tail]
        at = self.sent + len(hashes) - 1
        self.rows.append(
            {
                "type": "api-request",
                "sessionId": self.sid,
                "id": own,
                "timestamp": self.next_time(),
                "version": self.version,
                "querySource": "repl_main_thread" if self.entrypoint == "cli" else "sdk",
                "shapeHash": self.shape_hash,
                "params": {
                    "model": model,
                    "betas": BETAS,
                    "max_tokens": 128000,
                    "output_config": {"effort": "medium"},
                    "thinking": {"type": "adaptive", "display": "updates"},
                },
                **base,
                "keep": self.sent,
                "tail": hashes,
                "cacheControl": [
                    {"path": ["system", 0], "value": {"type": "ephemeral"}},
                    {"path": ["messages", at, "content", 0], "value": {"type": "ephemeral"}},
                ],
                "requestDigest": hash_text(f"{own}{hashes}"),
            }
        )
        self.sent += len(hashes)
        self.base_request, self.tail = own, []
        return own

    def _add_request_shape(self) -> None:
        shape = {
            "system": [
                {
                    "type": "text",
                    "text": "You are a coding agent. (A made-up prompt: the demo keeps it short.)",
                }
            ],
            "tools": [{"name": name} for name in ("Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Write")],
        }
        self.shape_hash = hash_text(json.dumps(shape))
        self.rows.append(
            {
                "type": "api-request-shape",
                "sessionId": self.sid,
                "shapeHash": self.shape_hash,
                "timestamp": self.next_time(),
                "version": self.version,
                "shape": shape,
            }
        )

    def _note_sent_messages(self, blocks: list[Row], calls: list[tuple[Call, Row]]) -> None:
        results: list[Row] = []
        for row in reversed(self.rows):
            if row["type"] == "assistant" and row["message"]["content"][0] is blocks[0]:
                break
            if row["type"] == "user" and row["isSidechain"] == (self.agent is not None):
                results[:0] = [b for b in row["message"]["content"] if b["type"] == "tool_result"]
        self.tail.append(({"role": "assistant", "content": blocks}, False))
        if calls and results:
            self.tail.append(({"role": "user", "content": results}, False))
        for block in results:
            self._fresh += estimate_tokens(block["content"])
