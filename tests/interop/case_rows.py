"""A small session to make odd files of: three questions and answers, one minute apart.

The minutes matter: within five seconds the client repairs a missing parent, which would hide what is asked.
"""

from __future__ import annotations

import json
from typing import Any

from tests.interop.classify import Object

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


def uid(number: int) -> str:
    """The uuid of a numbered row."""
    return f"00000000-0000-4000-8000-{number:012d}"


def text(words: str) -> Object:
    """A text block."""
    return {"type": "text", "text": words}


def image() -> Object:
    """An image block."""
    return {"type": "image", "source": PIXEL}


def row(number: int, parent: int | None, kind: str, content: Any = None, **fields: Any) -> Object:
    """A row of the graph; user and assistant rows get a message."""
    made: Object = {"type": kind, "uuid": uid(number), "parentUuid": uid(parent) if parent else None}
    made |= {"sessionId": "x", "timestamp": f"2026-01-01T10:{number:02d}:00.000Z", "isSidechain": False}
    if kind == "user":
        made["message"] = {"role": "user", "content": content}
    if kind == "assistant":
        blocks = [text(content)] if isinstance(content, str) else content
        made["message"] = {
            "role": "assistant",
            "id": f"msg_{number}",
            "model": "claude-opus-5-5",
            "content": blocks,
        }
        made["requestId"] = f"req_{number}"
    return made | fields


def base() -> list[Object]:
    """u1 a1 u2 a2 u3 a3, numbered 1 to 6."""
    kinds = ("user", "assistant")
    names = ("u1", "a1", "u2", "a2", "u3", "a3")
    return [row(i + 1, i, kinds[i % 2], f"{name} text") for i, name in enumerate(names)]


def dump(value: Object) -> str:
    """One row as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def raw(rows: list[Object]) -> bytes:
    """Rows as a file."""
    return "".join(dump(value) + "\n" for value in rows).encode("utf-8", "surrogatepass")


def change_row(at: int, **fields: Any) -> list[Object]:
    """The session with fields of one row changed."""
    rows = base()
    rows[at] |= fields
    return rows


def without(rows: list[Object], at: int, *keys: str) -> list[Object]:
    """The session with fields of one row taken away."""
    return [{k: v for k, v in r.items() if i != at or k not in keys} for i, r in enumerate(rows)]


def content(at: int, value: Any) -> list[Object]:
    """The session with another content in one message."""
    rows = base()
    rows[at]["message"]["content"] = value
    return rows


def call(**fields: Any) -> Object:
    """A call of Bash with the id c1; a field None is kept, a field ... is taken away."""
    made = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}} | fields
    return {key: value for key, value in made.items() if value is not ...}


def result(name: str = "c1", **fields: Any) -> Object:
    """The result of a call."""
    made = {"type": "tool_result", "tool_use_id": name, "content": f"result of {name}"} | fields
    return {key: value for key, value in made.items() if value is not ...}


def build_calls(use: Object, *results: Any) -> list[Object]:
    """The session with calls in a1 and a row for each given result content, instead of u2."""
    rows = base()
    rows[1]["message"]["content"] = [text("a1 text"), use, call(id="c2")]
    made, parent = rows[:2], 2
    for i, given in enumerate(results):
        made.append(row(50 + i, parent, "user", given, timestamp=f"2026-01-01T10:02:{10 * i + 10:02d}.000Z"))
        parent = 50 + i
    rows[3]["parentUuid"] = uid(parent)
    return made + rows[3:]


def last_prompt(leaf: Any = ..., **fields: Any) -> Object:
    """A last-prompt row."""
    named = {} if leaf is ... else {"leafUuid": leaf}
    return {"type": "last-prompt", "lastPrompt": "x", "sessionId": "x", **named, **fields}


def between(kind: str, **fields: Any) -> list[Object]:
    """The session with one more row, numbered 10, in the chain between a2 and u3."""
    rows = base()
    rows[4]["parentUuid"] = uid(10)
    extra = row(10, 4, kind, timestamp="2026-01-01T10:04:30.000Z", **fields)
    return [*rows[:4], extra, *rows[4:]]


def build_branch() -> list[Object]:
    """The session with another branch below a1, numbered 11 and 12, before u2 in the file."""
    rows = base()
    branch = [row(11, 2, "user", "b2 text"), row(12, 11, "assistant", "b2 answer")]
    return [*rows[:2], *branch, *rows[2:]]


def build_compaction(**metadata: Any) -> list[Object]:
    """The session with a boundary (20), a summary (21) and an answer (22) behind it."""
    told = {"trigger": "manual", "preTokens": 1, **metadata}
    boundary = row(20, None, "system", subtype="compact_boundary", content="x", compactMetadata=told)
    summary = row(21, 20, "user", "SUMMARY", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    return [*base(), boundary, summary, row(22, 21, "assistant", "after")]
