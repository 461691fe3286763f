"""Config folders in which one thing grows: calls in a message, rewinds, sessions in a folder, and so on."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_VERSION = "2.1.325"
_CWD = "/home/dana/webshop"
_PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
    b"\x00\x00\x00\x0cIDAT" + zlib.compress(b"\x00\xff\x00\x00") + b"\x00\x00\x00\x00IEND\xaeB`\x82"
).decode()

Json = dict[str, Any]


def make_uuid(number: int, kind: int = 0) -> str:
    """Return the uuid with a number."""
    digits = hashlib.md5(f"{kind}-{number}".encode(), usedforsecurity=False).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


class GrownSession:
    """A session file while it is being written."""

    def __init__(self, config: Path, number: int = 1, folder: str = "-home-dana-webshop") -> None:
        self.config = config
        self.id = make_uuid(number, 0xC0)
        self.path = config / "projects" / folder / f"{self.id}.jsonl"
        self.parent: str | None = None
        self.lines: list[Json] = []
        self.family = number

    def add(self, kind: str, **fields: Any) -> str:
        """Add a line below the last one, and return its uuid."""
        uuid = make_uuid(len(self.lines) + 1, self.family)
        line = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": _CWD,
            "sessionId": self.id,
            "version": _VERSION,
            "gitBranch": "main",
            "type": kind,
            "uuid": uuid,
            "timestamp": self.tick(),
        }
        self.lines.append({**line, **fields})
        self.parent = uuid
        return uuid

    def tick(self) -> str:
        """Return the time of the next line."""
        moment = _START + timedelta(seconds=len(self.lines))
        return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def note(self, kind: str, **fields: Any) -> None:
        """Add a line that is not in the tree."""
        self.lines.append({"type": kind, **fields})

    def ask(self, text: str = "Fix the cart total, please.", **fields: Any) -> str:
        """Add a prompt."""
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def say(self, *blocks: Json, message: str | None = None, **fields: Any) -> str:
        """Add a line of an answer."""
        number = len(self.lines)
        content = list(blocks) or [{"type": "text", "text": f"The total is right now ({number})."}]
        stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        body = {
            "id": message or f"msg_{number:08d}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": number},
        }
        return self.add("assistant", message=body, requestId=f"req_{message or number}", **fields)

    def give(self, *calls: str, text: str = "done", **fields: Any) -> str:
        """Add the results of calls."""
        content = [{"type": "tool_result", "tool_use_id": call, "content": text} for call in calls]
        return self.add("user", message={"role": "user", "content": content}, toolUseResult=text, **fields)

    def write(self) -> Path:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines))
        return self.path


def make_call(number: int, name: str = "Bash", **arguments: Any) -> Json:
    """Build a call's block."""
    arguments = arguments or {"command": f"pytest -k test_{number}"}
    return {"type": "tool_use", "id": f"toolu_{number:06d}", "name": name, "input": arguments}


def _begin(config: Path) -> GrownSession:
    session = GrownSession(config)
    session.ask()
    session.say()
    return session


def _end(session: GrownSession) -> Path:
    session.ask("And now the tests.")
    session.say()
    return session.write()


def grow_sessions(config: Path, n: int) -> Path:
    """Sessions in one project folder."""
    for number in range(2, n + 1):
        session = GrownSession(config, number)
        session.ask()
        session.say()
        session.write()
    return _end(_begin(config))


def grow_titled_sessions(config: Path, n: int) -> Path:
    """Sessions with the same title, and with parts that they share (forks of forks)."""
    path = None
    for number in range(1, n + 1):
        session = GrownSession(config, number)
        session.note("custom-title", customTitle="Cart", sessionId=session.id)
        session.family = 0
        session.ask()
        session.say()
        session.family = number
        if number > 1:
            fork = {"sessionId": make_uuid(number - 1, 0xC0), "messageUuid": make_uuid(2, 0)}
            session.lines[1:] = [{**line, "forkedFrom": fork} for line in session.lines[1:]]
        path = _end(session)
    assert path
    return path


def grow_projects(config: Path, n: int) -> Path:
    """Project folders with one session each."""
    for number in range(2, n + 1):
        session = GrownSession(config, number, f"-home-dana-p{number}")
        session.ask(cwd=f"/home/dana/p{number}")
        session.say(cwd=f"/home/dana/p{number}")
        session.write()
    return _end(_begin(config))


def _write_agent(session: GrownSession, number: int, path: Path) -> None:
    agent = GrownSession(session.config, 1)
    agent.id = session.id
    mark: Json = {"isSidechain": True, "agentId": f"{number:017x}"}
    agent.ask("Look at the cart.", **mark)
    agent.say(make_call(900_000 + number), **mark)
    agent.give(f"toolu_{900_000 + number:06d}", **mark)
    agent.say(**mark)
    for at, line in enumerate(agent.lines):
        line["uuid"] = make_uuid(at + 1, 0xA0000 + number)
        line["parentUuid"] = make_uuid(at, 0xA0000 + number) if at else None
    agent.path = path
    agent.write()


def _start_agents(session: GrownSession, n: int) -> None:
    for number in range(n):
        call = make_call(number, "Task", description="Look", prompt="Look at the cart.", subagent_type="general")
        session.say(call)
        session.give(call["id"])
        session.lines[-1]["toolUseResult"] = {"status": "completed", "agentId": f"{number:017x}", "content": []}


def grow_agents(config: Path, n: int) -> Path:
    """Sub-agents, each in its own file."""
    session = _begin(config)
    _start_agents(session, n)
    for number in range(n):
        folder = session.path.with_suffix("") / "subagents"
        _write_agent(session, number, folder / f"agent-{number:017x}.jsonl")
    return _end(session)


def grow_loose_agents(config: Path, n: int) -> Path:
    """Sub-agents next to the session, as 2.0.x wrote them."""
    session = _begin(config)
    _start_agents(session, n)
    for number in range(n):
        _write_agent(session, number, session.path.with_name(f"agent-{number:08x}.jsonl"))
    return _end(session)


def grow_inline_agents(config: Path, n: int) -> Path:
    """Sub-agents in the main file, as 1.0.x wrote them."""
    session = _begin(config)
    for number in range(n):
        call = make_call(number, "Task", description="Look", prompt=f"Look at cart {number}.", subagent_type="general")
        above = session.say(call)
        session.parent = None
        session.ask(f"Look at cart {number}.", isSidechain=True)
        session.say(isSidechain=True)
        session.parent = above
        session.give(call["id"])
    return _end(session)


def grow_calls(config: Path, n: int) -> Path:
    """Calls in one message of one line, with their results in one line."""
    session = _begin(config)
    session.say(*(make_call(number) for number in range(n)))
    session.give(*(f"toolu_{number:06d}" for number in range(n)))
    return _end(session)


def grow_call_lines(config: Path, n: int) -> Path:
    """Lines in one message: a call in each, then the results."""
    session = _begin(config)
    for number in range(n):
        session.say(make_call(number), message="msg_many")
    for number in range(n):
        session.give(f"toolu_{number:06d}")
    return _end(session)


def grow_scattered_calls(config: Path, n: int) -> Path:
    """Lines in one message, with the results between them, each below its own call, as parallel calls are written."""
    session = _begin(config)
    for number in range(n):
        above = session.say(make_call(number), message="msg_many")
        session.give(f"toolu_{number:06d}")
        session.parent = above
    return _end(session)


def grow_texts(config: Path, n: int) -> Path:
    """Lines in one message: thoughts and texts by turns."""
    session = _begin(config)
    for number in range(n):
        block = {"type": "thinking", "thinking": f"Hm {number}.", "signature": "x"}
        session.say(block if number % 2 else {"type": "text", "text": f"Look {number}."}, message="msg_many")
    return _end(session)


def grow_thoughts(config: Path, n: int) -> Path:
    """Thoughts in one message, one in each line."""
    session = _begin(config)
    for number in range(n):
        session.say({"type": "thinking", "thinking": f"Hm {number}.", "signature": "x"}, message="msg_many")
    return _end(session)


def grow_blocks(config: Path, n: int) -> Path:
    """Texts in one line."""
    session = _begin(config)
    session.say(*({"type": "text", "text": f"Look {number}."} for number in range(n)))
    return _end(session)


def grow_prompt_blocks(config: Path, n: int) -> Path:
    """Texts in one prompt."""
    session = _begin(config)
    content = [{"type": "text", "text": f"Look {number}."} for number in range(n)]
    session.add("user", message={"role": "user", "content": content})
    return _end(session)


def grow_rewinds(config: Path, n: int) -> Path:
    """Rewinds, each to the same point."""
    session = _begin(config)
    fork = session.parent
    for number in range(n):
        session.parent = fork
        session.ask(f"Attempt {number}.")
        session.say()
    return session.write()


def grow_rewound_turns(config: Path, n: int) -> Path:
    """Rewinds, each to the last prompt before it: every turn has a branch."""
    session = _begin(config)
    for number in range(n):
        fork = session.parent
        session.ask(f"Attempt {number}.")
        session.say()
        session.parent = fork
        session.ask(f"Another attempt {number}.")
        session.say()
    return session.write()


def grow_roots(config: Path, n: int) -> Path:
    """Trees in one file: the parent of each prompt is missing or null."""
    session = _begin(config)
    for number in range(n):
        session.parent = None if number % 2 else make_uuid(number, 0xDEAD)
        session.ask(f"Attempt {number}.")
        session.say()
    return session.write()


def grow_interruptions(config: Path, n: int) -> Path:
    """Interrupted calls: a call without a result, then the note about the interruption."""
    session = _begin(config)
    for number in range(n):
        session.say(make_call(number))
        note = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
        session.add("user", message={"role": "user", "content": note})
    return _end(session)


def grow_hook_progress(config: Path, n: int) -> Path:
    """Reports of hooks between calls."""
    session = _begin(config)
    for number in range(n):
        if number % 10 == 0:
            session.say(make_call(number))
            session.give(f"toolu_{number:06d}")
        data = {"type": "hook_progress", "hookEvent": "PostToolUse", "hookName": "PostToolUse:Bash", "command": "lint"}
        session.add("progress", data=data, toolUseID=f"toolu_{number // 10 * 10:06d}", parentToolUseID="toolu_0")
    return _end(session)


def grow_progress_run(config: Path, n: int) -> Path:
    """Reports of one hook, one below the other."""
    session = _begin(config)
    session.say(make_call(1))
    for _ in range(n):
        data = {"type": "hook_progress", "hookEvent": "PreToolUse", "hookName": "PreToolUse:Bash", "command": "lint"}
        session.add("progress", data=data, toolUseID="toolu_000001", parentToolUseID="toolu_000001")
    session.give("toolu_000001")
    return _end(session)


def grow_compactions(config: Path, n: int) -> Path:
    """Compactions, one after each turn."""
    session = _begin(config)
    for number in range(n):
        session.ask(f"Turn {number}.")
        above = session.say()
        session.parent = None
        session.add(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=above,
            level="info",
            compactMetadata={"trigger": "auto", "preTokens": 1000},
        )
        session.ask(f"This session is being continued. Summary {number}.", isCompactSummary=True)
    return _end(session)


def grow_turns(config: Path, n: int) -> Path:
    """Turns, each with a call."""
    session = _begin(config)
    for number in range(n):
        session.ask(f"Turn {number}.")
        session.say(make_call(number))
        session.give(f"toolu_{number:06d}")
        session.say()
    return _end(session)


def grow_requests(config: Path, n: int) -> Path:
    """Calls one after the other in one turn."""
    session = _begin(config)
    for number in range(n):
        session.say(make_call(number))
        session.give(f"toolu_{number:06d}")
    return _end(session)


def grow_file_changes(config: Path, n: int) -> Path:
    """Changes of one file."""
    session = _begin(config)
    for number in range(n):
        old, new = f"total = {number}", f"total = {number + 1}"
        call = make_call(number, "Edit", file_path=f"{_CWD}/cart.py", old_string=old, new_string=new)
        session.say(call)
        session.give(call["id"])
        hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-{old}", f"+{new}"]}
        session.lines[-1]["toolUseResult"] = {
            "filePath": f"{_CWD}/cart.py", "oldString": old, "newString": new, "originalFile": old + "\n",
            "structuredPatch": [hunk], "userModified": False, "replaceAll": False,
        }  # fmt: skip
    return _end(session)


def grow_files(config: Path, n: int) -> Path:
    """Files that are read, each once."""
    session = _begin(config)
    for number in range(n):
        call = make_call(number, "Read", file_path=f"{_CWD}/src/file_{number}.py")
        session.say(call)
        session.give(call["id"], text=f"     1\u2192x = {number}\n")
    return _end(session)


def grow_same_reads(config: Path, n: int) -> Path:
    """Reads of one file."""
    session = _begin(config)
    for number in range(n):
        call = make_call(number, "Read", file_path=f"{_CWD}/cart.py")
        session.say(call)
        session.give(call["id"], text="     1\u2192x = 1\n")
    return _end(session)


def grow_queued_prompts(config: Path, n: int) -> Path:
    """Prompts that were queued while the model worked."""
    session = _begin(config)
    row = {"timestamp": session.tick(), "sessionId": session.id}
    for number in range(n):
        session.note("queue-operation", operation="enqueue", content=f"Also {number}.", **row)
    for number in range(n):
        session.note("queue-operation", operation="dequeue", **row)
        session.ask(f"Also {number}.")
    return _end(session)


def grow_titles(config: Path, n: int) -> Path:
    """Titles, summaries, tags and modes."""
    session = _begin(config)
    for number in range(n):
        session.note("custom-title", customTitle=f"Cart {number}", sessionId=session.id)
        session.note("ai-title", aiTitle=f"Cart {number}", sessionId=session.id)
        session.note("summary", summary=f"Cart {number}", leafUuid=session.lines[1]["uuid"])
        session.note("tag", tag=f"cart-{number}", sessionId=session.id)
    return _end(session)


def grow_snapshots(config: Path, n: int) -> Path:
    """File-history snapshots, each of ten files."""
    session = _begin(config)
    backups = {}
    for number in range(n):
        uuid = session.ask(f"Turn {number}.")
        session.say()
        name = f"{number % 10:016x}@v{number // 10 + 1}"
        backups[f"file_{number % 10}.py"] = {"backupFileName": name, "version": 1, "backupTime": session.tick()}
        body = {"messageId": uuid, "trackedFileBackups": dict(backups), "timestamp": session.tick()}
        session.note("file-history-snapshot", messageId=uuid, snapshot=body, isSnapshotUpdate=False)
    return _end(session)


def grow_todos(config: Path, n: int) -> Path:
    """Lists of tasks."""
    session = _begin(config)
    for number in range(n):
        todos = [{"content": f"Step {number}", "status": "pending", "activeForm": "Working"}]
        call = make_call(number, "TodoWrite", todos=todos)
        session.say(call)
        session.give(call["id"])
        session.lines[-1]["toolUseResult"] = {"oldTodos": [], "newTodos": todos}
    return _end(session)


def grow_images(config: Path, n: int) -> Path:
    """Pictures in one prompt."""
    session = _begin(config)
    source = {"type": "base64", "media_type": "image/png", "data": _PNG}
    content = [{"type": "image", "source": source} for _ in range(n)]
    session.add("user", message={"role": "user", "content": [*content, {"type": "text", "text": "Look."}]})
    return _end(session)


def grow_servers(config: Path, n: int) -> Path:
    """MCP servers and their tools, each called once."""
    session = _begin(config)
    for number in range(n):
        session.say(make_call(number, f"mcp__server{number}__look", key=number))
        session.give(f"toolu_{number:06d}")
    return _end(session)


def grow_attachments(config: Path, n: int) -> Path:
    """Attachments after one prompt."""
    session = _begin(config)
    session.ask()
    for number in range(n):
        content = {"type": "text", "file": {"filePath": f"/a/{number}", "content": "x", "numLines": 1}}
        session.add("attachment", attachment={"type": "file", "filename": f"/a/{number}", "content": content})
    session.say()
    return _end(session)


def grow_notes(config: Path, n: int) -> Path:
    """System notes between answers."""
    session = _begin(config)
    for number in range(n):
        session.add("system", subtype="informational", content=f"Note {number}", level="info")
    return _end(session)


def grow_errors(config: Path, n: int) -> Path:
    """Errors of the API."""
    session = _begin(config)
    for _ in range(n):
        session.ask()
        session.say({"type": "text", "text": "API Error: 529 overloaded"}, isApiErrorMessage=True, error="overloaded")
    return _end(session)


def grow_request_rows(config: Path, n: int) -> Path:
    """Rows about requests to the API."""
    session = _begin(config)
    for number in range(n):
        session.note(
            "api-request", uuid=make_uuid(number, 0xAB), parentUuid=session.parent, sessionId=session.id,
            timestamp=session.tick(), requestId=f"req_{number}", model="claude-sonnet-4-5-20250929", querySource="sdk",
        )  # fmt: skip
        session.ask()
        session.say()
    return _end(session)


def grow_unknown_lines(config: Path, n: int) -> Path:
    """Lines of a type that nobody knows, and lines that are cut."""
    session = _begin(config)
    for number in range(n):
        session.note("brand-new", sessionId=session.id, number=number)
    return _end(session)


def grow_cut_lines(config: Path, n: int) -> Path:
    """Lines that are not JSON."""
    path = _end(_begin(config))
    whole = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*whole[:2], *(f'{{"type":"user","uuid":"{n}\n' for n in range(n)), *whole[2:]]))
    return path


def grow_long_text(config: Path, n: int) -> Path:
    """The length of one text, in KB."""
    session = _begin(config)
    session.say({"type": "text", "text": "The cart total is *wrong* after `round()`.\n\n" * (n * 24)})
    return _end(session)


def grow_long_line(config: Path, n: int) -> Path:
    """The length of one paragraph without a break, in KB."""
    session = _begin(config)
    session.say({"type": "text", "text": "cart *total [x `round( _a " * (n * 40)})
    return _end(session)


def grow_long_output(config: Path, n: int) -> Path:
    """The length of one result, in KB."""
    session = _begin(config)
    session.say(make_call(1))
    session.give("toolu_000001", text="\x1b[31mFAILED\x1b[0m test_cart.py::test_total - assert 3 == 4\n" * (n * 16))
    return _end(session)


def grow_depth(config: Path, n: int) -> Path:
    """The depth of one value."""
    session = _begin(config)
    value: Any = "leaf"
    for _ in range(min(n, 900)):
        value = {"a": value}
    for number in range(n):
        session.say(make_call(number, "mcp__deep__look", value=value if number == 0 else "leaf"))
        session.give(f"toolu_{number:06d}")
    return _end(session)


def grow_copies(config: Path, n: int) -> Path:
    """Lines that are written twice, with the same uuid."""
    session = _begin(config)
    for number in range(n):
        session.ask(f"Turn {number}.")
        session.say()
        session.lines += session.lines[-2:]
    return _end(session)


def grow_history(config: Path, n: int) -> Path:
    """Prompts in history.jsonl."""
    rows = ({"display": f"Fix {k}.", "timestamp": 1_770_000_000_000 + k, "project": _CWD} for k in range(n))
    config.mkdir(parents=True, exist_ok=True)
    (config / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return _end(_begin(config))


SHAPES: dict[str, Callable[[Path, int], Path]] = {
    name.removeprefix("grow_").replace("_", "-"): function
    for name, function in list(globals().items())
    if name.startswith("grow_")
}
"""What grows, by name. Each returns the path of a session of the collection."""
