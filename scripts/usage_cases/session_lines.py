"""Lines of session files as the client writes them, reduced to what counting needs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

Json = dict[str, Any]
SPACE = UUID("7d0f1c52-57a0-4b5e-9c9e-0d6f3f6f2b11")
START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
CWD = "/home/dana/webshop"
PROJECT = "projects/-home-dana-webshop"


def make_session_id(name: str) -> str:
    """Derive the id of a session from its name in the case."""
    return str(UUID(bytes=uuid5(SPACE, name).bytes, version=4))


def format_time(minutes: float) -> str:
    """Return the time that is `minutes` after the start."""
    return (START + timedelta(minutes=minutes)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def build_usage(
    input_tokens: int, output: int, read: int = 0, written: int = 0, long: int | None = None, **more: Any
) -> Json:
    """Build token counts; `long` is how many of the tokens written to the cache live for an hour."""
    counts: Json = {
        "input_tokens": input_tokens,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": output,
        "service_tier": "standard",
    }
    if long is not None:
        split = {"ephemeral_5m_input_tokens": written - long, "ephemeral_1h_input_tokens": long}
        counts["cache_creation"] = split
    return counts | more


def build_iteration(
    input_tokens: int,
    output: int,
    read: int = 0,
    written: int = 0,
    long: int = 0,
    *,
    kind: str = "message",
    **more: Any,
) -> Json:
    """Build one of the requests behind a message."""
    return {
        "input_tokens": input_tokens,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written - long, "ephemeral_1h_input_tokens": long},
        "type": kind,
        **more,
    }


def build_iterations(*requests: Json) -> Json:
    """Build the requests behind a message, to merge into its usage; the cache writes are split as in the first."""
    return {"iterations": list(requests), "cache_creation": requests[0]["cache_creation"]}


class Session:
    """A session file while it is being written; each line is a minute later than the previous one."""

    def __init__(self, name: str, version: str = "2.1.325", *, start: float = 0, agent: str | None = None) -> None:
        self.name = name
        self.id = make_session_id(name)
        self.version = version
        self.agent = agent
        self.lines: list[Json] = []
        self._minute = start
        self._parent: str | None = None

    def pass_time(self, minutes: float) -> Session:
        self._minute += minutes
        return self

    def add_row(self, kind: str, **fields: Any) -> Json:
        """Add an entry to the graph."""
        self._minute += 1
        label = f"{self.name} {self.agent} {len(self.lines)}"
        line: Json = {
            "parentUuid": self._parent,
            "isSidechain": self.agent is not None,
            "userType": "external",
            "cwd": CWD,
            "sessionId": self.id,
            "version": self.version,
            "gitBranch": "main",
            **({"agentId": self.agent} if self.agent else {}),
            "type": kind,
            **fields,
            "uuid": str(uuid5(SPACE, label)),
            "timestamp": format_time(self._minute),
        }
        self._parent = line["uuid"]
        self.lines.append(line)
        return line

    def add_prompt(self, text: str = "Go on.") -> Json:
        return self.add_row("user", message={"role": "user", "content": text})

    def add_answer(
        self,
        message: str | None,
        counts: Json | None,
        *,
        model: str = "claude-opus-5",
        stop: str | None = "end_turn",
        request: str | None = "",
        text: str = "Done.",
        **fields: Any,
    ) -> Json:
        """Add one line of an answer; `message` and `request` are its ids, and None omits them."""
        head: Json = {"model": model, "type": "message", "role": "assistant"}
        if message is not None:
            head["id"] = f"msg_{self.name}_{message}"
        head["content"] = [{"type": "text", "text": text}]
        head |= {"stop_reason": stop, "stop_sequence": None}
        if counts is not None:
            head["usage"] = counts
        if request is not None:
            fields["requestId"] = f"req_{self.name}_{request or message}"
        return self.add_row("assistant", message=head, **fields)

    def copy_line(self, line: Json) -> Json:
        """Add a line of another session again; only what belongs to the line itself is new."""
        return self.add_row(line["type"], message=dict(line["message"]), requestId=line["requestId"])

    def echo_line(self, line: Json) -> Json:
        """Add a sub-agent's line as the session's own file repeats it."""
        inner = {key: line[key] for key in ("type", "timestamp", "message", "requestId", "uuid")}
        data = {
            "message": inner,
            "normalizedMessages": [],
            "type": "agent_progress",
            "prompt": "",
            "agentId": "a1b2c3d",
        }
        return self.add_row("progress", data=data, toolUseID="agent_msg", parentToolUseID="toolu_1")


def encode_lines(lines: list[Json], separators: tuple[str, str] = (",", ":")) -> bytes:
    return b"".join(json.dumps(line, separators=separators).encode() + b"\n" for line in lines)
