"""Tools that nobody knows, and those of MCP servers: names and values, never raw JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.render.card import Code, Fields, Link, Picture, Plain, Section, Text, Tree
from turnlog.render.pictures import pictured
from turnlog.render.tools.work import Parts, Sections, Work, settled
from turnlog.render.values import SHORT, fields, is_markdown, line, parsed, rows, scalar, text

_MOST_FIELDS = 40
# The fields that say best what a call is about, in this order.
_TELLING = (
    "command", "file_path", "notebook_path", "pattern", "url", "uri", "query", "subject", "title", "description",
    "skill", "plan", "message", "prompt", "name", "path", "reason", "text",
)  # fmt: skip


def anything(work: Work) -> Parts:
    """Any tool."""
    return Parts(gist(work.detail.input), asked(work.detail.input), settled(work, results))


def mcp(work: Work) -> Parts:
    """A tool of an MCP server: `mcp__server__tool`."""
    _, _, rest = work.name.partition("__")
    server, _, tool = rest.rpartition("__")
    words = f"{server} › {tool}" if server else rest
    about = gist(work.detail.input)
    title = line(f"{words}: {about}" if about else words)
    return Parts(title, asked(work.detail.input), settled(work, results))


def gist(given: Any) -> str:
    """What a call was about, on one line: its most telling field, else all that are short."""
    known = fields(given)
    if not known:
        return line(scalar(given)) if given and not isinstance(given, dict | list) else ""
    if found := text(*(known.get(name) for name in _TELLING)):
        return line(found)
    short = [(name, value) for name, value in known.items() if not isinstance(value, dict | list)]
    return line(", ".join(f"{line(name, 40)} {line(scalar(value), 60)}" for name, value in short[:8]))


def asked(given: Any) -> Sections:
    """What a tool was given."""
    if given is None or given == {}:
        return ()
    if not isinstance(given, dict) or len(given) > _MOST_FIELDS:
        return (Tree(given),)
    short = tuple((name, scalar(value)) for name, value in given.items() if _is_short(value))
    long = [(name, value) for name, value in given.items() if isinstance(value, str) and not _is_short(value)]
    deep = {name: value for name, value in given.items() if isinstance(value, dict | list)}
    found: list[Section] = [Fields(short)] if short else []
    found += [worded(value, name) for name, value in long]
    return [*found, Tree(deep)] if deep else found


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT and "\n" not in value
    return not isinstance(value, dict | list)


def worded(words: str, title: str = "") -> Section:
    """A text of unknown form: JSON as a tree, Markdown as such, anything else as it is."""
    found = parsed(words)
    if found is not None:
        return Tree(found, title)
    return Text(words, title) if is_markdown(words) else Plain(words, title)


def results(work: Work) -> Sections:
    """A result of unknown form, block by block."""
    result = work.detail.result
    if isinstance(result, str):
        found = [worded(work.words)] if work.words.strip() else []
    elif isinstance(result, list):
        found = list(_blocks(result, list(work.pictures)))
    else:
        found = [Tree(result)] if result is not None else []
    found += [picture for picture in work.pictures if picture not in found]
    if not found and isinstance(work.detail.structured, dict | list) and work.detail.structured:
        found = [Tree(work.detail.structured)]
    return found


def _blocks(blocks: list[Any], pictures: list[Picture]) -> Iterator[Section]:
    for block in blocks:
        words = text(fields(block).get("text"))
        kind = fields(block).get("type")
        if kind == "text" and words:
            yield worded(words)
        elif pictured(block) is not None:
            yield pictures.pop(0) if pictures else Plain(f"[{kind}]", tone="note")
        elif kind == "resource" and (resource := fields(fields(block).get("resource"))):
            yield from _resource(resource)
        elif kind == "resource_link":
            yield Link(text(block.get("uri")), text(block.get("title"), block.get("name")))
        elif kind != "text":
            yield Tree(block)


def _resource(resource: dict[str, Any]) -> Iterator[Section]:
    uri = text(resource.get("uri"))
    if uri:
        yield Link(uri, text(resource.get("name")))
    if words := text(resource.get("text")):
        yield worded(words) if parsed(words) is not None else Code(words, uri)


def resources(work: Work) -> Parts:
    """ListMcpResourcesTool: what servers have to offer."""

    def shown(work: Work) -> Sections:
        found = [fields(item) for item in rows(work.detail.structured)]
        links = [
            Link(text(item.get("uri")), text(item.get("name")), text(item.get("description")))
            for item in found
            if text(item.get("uri"))
        ]
        return links or results(work)

    return Parts(line(text(work.given.get("server")) or "all servers"), (), settled(work, shown))


def resource(work: Work) -> Parts:
    """ReadMcpResourceTool: one resource of a server."""

    def shown(work: Work) -> Sections:
        contents = [fields(item) for item in rows(work.record.get("contents"))]
        return [section for item in contents for section in _resource(item)] or results(work)

    return Parts(line(f"{text(work.given.get('server'))} › {text(work.given.get('uri'))}"), (), settled(work, shown))
