"""Conversations as digests, and where two of them part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from tests.interop.classify import Object
from tests.interop.normalise import head, normalise

END: Object = {"role": "end", "blocks": []}


def digests(messages: Iterable[Object]) -> list[Object]:
    """Messages, normalised, as {role, blocks: [{type, digest, head}]}; digest = sha256[:16] of the JSON."""
    return [
        {"role": message["role"], "blocks": [_digest(block) for block in message["content"]]}
        for message in normalise(messages)
    ]


def difference(client: list[Object], reader: list[Object]) -> str | None:
    """Where two digested conversations part, in words, or None."""
    for i in range(max(len(client), len(reader))):
        a, b = (side[i] if i < len(side) else END for side in (client, reader))
        for j in range(max(len(a["blocks"]), len(b["blocks"]), 1)):
            p, q = (side["blocks"][j] if j < len(side["blocks"]) else {} for side in (a, b))
            if a["role"] != b["role"] or p.get("digest") != q.get("digest"):
                where = f"message {i} of {len(client)}/{len(reader)}, block {j}"
                return f"{where}: client {_words(a, p)} | turnlog {_words(b, q)}"
    return None


def _digest(block: Object) -> Object:
    raw = json.dumps(block, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return {"type": block["type"], "digest": digest, "head": head(block).encode("utf-8", "replace").decode()}


def _words(message: Object, block: Object) -> str:
    return f"{message['role']} {block.get('type', '-')} {block.get('head', '')!r}"
