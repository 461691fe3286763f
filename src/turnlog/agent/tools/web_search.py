"""WebSearch: uses the API's own search in a separate request."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.tool import CallContext

MAX_SEARCHES = 8
_SOURCES_REMINDER = (
    "\nREMINDER: You MUST include the sources above in your response to the user using markdown hyperlinks."
)
_SEARCH_INSTRUCTION = (
    "You search the web for another program. Search for what it asks, then say briefly what was found."
)


class WebSearch(DescribedTool):
    only_reads = True

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        began, query = time.monotonic(), arguments["query"]
        if arguments.get("allowed_domains") and arguments.get("blocked_domains"):
            raise RejectedCall("Error: Cannot specify both allowed_domains and blocked_domains in the same request")
        prompt = f"Perform a web search for the query: {query}"
        blocks = context.desk.consult(_SEARCH_INSTRUCTION, prompt, context.cancel, [_build_server_tool(arguments)])
        results = list(_collect_results(blocks))
        structured = {
            "query": query,
            "results": results,
            "durationSeconds": time.monotonic() - began,
            "searchCount": sum(block.get("type") == "server_tool_use" for block in blocks),
        }
        return CallResult(_render_results(query, results), structured)


def _build_server_tool(arguments: Object) -> dict[str, Any]:
    limits = {name: arguments[name] for name in ("allowed_domains", "blocked_domains") if arguments.get(name)}
    return {"type": "web_search_20250305", "name": "web_search", **limits, "max_uses": MAX_SEARCHES}


def _collect_results(blocks: Iterable[Object]) -> Iterable[str | dict[str, Any]]:
    """Yield the search results and the text between them; adjacent pieces of text are joined."""
    text = ""
    for block in blocks:
        if block.get("type") == "text":
            text += str(block.get("text") or "")
        elif block.get("type") in ("server_tool_use", "web_search_tool_result"):
            if text.strip():
                yield text.strip()
            text = ""
        if block.get("type") == "web_search_tool_result":
            yield _extract_hits(block)
    if text.strip():
        yield text.strip()


def _extract_hits(block: Object) -> str | dict[str, Any]:
    content = block.get("content")
    if not isinstance(content, list):
        code = content.get("error_code") if isinstance(content, dict) else None
        return f"Web search error: {code or 'unavailable'}"
    hits = [{"title": hit.get("title"), "url": hit.get("url")} for hit in content if isinstance(hit, dict)]
    return {"tool_use_id": block.get("tool_use_id"), "content": hits}


def _render_results(query: str, results: list[str | dict[str, Any]]) -> str:
    text = f'Web search results for query: "{query}"\n\n'
    for result in results:
        if isinstance(result, str):
            text += f"{result}\n\n"
        elif result["content"]:
            text += f"Links: {json.dumps(result['content'], separators=(',', ':'), ensure_ascii=False)}\n\n"
        else:
            text += "No links found.\n\n"
    return text + _SOURCES_REMINDER
