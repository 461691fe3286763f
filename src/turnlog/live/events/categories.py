"""What a call does, by the name of its tool: the table that docs/events.md shows.

A known tool has the category of its family (`session.calls.TOOL_FAMILIES`), with a few exceptions. For a tool from an
MCP server, and for any other unknown tool, the words in its name decide: `mcp__github__create_issue` writes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from turnlog.live.events.event import Category
from turnlog.session.calls import find_tool_family

MAX_TOOL_NAME_CHARS = 200

CATEGORY_BY_FAMILY: dict[str, Category] = {
    "reading": "read",
    "writing": "write",
    "running": "run",
    "web": "web",
    "planning": "plan",
    "asking": "ask",
    "agents": "agent",
    "skills": "other",
}
CATEGORY_EXCEPTIONS: dict[str, Category] = {
    "AgentOutputTool": "agent",
    "SendUserFile": "other",
    "StructuredOutput": "other",
}
"""Tools that do something different from the rest of their family, or that belong to no family."""
CATEGORY_WORDS: dict[Category, frozenset[str]] = {
    "read": frozenset(
        "check count describe diff find get glob grep inspect list lookup ls query read resolve retrieve search show"
        " status view".split()
    ),
    "write": frozenset(
        "add append apply archive assign cancel close comment commit copy create delete deploy draft duplicate edit"
        " insert install make merge modify move new patch post publish push put remove rename replace reply save"
        " send set submit update upload upsert write".split()
    ),
    "run": frozenset(
        "bash build call command eval evaluate exec execute execution invoke kill launch powershell repl run script"
        " shell start stop terminal test".split()
    ),
    "web": frozenset("browse browser crawl download fetch http internet navigate scrape url web website".split()),
}
"""The words that reveal the effect of an unknown tool. The first one in its name counts, but a search on the web is
`web`."""
WEB_SERVERS = frozenset({"browser", "chrome", "devtools", "firefox", "playwright", "puppeteer"})
"""Words in the names of MCP servers whose tools control a browser."""

_CATEGORY_BY_WORD = {word: category for category, words in CATEGORY_WORDS.items() for word in words}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(1024)
def find_category(tool: str) -> Category:
    """Return what a call to a tool does."""
    if exception := CATEGORY_EXCEPTIONS.get(tool):
        return exception
    if category := CATEGORY_BY_FAMILY.get(find_tool_family(tool)):
        return category
    server, name = _split_name(tool[:MAX_TOOL_NAME_CHARS])
    if WEB_SERVERS.intersection(_list_words(server)):
        return "web"
    found = [category for word in _list_words(name) if (category := _CATEGORY_BY_WORD.get(word))]
    if not found:
        return "other"
    return "web" if found[0] == "read" and "web" in found else found[0]


def _split_name(tool: str) -> tuple[str, str]:
    """Split the name of an MCP tool into server and tool: `mcp__github__create_issue`."""
    if not tool.startswith("mcp__"):
        return "", tool
    server, _, name = tool.removeprefix("mcp__").partition("__")
    return server, name


def _list_words(name: str) -> list[str]:
    """List the words of a name in snake_case, kebab-case or camelCase."""
    return [word.lower() for word in _WORD.findall(name)]
