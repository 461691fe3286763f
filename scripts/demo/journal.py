"""A session file while it grows: its state, and rows in the dialect of its client version.

eras     1.0, 2.0   one straight line; only the last row of a message has the real usage
         early 2.1  `progress` rows in the chain, results whose parent is their own call, placeholder usage
         late 2.1   `attachment` rows, usage on every row, metadata rows that are repeated
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from demo.home import Home
from demo.ids import Row, add_seconds, estimate_tokens, format_time, make_uuid, pick_number
from demo.project import Project


class Journal:
    """The rows of a session or a sub-agent."""

    def __init__(
        self,
        home: Home,
        name: str,
        project: Project,
        version: str,
        start: str,
        model: str,
        *,
        entrypoint: str = "cli",
        branch: str = "main",
        base: int = 17_800,
        requests: bool = False,
    ) -> None:
        self.home, self.name, self.project, self.version, self.model = home, name, project, version, model
        self.sid, self.cwd, self.branch, self.entrypoint = make_uuid(name), project.cwd, branch, entrypoint
        self.clock = datetime.fromisoformat(start).replace(tzinfo=UTC)
        self.rows: list[Row] = []
        self.start = self.clock
        self.parent: str | None = None
        self.agent: str | None = None
        self.agent_type: str | None = None
        self.slug: str | None = None
        self.mode = "default"
        self.hour = False  # cache entries live for an hour instead of five minutes
        self.title: tuple[str, str] | None = None
        self.lines = [0, 0]
        self.spent: dict[str, Row] = {}
        self.tools: list[str] = []
        self.last_prompt: str | None = None
        self.prompt_row = self.prompt_id = self.started = ""
        self.requests, self.sent, self.tail, self.base_request = requests, 0, list[tuple[Row, bool]](), ""
        self.shape_hash = ""
        self._count = self._prompts = self._turns = 0
        self._cached, self._fresh, self._last_call = 0, base, self.clock
        self._tracked: dict[str, Row] = {}
        self._touched: set[str] = set()
        self._turn_start, self._turn_rows = self.clock, 0
        self.late = version.startswith("2.1.") and int(version.split(".")[2]) >= 90
        self.early = version.startswith("2.1.") and not self.late
        self.newest = version == "2.1.325"

    def next_uuid(self) -> str:
        """Return the next uuid of this session."""
        self._count += 1
        return make_uuid(f"{self.name}/{self.agent}/{self._count}")

    def pass_time(self, seconds: float) -> None:
        self.clock = add_seconds(self.clock, seconds)

    def next_time(self) -> str:
        """Advance the clock by a few milliseconds and return the time as a string."""
        self.pass_time(pick_number(f"{self.name}{self._count}{len(self.rows)}", 3, 41) / 1000)
        return format_time(self.clock)

    def add_metadata(self, kind: str, **fields: Any) -> Row:
        """Add a metadata row, which has no uuid and is not part of the graph."""
        row = {"type": kind, **fields, "sessionId": self.sid}
        self.rows.append(row)
        return row

    def add_row(self, kind: str, body: Row, *, parent: str | None = "-", tail: Row | None = None) -> str:
        """Add a row to the graph, below the newest row unless `parent` is given."""
        uuid, at = self.next_uuid(), self.next_time()
        head: Row = {"parentUuid": self.parent if parent == "-" else parent}
        if "logicalParentUuid" in body:
            head["logicalParentUuid"] = body.pop("logicalParentUuid")
        head["isSidechain"] = self.agent is not None
        place: Row = {
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.sid,
            "version": self.version,
            "gitBranch": self.branch,
        }
        agent = {"agentId": self.agent} if self.agent and not self.version.startswith("1.") else {}
        slug = {"slug": self.slug} if self.slug else {}
        when = {"uuid": uuid, "timestamp": at, **(tail or {})}
        if self.late:
            place = {"userType": "external", "entrypoint": self.entrypoint} | place
            prompt = {"promptId": self.prompt_id} if kind == "user" and self.prompt_id else {}
            first = {"type": kind} if kind in ("user", "system") else {}
            end = {} if first else {"type": kind}
            row = {**head, **prompt, **agent, **first, **body, **end, **when, **place, **slug}
        else:
            first = {} if kind == "assistant" else {"type": kind}
            end = {} if first else {"type": kind}
            row = {**head, **place, **agent, **slug, **first, **body, **end, **when}
        self.rows.append(row)
        self.parent = uuid
        self._turn_rows += 1
        return uuid

    def add_system_row(self, subtype: str | None, **fields: Any) -> str:
        return self.add_row("system", {**({"subtype": subtype} if subtype else {}), **fields})

    def add_attachment(self, kind: str, rendered: str | None = None, role: str = "system", **fields: Any) -> str:
        """Add an attachment row; `rendered` is the text that the client sends for it."""
        messages = [{"content": f"<system-reminder>\n{rendered}\n</system-reminder>"}]
        tail = {"rendered": messages, "renderedRole": role} if rendered is not None and self.newest else None
        self._fresh += estimate_tokens(rendered or "")
        return self.add_row("attachment", {"attachment": {"type": kind, **fields}}, tail=tail)

    def add_progress(self, data: Row, call: str, own: str | None = None) -> str:
        """Add a progress row (versions 2.1.11 to 2.1.81)."""
        return self.add_row("progress", {"data": data, "toolUseID": own or call, "parentToolUseID": call})

    def add_queue_row(self, operation: str, content: str | None = None, **more: Any) -> None:
        """Add a change to the queue of typed prompts and notifications."""
        row: Row = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": self.next_time(),
            "sessionId": self.sid,
        }
        self.rows.append({**row, **({"content": content} if content is not None else {}), **more})

    def _get_millis(self) -> int:
        return int(self.clock.timestamp() * 1000)
