"""Turns what MCP servers return into blocks for the model, within limits.

Pictures are sent as pictures and also kept as files, other data only as files. A result that is too large is saved, and
the model gets its path.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnlog.agent.mcp_servers.server_config import normalize_name
from turnlog.agent.tools.call_result import CallResult, Object, ToolError

DEFAULT_MAX_OUTPUT_TOKENS = 25_000
MAX_OUTPUT_VARIABLE = "MAX_MCP_OUTPUT_TOKENS"
_CHARS_PER_TOKEN = 4
_PICTURE_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_DATA_SUFFIXES = {
    **_PICTURE_SUFFIXES,
    "text/plain": ".txt",
    "text/html": ".html",
    "text/csv": ".csv",
    "text/markdown": ".md",
    "application/json": ".json",
    "application/pdf": ".pdf",
}
_MAX_BLOCKS = 1000


def build_call_result(server: str, tool: str, result: Object, folder: Path, environ: Mapping[str, str]) -> CallResult:
    """Convert the result of a call; raise ToolError if the server reports an error."""
    blocks = [block for item in _list_items(result) for block in _convert_item(server, item, folder)]
    if result.get("isError") is True:
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        raise ToolError("\n".join(texts)[: get_max_output_chars(environ)] or "The tool failed without a message.")
    structured = result.get("structuredContent")
    content: str | list[dict[str, Any]] = blocks or ""
    if structured is not None:  # says the same as the blocks, in fewer words
        content = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    content = limit_output(server, tool, content, folder, environ)
    return CallResult(content or f"({tool} completed with no output)", content)


def _list_items(result: Object) -> list[Object]:
    content = result.get("content")
    items = [item for item in content if isinstance(item, Mapping)] if isinstance(content, Sequence) else []
    return items[:_MAX_BLOCKS]


def _convert_item(server: str, item: Object, folder: Path) -> list[dict[str, Any]]:
    kind = item.get("type")
    if kind == "text":
        return [_text(str(item.get("text") or ""))]
    if kind == "image" and item.get("mimeType") in _PICTURE_SUFFIXES:
        media_type, data = str(item["mimeType"]), str(item.get("data") or "")
        path = _save_data(server, data, _PICTURE_SUFFIXES[media_type], folder)
        if path is None:
            return [_text("[A picture that can't be decoded]")]
        source = {"type": "base64", "media_type": media_type, "data": data}
        return [{"type": "image", "source": source}, _text(f"[Image: source: {path}]")]
    if kind == "resource_link":
        more = f" ({item['description']})" if item.get("description") else ""
        return [_text(f"[Resource link: {item.get('name') or ''}] {item.get('uri') or ''}{more}")]
    if kind == "resource" and isinstance(resource := item.get("resource"), Mapping):
        return [
            _text(f"[Resource from {server} at {resource.get('uri')}] {read_resource_text(server, resource, folder)}")
        ]
    if isinstance(item.get("data"), str):
        path = _save_data(server, str(item["data"]), ".bin", folder)
        return [_text(f"[{kind} data ({item.get('mimeType') or 'unknown type'}) saved to {path}]")]
    return [_text(json.dumps(item, ensure_ascii=False, default=str))]


def read_resource_text(server: str, resource: Object, folder: Path) -> str:
    """Return the text of a resource, or where its data is saved."""
    if isinstance(resource.get("text"), str):
        return str(resource["text"])
    kind, data = str(resource.get("mimeType") or "unknown type"), str(resource.get("blob") or "")
    path = _save_data(server, data, _DATA_SUFFIXES.get(kind, ".bin"), folder)
    if path is None:
        return "[Data that can't be decoded]"
    return f"Binary content ({kind}, {path.stat().st_size} bytes) saved to {path}"


def limit_output(
    server: str, tool: str, content: str | list[dict[str, Any]], folder: Path, environ: Mapping[str, str]
) -> str | list[dict[str, Any]]:
    """Return content if it is small enough; otherwise, save it and return where it is."""
    parts = [content] if isinstance(content, str) else [str(block.get("text") or "") for block in content]
    text = "\n\n".join(part for part in parts if part)
    if len(text) <= get_max_output_chars(environ):
        return content
    name = f"mcp-{normalize_name(server)}-{normalize_name(tool)[:60]}-{_create_suffix()}.txt"
    path = _write_file(folder, name, text.encode("utf-8", "replace"))
    lines = text.count("\n") + 1
    return (
        f"Error: result ({len(text):,} characters across {lines:,} {'line' if lines == 1 else 'lines'}) exceeds maximum"
        f" allowed tokens. Output has been saved to {path}.\nSearch within the file for specific content, or read it in"
        " parts, before you rely on it."
    )


def get_max_output_chars(environ: Mapping[str, str]) -> int:
    value = environ.get(MAX_OUTPUT_VARIABLE, "")
    tokens = int(value) if value.isascii() and value.isdigit() and int(value) > 0 else DEFAULT_MAX_OUTPUT_TOKENS
    return tokens * _CHARS_PER_TOKEN


def _save_data(server: str, data: str, suffix: str, folder: Path) -> Path | None:
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        return None
    return _write_file(folder, f"mcp-{normalize_name(server)}-blob-{_create_suffix()}{suffix}", raw)


def _write_file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / "tool-results" / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(data)
    return path


def _create_suffix() -> str:
    return f"{time.time_ns() // 1_000_000}-{os.urandom(3).hex()}"


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
