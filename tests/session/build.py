"""A small builder of sessions: each call adds one entry below the one before, a minute later."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from turnlog.api.documents import to_document
from turnlog.session.session import Session
from turnlog.session.session_summary import summarize_session

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SESSION = "11111111-2222-4333-8444-555555555555"
START = datetime(2026, 1, 1, 10, 0, tzinfo=UTC)
HERE: Any = object()
"""The parent is the entry before."""

Line = dict[str, Any]


def find_recording(name: str) -> Path:
    """A recorded session of the real client, by the beginning of its path: `2.1.325/tools`."""
    return next(iter(sorted(DATA.glob(f"sessions/{name}*/projects/*/????????-*.jsonl")) or [DATA / name]))


def variant(name: str) -> Path:
    """A recorded session that was edited by hand."""
    return DATA / "variants" / f"{name}.jsonl"


def genuine(name: str) -> Session:
    """A recorded session in memory, without its sub-agents' files."""
    return Session.from_bytes(find_recording(name).read_bytes())


def open_variant(name: str) -> Session:
    """A recorded session that was edited by hand, in memory."""
    return Session.from_bytes(variant(name).read_bytes())


def encode_lines(lines: list[Line]) -> bytes:
    """Lines as the client writes them."""
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def stamp(seconds: float) -> str:
    """A time so many seconds after the start, as the client writes it."""
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Build:
    """Lines of a session; what adds one that has a uuid gives the uuid back."""

    def __init__(self, version: str = "2.1.325", *, step: float = 60) -> None:
        self.lines: list[Line] = []
        self.last: str | None = None
        self.version = version
        self.step = step
        self._now = 0.0

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def note(self, kind: str, **fields: Any) -> None:
        """An entry outside of the graph."""
        self.lines.append({"type": kind, "sessionId": SESSION, **fields})

    def row(self, kind: str, uuid: str | None = None, *, parent: Any = HERE, **fields: Any) -> str:
        """An entry of the graph."""
        self._now += self.step
        key = uuid or f"{kind}-{len(self.lines)}"
        line = {
            "parentUuid": self.last if parent is HERE else parent,
            "isSidechain": False,
            "type": kind,
            "uuid": key,
            "timestamp": stamp(self._now),
            "sessionId": SESSION,
            "version": self.version,
            "cwd": "/home/dana/webshop",
            **fields,
        }
        self.lines.append(line)
        self.last = key
        return key

    def prompt(self, content: Any = "hello", uuid: str | None = None, **fields: Any) -> str:
        """A user entry."""
        return self.row("user", uuid, message={"role": "user", "content": content}, **fields)

    def answer(
        self,
        *content: Any,
        uuid: str | None = None,
        id: Any = HERE,  # noqa: A002
        model: str = "claude-opus-5",
        stop: str | None = "end_turn",
        usage: Line | None = None,
        **fields: Any,
    ) -> str:
        """An assistant entry; strings are texts."""
        blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
        message: Line = {"role": "assistant", "model": model, "content": blocks, "stop_reason": stop}
        message["id"] = f"msg-{len(self.lines)}" if id is HERE else id
        if usage is not None:
            message["usage"] = usage
        return self.row("assistant", uuid, message=message, **fields)

    def call(self, call: str = "c1", name: str = "Bash", given: Any = None, **fields: Any) -> str:
        """An assistant entry with one call."""
        return self.answer(use(call, name, given), stop="tool_use", **fields)

    def result(self, call: str = "c1", content: Any = "done", *, error: bool | None = None, **fields: Any) -> str:
        """A user entry with the result of a call."""
        return self.prompt([outcome(call, content, error)], **fields)

    def system(self, subtype: str, **fields: Any) -> str:
        """A system entry."""
        return self.row("system", subtype=subtype, **fields)

    def attachment(self, kind: str, *, parent: Any = HERE, uuid: str | None = None, **fields: Any) -> str:
        """An attachment."""
        return self.row("attachment", uuid, parent=parent, attachment={"type": kind, **fields})

    def progress(self, uuid: str | None = None, *, parent: Any = HERE, **data: Any) -> str:
        """A progress entry."""
        return self.row("progress", uuid, parent=parent, data={"type": "bash_progress", **data})

    def boundary(self, uuid: str | None = None, *, before: str | None = None, **metadata: Any) -> str:
        """The boundary of a compaction."""
        logical = self.last if before is None else before
        return self.row(
            "system",
            uuid,
            parent=None,
            subtype="compact_boundary",
            logicalParentUuid=logical,
            compactMetadata={"trigger": "auto", "preTokens": 1000, **metadata},
        )

    def summary(self, text: str = "SUMMARY", uuid: str | None = None, **fields: Any) -> str:
        """The summary behind a boundary."""
        return self.prompt(text, uuid, isCompactSummary=True, isVisibleInTranscriptOnly=True, **fields)

    def interrupt(self, **fields: Any) -> str:
        """What the client writes when a person presses Esc."""
        return self.prompt([{"type": "text", "text": "[Request interrupted by user]"}], **fields)

    def __getitem__(self, uuid: str) -> Line:
        """The line with a uuid, to change it."""
        return next(line for line in self.lines if line.get("uuid") == uuid)

    def data(self) -> bytes:
        """The file."""
        return encode_lines(self.lines)

    def session(self) -> Session:
        """The session in memory."""
        return Session.from_bytes(self.data())

    def write(self, folder: Path, name: str = SESSION) -> Path:
        """The session as a file."""
        path = folder / f"{name}.jsonl"
        path.write_bytes(self.data())
        return path

    def describe_resumed(self, leaf: str | None = None, *, as_sent: bool = False) -> list[str]:
        """What would be resumed, one short text for each message."""
        return describe_resumed(self.session(), leaf, as_sent=as_sent)


def use(call: Any = "c1", name: Any = "Bash", given: Any = None) -> Line:
    """A `tool_use` block."""
    return {"type": "tool_use", "id": call, "name": name, "input": {"command": "ls"} if given is None else given}


def outcome(call: Any = "c1", content: Any = "done", error: bool | None = None) -> Line:
    """A `tool_result` block."""
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return block if error is None else {**block, "is_error": error}


def describe_resumed(session: Session, leaf: str | None = None, *, as_sent: bool = False) -> list[str]:
    """The resumed messages in short: `U hello`, `A text + call c1`, `U result c1`."""
    found = session.conversation(leaf, as_sent=as_sent).messages
    return [f"{message['role'][0].upper()} " + " + ".join(map(_short, message["content"])) for message in found]


def _short(block: Line) -> str:
    if block["type"] == "text":
        return str(block["text"])
    if block["type"] in ("tool_use", "tool_result"):
        return f"call {block.get('id')}" if block["type"] == "tool_use" else f"result {block.get('tool_use_id')}"
    return str(block["type"])


def base(step: float = 60) -> Build:
    """u1 a1 u2 a2 u3 a3, a minute apart: what the measurements of the real client began with."""
    build = Build(step=step)
    for number in (1, 2, 3):
        build.prompt(f"u{number} text", f"u{number}")
        build.answer(f"a{number} text", uuid=f"a{number}", id=f"m{number}")
    return build


BASE = ["U u1 text", "A a1 text", "U u2 text", "A a2 text", "U u3 text", "A a3 text"]


def to_session_document(session: Session) -> dict[str, Any]:
    """What `turnlog show --json` prints of a session."""
    found: dict[str, Any] = to_document(summarize_session(session))
    return found
