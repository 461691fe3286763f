"""A tool of an MCP server, as the model sees it: `mcp__server__tool`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.agent.mcp_servers.server_config import normalize_name
from turnlog.agent.mcp_servers.server_link import ServerFailure, ServerLink
from turnlog.agent.mcp_servers.server_results import build_call_result
from turnlog.agent.tools.call_result import CallResult, Object, ToolError
from turnlog.agent.tools.tool import CallContext, Tool

MAX_DESCRIPTION_CHARS = 2048
MAX_NAME_CHARS = 128
TOOL_TIMEOUT_VARIABLE = "MCP_TOOL_TIMEOUT"


class ServerTool(Tool):
    """Passes calls on to a server, which checks their input itself."""

    def __init__(self, link: ServerLink, described: Object) -> None:
        self._link = link
        self._own_name = str(described.get("name") or "")
        self._description = str(described.get("description") or "")[:MAX_DESCRIPTION_CHARS]
        schema = described.get("inputSchema")
        self._schema: Object = schema if isinstance(schema, Mapping) and schema.get("type") == "object" else {}
        hints = described.get("annotations")
        self._only_reads = isinstance(hints, Mapping) and hints.get("readOnlyHint") is True

    @property
    def name(self) -> str:
        return self._link.config.prefix + normalize_name(self._own_name)

    @property
    def is_usable(self) -> bool:
        """Whether the API would accept the tool."""
        return bool(self._own_name) and len(self.name) <= MAX_NAME_CHARS

    @property
    def description(self) -> str:
        return self._description

    @property
    def schema(self) -> Object:
        return self._schema or {"type": "object"}

    def is_safe(self, arguments: Object) -> bool:
        """Return whether calls may run in parallel; what the server says of itself decides nothing else."""
        return self._only_reads

    def fetch_text(self, arguments: Object) -> str:
        """Call the tool for the client itself and return the text of its result; raise ServerFailure if that fails."""
        result = self._link.send("tools/call", {"name": self._own_name, "arguments": dict(arguments)})
        content = result.get("content")
        blocks = [one for one in content if isinstance(one, Mapping)] if isinstance(content, list) else []
        return "".join(str(block.get("text")) for block in blocks if block.get("type") == "text")

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        value = context.environ.get(TOOL_TIMEOUT_VARIABLE, "")
        seconds = int(value) / 1000 if value.isascii() and value.isdigit() and int(value) > 0 else None
        seconds = self._link.config.call_seconds or seconds
        params: dict[str, Any] = {"name": self._own_name, "arguments": dict(arguments)}
        try:
            result = self._link.send("tools/call", params, context.cancel, seconds)
        except ServerFailure as error:
            raise ToolError(f"MCP server {self._link.config.name}: {error}") from None
        return build_call_result(self._link.config.name, self._own_name, result, context.session, context.environ)
