"""The conversation of a session as Messages API messages: what would be sent if a leaf were resumed now.

From the file alone: no reminders, no fillers, no made-up results; thinking is included. `as_sent` adds what the client
would add. The numbers in brackets are the rules of docs/format.md, "How a session is resumed".
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.resume.additions import EMPTY, FILLER, Added, made_up
from turnlog.session.resume.parts import Part, part
from turnlog.session.resume.resume import Thread, thread

Json = dict[str, Any]
_THINKING = ("thinking", "redacted_thinking")
_SERVED = ("server_tool_use", "mcp_tool_use")


class Conversation(NamedTuple):
    """Messages in the shape of the Messages API, and the entry they end with."""

    messages: list[Json]
    leaf: Entry


def conversation(
    file: Transcript, leaf: str | None = None, *, as_sent: bool = False, without: Container[str | None] = ()
) -> Conversation:
    """What the newest client would send if this leaf were resumed now, `without` some kinds of attachments."""
    return of_thread(file, thread(file, leaf), as_sent=as_sent, without=without)


def of_thread(
    file: Transcript, found: Thread, *, as_sent: bool = False, without: Container[str | None] = ()
) -> Conversation:
    """The same for rows that were found already."""
    rows = [row for row in found.rows if row.type != "attachment" or row.kind not in without]
    parts = [said for row in rows if (said := part(row, file.body(row), as_sent=as_sent)) and said.blocks]
    messages = _paired(_joined(_answered(parts)), EMPTY if as_sent else None)
    if as_sent:
        messages = _completed(messages)
    return Conversation(
        [{"role": said.role, "content": [dict(b) for b in said.blocks]} for said in messages], found.leaf
    )


def _ids(said: Part | None, kind: str) -> set[Any]:
    """The ids of a message's calls, or those that its results answer."""
    key = "id" if kind == "tool_use" else "tool_use_id"
    return {_id(block, key) for block in said.blocks if block["type"] == kind} if said else set()


def _id(block: Json, key: str) -> object:
    """An id as the client compares it: an object or array equals nothing but itself."""
    value = block.get(key)
    return id(value) if isinstance(value, dict | list) else value


# -- calls and results [21]


def _answered(parts: list[Part]) -> list[Part]:
    """Without rows whose calls all lack a result, except in the last message."""
    results = {identity for said in parts if said.role == "user" for identity in _ids(said, "tool_result")}
    last = next((said for said in reversed(parts) if said.role == "assistant"), None)
    return [said for said in parts if _keeps(said, results) or _same_message(said, last)]


def _keeps(said: Part, results: set[Any]) -> bool:
    calls = _ids(said, "tool_use") if said.role == "assistant" else set()
    return not calls or not calls.isdisjoint(results)


def _same_message(said: Part, last: Part | None) -> bool:
    return said is last or (last is not None and said.identity is not None and said.identity == last.identity)


# -- messages [22-24]


def _joined(parts: list[Part]) -> list[Part]:
    out: list[Part] = []
    seen: set[str | None] = set()
    for said in parts:
        if said.role != "assistant":
            _join_user(out, said)
        elif said.identity in seen:
            _join_assistant(out, said)
        else:
            out.append(Part("assistant", list(said.blocks), said.identity))
            seen.add(said.identity)
    spoken: list[Part] = []
    for said in out:
        if said.role != "assistant":
            _join_user(spoken, said)
            continue
        blocks = served(said.blocks)
        if any(block["type"] not in _THINKING for block in blocks):
            spoken.append(said._replace(blocks=blocks))
    return spoken


def _join_user(out: list[Part], said: Part) -> None:
    """Add to the user message that is being collected; what the system says comes behind it [22]."""
    start = next((at + 1 for at in reversed(range(len(out))) if out[at].role == "assistant"), 0)
    for earlier in out[start:]:
        if earlier.role == said.role:
            earlier.blocks[:] = sorted([*earlier.blocks, *said.blocks], key=_order)
            return
    out.insert(start if said.role == "user" else len(out), Part(said.role, list(said.blocks)))


def _order(block: Json) -> int:
    """Results come first in a user message, then what the client adds."""
    return 0 if block["type"] == "tool_result" else 1 if isinstance(block, Added) else 2


def _join_assistant(out: list[Part], said: Part) -> None:
    """Add to the message with the same id, unless a prompt stands in between [23]."""
    for earlier in reversed(out):
        if earlier.role == "user" and not _ids(earlier, "tool_result"):
            break
        if earlier.role == "assistant" and said.identity and earlier.identity == said.identity:
            earlier.blocks[:] = grown(earlier.blocks, said.blocks)
            return
    out.append(Part("assistant", list(said.blocks), said.identity))


def grown(blocks: Sequence[Json], more: Sequence[Json]) -> list[Json]:
    """An answer and more of it; calls come last, unless thoughts would meet that were apart [24]."""
    again = {_id(block, "id") for block in more if block["type"] == "tool_use"}
    whole = [block for block in blocks if block["type"] != "tool_use" or _id(block, "id") not in again] + [*more]
    moved = sorted(whole, key=lambda block: block["type"] == "tool_use")
    return whole if _thoughts_that_meet(moved) > _thoughts_that_meet(whole) else moved


def _thoughts_that_meet(blocks: Sequence[Json]) -> int:
    return sum(one["type"] in _THINKING and other["type"] in _THINKING for one, other in pairwise(blocks))


def served(blocks: Sequence[Json]) -> list[Json]:
    """An answer without calls of the server's own tools that have no result beside them [27]."""
    found = {_id(block, "tool_use_id") for block in blocks if block["type"].endswith("_tool_result")}
    return [block for block in blocks if block["type"] not in _SERVED or _id(block, "id") in found]


# -- results directly behind their calls [25, 26]


def _paired(messages: list[Part], instead: str | None) -> list[Part]:
    """Without results whose call is not in the message just before, and without second results of a call.

    Where nothing else is left of a message, the client says something instead.
    """
    out: list[Part] = []
    calls: set[Any] = set()
    for said in messages:
        if said.role == "assistant":
            out.append(said)
            calls = _ids(said, "tool_use")
        elif blocks := _first_results(said.blocks, calls) or ([{"type": "text", "text": instead}] if instead else []):
            out.append(said._replace(blocks=blocks))
            calls = set() if said.role == "user" else calls
    return out


def _first_results(blocks: list[Json], calls: set[Any]) -> list[Json]:
    out, seen = [], set()
    for block in blocks:
        if block["type"] == "tool_result":
            identity = _id(block, "tool_use_id")
            if identity not in calls or identity in seen:
                continue
            seen.add(identity)
        out.append(block)
    return out


def _completed(messages: list[Part]) -> list[Part]:
    """With made-up results for open calls, and an answer where the session ends without one."""
    out: list[Part] = []
    for number, said in enumerate(messages):
        behind = messages[number + 1] if number + 1 < len(messages) else None
        out.append(_one_text(said) if said.role == "system" else said)
        if said.role == "assistant":
            answered = _ids(behind, "tool_result")
            open_calls = [b for b in said.blocks if b["type"] == "tool_use" and _id(b, "id") not in answered]
            results = [made_up(call, at_end=behind is None) for call in open_calls]
            if results and behind is not None and behind.role == "user":
                behind.blocks[:0] = results
            elif results:
                out.append(Part("user", results))
    if out and out[-1].role == "user":
        out.append(Part("assistant", [{"type": "text", "text": FILLER}]))
    return out


def _one_text(said: Part) -> Part:
    return said._replace(blocks=[{"type": "text", "text": "\n".join(str(block["text"]) for block in said.blocks)}])
