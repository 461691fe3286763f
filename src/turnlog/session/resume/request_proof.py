"""Verifies the reconstruction against the file itself: the newest clients record a hash of every message they send.

An `api-request` entry lists the messages in a request by hash: it keeps the first messages of an earlier request
(`base`, `keep`) and adds its own `tail`. A message that can't be assembled from other entries follows as an
`api-request-blob`. Therefore, each hash in a tail must belong to the reconstruction or to a blob.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.errors import Refused
from turnlog.session.calls import Call
from turnlog.session.messages import Message, read_message_content
from turnlog.session.resume.conversation import build_conversation
from turnlog.session.resume.parts import to_client_json


class RequestProof(NamedTuple):
    """The result of looking up the messages recorded for a session's requests."""

    requests: int
    rebuilt: int
    """Hashes of messages that turnlog rebuilt from the entries."""
    blobs: int
    """Hashes of messages that the file contains in full."""
    altered: int
    """Hashes of messages that the file contains with changed text, which prove nothing."""
    unresolved: list[tuple[str, str]]
    """(request, hash) of messages that were not found."""

    @property
    def total(self) -> int:
        """The number of recorded hashes."""
        return self.rebuilt + self.blobs + self.altered + len(self.unresolved)

    @property
    def resolved_count(self) -> int:
        """The number of hashes that were found."""
        return self.rebuilt + self.blobs


def prove_requests(file: Transcript, messages: list[Message], calls: list[Call]) -> RequestProof:
    """Look up every message recorded for a session's requests in the reconstruction."""
    known = {hash_message(message) for message in _rebuild_messages(file, messages, calls)}
    blobs = dict(_list_blobs(file))
    requests = [file.read_body(entry) for entry in file.entries if entry.type == "api-request"]
    rebuilt, whole, altered, unresolved = 0, 0, 0, []
    for request in requests:
        for digest in _list_tail_hashes(request):
            if digest in known:
                rebuilt += 1
            elif blobs.get(digest):
                whole += 1
            elif digest in blobs:
                altered += 1
            else:
                unresolved.append((str(request.get("id")), digest))
    return RequestProof(len(requests), rebuilt, whole, altered, unresolved)


def _list_blobs(file: Transcript) -> Iterator[tuple[str, bool]]:
    """Yield the hash of each message that is recorded in full, and whether its text still matches."""
    for entry in file.entries:
        if entry.type == "api-request-blob":
            body = file.read_body(entry)
            name, message = str(body.get("hash")), body.get("message")
            yield name, isinstance(message, dict) and hash_message(message) == name


def _list_tail_hashes(request: dict[str, Any]) -> list[str]:
    tail = request.get("tail")
    return [item for item in tail if isinstance(item, str)] if isinstance(tail, list) else []


def _rebuild_messages(file: Transcript, messages: list[Message], calls: list[Call]) -> Iterator[dict[str, Any]]:
    """Yield the messages as they were sent: answers, prompts, and the results for each answer as they arrived."""
    for message in messages:
        yield {"role": "assistant", "content": read_message_content(file, message)}
    with suppress(Refused):  # adjacent user entries form one message, such as an image and its origin
        yield from build_conversation(file).messages
    for entry in file.entries:
        if entry.type == "user":
            own_message = file.read_body(entry).get("message")
            if isinstance(own_message, dict):
                yield {"role": "user", "content": own_message.get("content")}
    for results in _group_results(calls):
        blocks: list[Any] = []
        for entry in results:
            blocks += _list_result_blocks(file, entry)
            yield {"role": "user", "content": list(blocks)}


def _group_results(calls: list[Call]) -> Iterator[list[Entry]]:
    groups: dict[str, dict[int, Entry]] = {}
    for call in calls:
        if call.result is not None:
            groups.setdefault(call.message, {})[call.result.index] = call.result
    for group in groups.values():
        yield [entry for _, entry in sorted(group.items())]


def _list_result_blocks(file: Transcript, entry: Entry) -> list[Any]:
    message = file.read_body(entry).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return [block for block in blocks if block.get("type") == "tool_result"]


def hash_message(message: dict[str, Any]) -> str:
    """Compute the hash by which the client identifies a message."""
    blocks = message.get("content")
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    if isinstance(blocks, list):
        blocks = [_drop_cache_control(block) for block in blocks]
    text = json.dumps(
        {**message, "content": to_client_json(blocks)},
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _drop_cache_control(block: Any) -> Any:
    return {key: value for key, value in block.items() if key != "cache_control"} if isinstance(block, dict) else block
