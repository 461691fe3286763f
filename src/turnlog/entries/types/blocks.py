"""Content blocks, as the Messages API names them, and token counts.

A line of an assistant message nearly always holds one block; a user entry holds a string or a list.
"""

from __future__ import annotations

from typing import Annotated, Any

from turnlog.entries.types.base import UNSEEN, FormatObject, mark_kind

Content = Annotated[str | list[Any] | None, mark_kind("blocks")]


class Block(FormatObject, tag_field="type"):
    """What every block may have."""

    cache_control: Any = None
    """Part of the API, not seen in a file: the client puts it on when it sends."""


class TextBlock(Block, tag="text"):
    """Text."""

    seen = ("1.0.17", None)
    text: str | None = None
    citations: Any = None
    """Part of the API, not seen in a file."""


class Thinking(Block, tag="thinking"):
    """What the model thought before it answered."""

    seen = ("1.0.31", None)
    thinking: str | None = None
    """From 2.1.72 on mostly empty, although the signature is there."""
    signature: str | None = None
    """Empty only where another vendor's model answered."""


class RedactedThinking(Block, tag="redacted_thinking"):
    """Thinking that only the API can read."""

    seen = ("2.1.97", "2.1.97")
    data: str | None = None


class ToolUse(Block, tag="tool_use"):
    """A call of a tool."""

    seen = ("1.0.17", None)
    id: str | None = None
    """`toolu_…`; other vendors use other forms. The result names it as `tool_use_id`."""
    name: str | None = None
    input: Any = None
    caller: Any = None
    """[2.1.17–2.1.235] `{"type": "direct"}`."""


class ToolResult(Block, tag="tool_result"):
    """The answer to a call; stands in a user entry."""

    seen = ("1.0.17", None)
    tool_use_id: str | None = None
    content: Content = None
    """A string, or a list of text, image and tool_reference blocks."""
    is_error: bool | None = None
    """Often absent when the call went well."""


class Image(Block, tag="image"):
    """A picture in a prompt or a result."""

    seen = ("1.0.53", None)
    source: Any = None
    """`{"type": "base64", "media_type", "data"}`."""


class DocumentBlock(Block, tag="document"):
    """A PDF in a prompt."""

    seen = ("2.0.5", "2.0.5")
    source: Any = None
    """`{"type": "base64", "media_type", "data"}`."""
    title: Any = None
    """Part of the API, not seen in a file."""
    context: Any = None
    """Part of the API, not seen in a file."""
    citations: Any = None
    """Part of the API, not seen in a file."""


class ToolReference(Block, tag="tool_reference"):
    """In the result of ToolSearch: a tool that can be called from now on."""

    seen = ("2.1.42", None)
    tool_name: str | None = None


class ServerToolUse(Block, tag="server_tool_use"):
    """A call that the API itself carries out; its result stands in the same message."""

    seen = ("2.1.231", "2.1.232")
    id: str | None = None
    name: str | None = None
    input: Any = None
    caller: Any = None
    """Part of the API, not seen in a file."""


class ServerToolResult(Block):
    """The result of a call that the API carried out."""

    tool_use_id: str | None = None
    content: Any = None


class AdvisorToolResult(ServerToolResult, tag="advisor_tool_result"):
    """What a second model advised; `content` is `{"type", "encrypted_content"}`."""

    seen = ("2.1.231", "2.1.232")


class WebSearchToolResult(ServerToolResult, tag="web_search_tool_result"):
    """Hits of the API's own web search; the client's WebSearch is an ordinary tool."""

    seen = UNSEEN


class WebFetchToolResult(ServerToolResult, tag="web_fetch_tool_result"):
    """A page fetched by the API."""

    seen = UNSEEN


class CodeExecutionToolResult(ServerToolResult, tag="code_execution_tool_result"):
    """Output of code that the API ran."""

    seen = UNSEEN


class BashCodeExecutionToolResult(ServerToolResult, tag="bash_code_execution_tool_result"):
    """Output of a command that the API ran."""

    seen = UNSEEN


class TextEditorCodeExecutionToolResult(ServerToolResult, tag="text_editor_code_execution_tool_result"):
    """Outcome of an edit that the API made."""

    seen = UNSEEN


class ToolSearchToolResult(ServerToolResult, tag="tool_search_tool_result"):
    """Tools found by the API."""

    seen = UNSEEN


class McpToolUse(Block, tag="mcp_tool_use"):
    """A call of an MCP tool by the API; the client's own MCP calls are `tool_use`."""

    seen = UNSEEN
    id: str | None = None
    name: str | None = None
    server_name: str | None = None
    input: Any = None


class McpToolResult(ServerToolResult, tag="mcp_tool_result"):
    """The answer to an MCP call of the API."""

    seen = UNSEEN
    is_error: bool | None = None


class ContainerUpload(Block, tag="container_upload"):
    """A file given to the API's container."""

    seen = UNSEEN
    file_id: str | None = None


class SearchResult(Block, tag="search_result"):
    """A passage with its source, to be cited."""

    seen = UNSEEN
    source: Any = None
    title: Any = None
    content: Any = None
    citations: Any = None


class CacheCreation(FormatObject):
    """Tokens written to the prompt cache, by how long they live."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerToolCount(FormatObject):
    """How often the API's own tools ran."""

    web_search_requests: int | None = None
    """[1.0.51+]"""
    web_fetch_requests: int | None = None
    """[2.0.76+]"""


class OutputTokensDetails(FormatObject):
    """What the output tokens were spent on."""

    thinking_tokens: int | None = None


class TokenCounts(FormatObject):
    """The four counts that are paid for."""

    input_tokens: int | None = None
    """Without what was read from or written to the cache."""
    output_tokens: int | None = None
    """Not final on every line: see "Streaming and usage"."""
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    """[1.0.84+]"""


class Iteration(TokenCounts):
    """One sampling of several behind one answer."""

    type: str | None = None
    model: str | None = None
    """[2.1.231+] Where another model took part."""


class MessageUsage(TokenCounts):
    """Token counts of one answer, repeated on all of its lines: count once per `message.id`."""

    service_tier: str | None = None
    """`standard`; null on synthetic messages."""
    server_tool_use: ServerToolCount | None = None
    """[1.0.51+]"""
    inference_geo: str | None = None
    """[2.1.17+]"""
    iterations: list[Iteration] | None = None
    """[2.1.38+]"""
    speed: str | None = None
    """[2.1.41+] `standard` or `fast`."""
    output_tokens_details: OutputTokensDetails | None = None
    """[2.1.228+]"""
    fallback_credit: Any = None
    """[2.1.325+] Always null so far."""
