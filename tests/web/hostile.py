"""Sessions whose every field holds an attack: genuine lines of each shape that a client writes, with other words.

The types and names that decide how a line is read stay as they are; every third line is odd, its ids, its time and the
names of its tools are replaced too. A session carries one attack or takes several in turn, line by line: that each of
them does nothing in each field of each view is the matter of tests/render/test_hostile.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.session.build import encode_lines, stamp
from tests.web.conftest import DATA, Folders
from turnlog import demo
from turnlog.entries.format import load_format
from turnlog.render.tools import PART_BUILDERS

DEMO = Path(demo.__file__).parent / "claude" / "projects"
STRUCTURE = frozenset({"type", "subtype", "role", "status", "operation", "trigger", "is_error", "level", "media_type"})
"""Values by which a line is understood."""
IDS = frozenset({"uuid", "parentUuid", "id", "tool_use_id", "sourceToolAssistantUUID", "leafUuid", "logicalParentUuid"})
KEPT = STRUCTURE | IDS | {"timestamp", "name", "source", "sessionId", "data"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

Line = dict[str, Any]


def uuid_of(number: int) -> str:
    """The uuid of the session with the attacks of a number."""
    return f"eeeeeeee-0000-4000-8000-{number:012}"


@cache
def shapes() -> tuple[str, ...]:
    """One genuine line of each shape, as JSON, in the order of the files: a call stands before its result."""
    found: dict[tuple[Any, ...], str] = {}
    names: dict[str, str] = {}
    for path in sorted([*(DATA / "sessions").rglob("projects/**/*.jsonl"), *DEMO.rglob("*.jsonl")]):
        for text in path.read_text("utf-8", "replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and len(text) < 8_000:
                found.setdefault(_shape(line, names), text)
    return tuple(found.values())


def _shape(line: Line, names: dict[str, str]) -> tuple[Any, ...]:
    inner = [line.get(name) for name in ("attachment", "data")]
    content = line["message"].get("content") if isinstance(line.get("message"), dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    names.update({block["id"]: block["name"] for block in blocks if block.get("type") == "tool_use"})
    record = line.get("toolUseResult")
    return (
        *(line.get(name) for name in ("type", "subtype", "isMeta", "isCompactSummary", "operation")),
        *(part.get("type") for part in inner if isinstance(part, dict)),
        *((block.get("type"), block.get("name") or names.get(str(block.get("tool_use_id")))) for block in blocks),
        tuple(sorted(record)) if isinstance(record, dict) else type(record),
    )


def poison_value(value: Any, text: str, name: str = "") -> Any:
    """A value with an attack in place of, or around, every string in it."""
    match value:
        case dict():
            made = {key: poison_value(inner, text, key) for key, inner in value.items()}
            return {**made, text: text} if name in ("input", "toolUseResult", "attachment", "data") else made
        case list():
            return [poison_value(inner, text, name) for inner in value]
        case str() if name in KEPT:
            return value
        case str():
            return text if len(value) % 2 else f"{value[:200]} {text}"
    return value


class Hostile:
    """The lines of a session; what is added carries the attack that is set."""

    def __init__(self, session_id: str) -> None:
        self.text = ""
        self.session_id = session_id
        self.lines: list[Line] = []
        self.last: str | None = None

    def add(self, line: Line, *, is_odd: bool = False) -> None:
        """Hang a line below the one before; an odd one has ids, times and names of tools that are attacks."""
        number = len(self.lines)
        body = poison_value(line, self.text)
        body["sessionId"] = self.session_id
        if "uuid" in line:
            key = f"{self.text[:60]}{number}" if is_odd else f"dddddddd-0000-4000-8000-{number:012}"
            body |= {"uuid": key, "parentUuid": self.last, "isSidechain": False}
            self.last = key
        if "timestamp" in line:
            body["timestamp"] = self.text if is_odd and number % 2 else stamp(number)
        self.lines.append(rename_ids(body, self.text) if is_odd else body)

    def call(self, name: str, given: Line, content: Any, record: Any) -> None:
        """A call of a tool and its result."""
        own = f"toolu_{len(self.lines)}"
        block = {"type": "tool_use", "id": own, "name": name, "input": given}
        usage = {"input_tokens": 5, "output_tokens": 7, "service_tier": "x"}
        message = {"role": "assistant", "id": f"msg_{own}", "model": "x", "content": [block], "usage": usage}
        self.add({"type": "assistant", "uuid": "x", "timestamp": "x", "message": message, "requestId": "x"})
        result = {"type": "tool_result", "tool_use_id": own, "content": content, "is_error": len(name) % 3 == 0}
        line = {"type": "user", "uuid": "x", "timestamp": "x", "message": {"role": "user", "content": [result]}}
        self.add({**line, "toolUseResult": record, "slug": "x", "cwd": "xx", "gitBranch": "x", "version": "x"})


def rename_ids(line: Line, text: str) -> Line:
    """A line whose calls and messages have an attack in their ids and names."""
    message = line.get("message")
    if isinstance(message, dict):
        message |= {"id": f"{text}{message['id']}", "stop_reason": text} if "id" in message else {}
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            for name in ("id", "tool_use_id", "name"):
                if isinstance(block, dict) and name in block:
                    block[name] = f"{text}{block[name]}"
    return {**line, "type": text} if len(json.dumps(line)) % 7 == 0 else line


LONGEST = 300
FIELDS = (
    "command description file_path path content old_string new_string pattern glob query url prompt subagent_type name"
    " model plan notebook_path new_source cell_id edit_mode server uri skill args taskId subject owner"
    " activeForm shell_id task_id message summary recipient to operation isolation run_in_background"
).split()


def general(name: str) -> tuple[Line, list[Line], Line]:
    """An input, a result and a record with all that any tool knows."""
    option = {"label": "x", "description": "x", "preview": "x"}
    question = {"question": "x", "header": "x", "options": [option, option], "multiSelect": True}
    given: Line = {
        **dict.fromkeys(FIELDS, "x"),
        "questions": [question],
        "todos": [{"content": "x", "status": "pending", "activeForm": "x", "id": "x"}],
        "edits": [{"old_string": "x", "new_string": "xx"}],
        "allowed_domains": ["x"],
        "name": name,
    }
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    document = {"type": "document", "title": "x", "source": {"type": "base64", "media_type": "x", "data": "eA=="}}
    content: list[Line] = [{"type": "text", "text": "x"}, image, document, {"type": "tool_reference", "tool_name": "x"}]
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-x", "+xx", " x"]}
    record: Line = {
        **dict.fromkeys(
            "stdout stderr filePath agentId content oldString newString originalFile mode query".split(), "x"
        ),
        **dict.fromkeys("status url codeText result plan bytes task_id retrieval_status".split(), "x"),
        "structuredPatch": [hunk],
        "file": {"filePath": "x", "content": "x", "startLine": 1, "numLines": 1, "totalLines": 1},
        "filenames": ["x"],
        "questions": [question],
        "answers": {"x": "x"},
        "annotations": {"x": {"notes": "x"}},
        "oldTodos": [{"content": "x", "status": "pending"}],
        "newTodos": [{"content": "x", "status": "completed"}],
        "results": ["x", {"content": [{"title": "x", "url": "x"}]}],
        "task": {"id": "x", "subject": "x", "status": "x", "output": "x"},
        "tasks": [{"id": "x", "subject": "x", "status": "x", "owner": "x", "blockedBy": ["x"]}],
    }
    return given, content, record


def lines(texts: Sequence[str], session_id: str, turn: int = 0) -> list[Line]:
    """The lines of a session with an attack in every field; of one that is long by itself mostly the beginning.

    A third of the lines is odd (`Hostile.add`); which ones, and which attack is in which line, depends on the turn.
    """
    made = Hostile(session_id)
    for text in texts:
        made.text = text
        made.add({"type": "user", "uuid": "x", "timestamp": "x", "message": {"role": "user", "content": "x"}})
        made.call("Bash", *general("Bash"))
    short = [text[:LONGEST] for text in texts]
    for place, shape in enumerate(shapes()):
        made.text = short[(place + turn) % len(short)]
        made.add(json.loads(shape), is_odd=(place + turn) % 3 == 0)
    for place, name in enumerate(
        (*PART_BUILDERS, *(name for text in short for name in (f"mcp__{text}__{text}", text)))
    ):
        made.text = short[(place + turn) % len(short)]
        made.call(name, *general(name))
    for place, line in enumerate(others()):
        made.text = short[(place + turn) % len(short)]
        made.add(line, is_odd=(len(made.lines) + turn) % 3 == 0)
    return [*made.lines, *(line for text in short for line in titles(text, session_id))]


def others() -> Iterator[Line]:
    """A line of each kind that turnlog knows, with all the fields that it knows of."""
    known = load_format()
    for kind, facts in known.entries.items():
        if kind not in ("user", "assistant", "system", "attachment", "progress"):
            yield {"type": kind, **dict.fromkeys(known.list_fields(facts), "x"), "uuid": "x"}
    for kind, facts in known.system.items():
        fields = dict.fromkeys(known.list_fields(facts), "x")
        yield {"type": "system", **fields, "subtype": kind, "uuid": "x", "timestamp": "x", "content": "x"}
    for kind, facts in known.attachments.items():
        inner = {**dict.fromkeys(known.list_fields(facts), "x"), "type": kind}
        yield {"type": "attachment", "uuid": "x", "timestamp": "x", "attachment": inner}


def titles(text: str, session_id: str) -> Iterator[Line]:
    """What sessions are named by."""
    yield {"type": "custom-title", "customTitle": text, "sessionId": session_id}
    yield {"type": "ai-title", "aiTitle": text, "sessionId": session_id}
    yield {"type": "tag", "tag": text, "sessionId": session_id}
    yield {"type": "agent-name", "agentName": text, "sessionId": session_id}
    yield {"type": "pr-link", "prUrl": text, "prNumber": text, "prRepository": text, "sessionId": session_id}
    yield {"type": "summary", "summary": text, "leafUuid": text}
    yield {"type": "last-prompt", "lastPrompt": text, "sessionId": session_id}


def file_name(text: str) -> str:
    """As much of an attack as a folder may be named by."""
    safe = re.sub("[/\0\ud800-\udfff]", "_", text)
    return safe.encode()[:100].decode("utf-8", "ignore") or "x"


def add(folders: Folders, number: int, *texts: str) -> str:
    """A session with attacks, its sub-agents, and a folder that is named by the first of them; gives its uuid."""
    own, text = uuid_of(number), texts[0]
    path = folders.add(own, encode_lines(lines(texts, own, number)), f"-{number}-{file_name(text)}")
    agents = path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    inner = Hostile(own)
    for place, shape in enumerate(shapes()[:40]):
        inner.text = texts[place % len(texts)][:LONGEST]
        inner.add(json.loads(shape))
    for place, name in enumerate(("a1", file_name(text))):
        rows = [{**line, "isSidechain": True, "agentId": text if place else name} for line in inner.lines]
        (agents / f"agent-{name}.jsonl").write_bytes(encode_lines(rows))
        meta = {"agentType": text, "description": text, "toolUseId": text}
        (agents / f"agent-{name}.meta.json").write_text(json.dumps(meta), "utf-8")
    return own


def add_short(folders: Folders, number: int, text: str) -> str:
    """A session that says and is called nothing but an attack, in a folder that is named by it; gives its uuid."""
    own = uuid_of(number)
    made = Hostile(own)
    made.text = text
    made.add({"type": "user", "uuid": "x", "timestamp": "x", "cwd": "x", "message": {"role": "user", "content": "x"}})
    folders.add(own, encode_lines([*made.lines, *titles(text, own)]), f"-{number}-{file_name(text)}")
    return own


def add_named(folders: Folders, text: str) -> None:
    """A session file that is named by an attack, and so is none that the client wrote."""
    prompt = {"type": "user", "uuid": text, "timestamp": text, "cwd": text, "message": {"content": text}}
    folder = folders.projects / "-odd-names"
    folder.mkdir(exist_ok=True)
    (folder / f"{file_name(text)}.jsonl").write_bytes(encode_lines([prompt, *titles(text, text)]))
