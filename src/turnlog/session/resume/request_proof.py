"""Proof by the file itself: the newest clients write down a hash of every message they send.

An `api-request` entry names the messages of a request by hash: it keeps the first of an earlier request (`base`,
`keep`) and adds its `tail`. A message that can't be put together from other entries is written beside it as an
`api-request-blob`. So each hash of a tail must be one of our own reconstruction, or that of a blob.
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
    """How the recorded messages of a session's requests were found."""

    requests: int
    rebuilt: int
    """Hashes of messages that we put together from the entries."""
    blobs: int
    """Hashes of messages that stand in the file as a whole."""
    altered: int
    """Hashes of messages that stand in the file, but with another text by now: nothing is proved of them."""
    unresolved: list[tuple[str, str]]
    """(request, hash) of messages that we do not know."""

    @property
    def total(self) -> int:
        """How many hashes there are."""
        return self.rebuilt + self.blobs + self.altered + len(self.unresolved)

    @property
    def resolved_count(self) -> int:
        """How many of them were found."""
        return self.rebuilt + self.blobs


def prove_requests(file: Transcript, messages: list[Message], calls: list[Call]) -> RequestProof:
    """Find every recorded message of a session's requests in our reconstruction of it."""
    known = {hash_message(message) for message in _rebuild_messages(file, messages, calls)}
    blobs = dict(_list_blobs(file))
    requests = [file.read_body(entry) for entry in file.entries if entry.type == "api-request"]
    rebuilt, whole, altered, unresolved = 0, 0, 0, []
    for request in requests:
        for found in _list_tail_hashes(request):
            if found in known:
                rebuilt += 1
            elif blobs.get(found):
                whole += 1
            elif found in blobs:
                altered += 1
            else:
                unresolved.append((str(request.get("id")), found))
    return RequestProof(len(requests), rebuilt, whole, altered, unresolved)


def _list_blobs(file: Transcript) -> Iterator[tuple[str, bool]]:
    """The hashes of messages that are written whole, and whether the text still is the one that was hashed."""
    for entry in file.entries:
        if entry.type == "api-request-blob":
            body = file.read_body(entry)
            name, message = str(body.get("hash")), body.get("message")
            yield name, isinstance(message, dict) and hash_message(message) == name


def _list_tail_hashes(request: dict[str, Any]) -> list[str]:
    tail = request.get("tail")
    return [item for item in tail if isinstance(item, str)] if isinstance(tail, list) else []


def _rebuild_messages(file: Transcript, messages: list[Message], calls: list[Call]) -> Iterator[dict[str, Any]]:
    """The messages as they were sent: answers, prompts, and the results of each answer's calls as they came."""
    for message in messages:
        yield {"role": "assistant", "content": read_message_content(file, message)}
    with suppress(Refused):  # neighbouring user entries make one message, for example a picture and where it came from
        yield from build_conversation(file).messages
    for entry in file.entries:
        if entry.type == "user":
            found = file.read_body(entry).get("message")
            if isinstance(found, dict):
                yield {"role": "user", "content": found.get("content")}
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
    found = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in found if isinstance(block, dict)] if isinstance(found, list) else []
    return [block for block in blocks if block.get("type") == "tool_result"]


def hash_message(message: dict[str, Any]) -> str:
    """The hash by which the client names a message."""
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
