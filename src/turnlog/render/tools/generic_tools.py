"""Tools that nobody knows, and those of MCP servers: names and values, never raw JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.render.card import (
    CodeSection,
    FieldsSection,
    LinkSection,
    Picture,
    PlainSection,
    Section,
    TextSection,
    TreeSection,
)
from turnlog.render.pictures import to_picture
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList, show_outcome
from turnlog.render.values import (
    MAX_LINE_CHARS,
    format_scalar,
    is_markdown,
    parse_json_value,
    pick_text,
    to_dict,
    to_list,
)

_MAX_FIELDS = 40


def build_generic_parts(work: CardSource) -> CardParts:
    """Any tool without a card of its own."""
    return CardParts(show_input(work.detail.input), show_outcome(work, show_result))


def show_input(given: Any) -> SectionList:
    """What a tool was given."""
    if given is None or given == {}:
        return ()
    if not isinstance(given, dict) or len(given) > _MAX_FIELDS:
        return (TreeSection(given),)
    short = tuple((name, format_scalar(value)) for name, value in given.items() if _is_short(value))
    long = [(name, value) for name, value in given.items() if isinstance(value, str) and not _is_short(value)]
    deep = {name: value for name, value in given.items() if isinstance(value, dict | list)}
    found: list[Section] = [FieldsSection(short)] if short else []
    found += [guess_text_section(value, name) for name, value in long]
    return [*found, TreeSection(deep)] if deep else found


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_LINE_CHARS and "\n" not in value
    return not isinstance(value, dict | list)


def guess_text_section(words: str, title: str = "") -> Section:
    """A text of unknown form: JSON as a tree, Markdown as such, anything else as it is."""
    found = parse_json_value(words)
    if found is not None:
        return TreeSection(found, title)
    return TextSection(words, title) if is_markdown(words) else PlainSection(words, title)


def show_result(work: CardSource) -> SectionList:
    """A result of unknown form, block by block."""
    result = work.detail.result
    if isinstance(result, str):
        found = [guess_text_section(work.words)] if work.words.strip() else []
    elif isinstance(result, list):
        found = list(_show_blocks(result, list(work.pictures)))
    else:
        found = [TreeSection(result)] if result is not None else []
    found += [picture for picture in work.pictures if picture not in found]
    if not found and isinstance(work.detail.structured, dict | list) and work.detail.structured:
        found = [TreeSection(work.detail.structured)]
    return found


def _show_blocks(blocks: list[Any], pictures: list[Picture]) -> Iterator[Section]:
    for block in blocks:
        words = pick_text(to_dict(block).get("text"))
        kind = to_dict(block).get("type")
        if kind == "text" and words:
            yield guess_text_section(words)
        elif to_picture(block) is not None:
            yield pictures.pop(0) if pictures else PlainSection(f"[{kind}]", tone="note")
        elif kind == "resource" and (resource := to_dict(to_dict(block).get("resource"))):
            yield from _show_resource(resource)
        elif kind == "resource_link":
            yield LinkSection(pick_text(block.get("uri")), pick_text(block.get("title"), block.get("name")))
        elif kind != "text":
            yield TreeSection(block)


def _show_resource(resource: dict[str, Any]) -> Iterator[Section]:
    uri = pick_text(resource.get("uri"))
    if uri:
        yield LinkSection(uri, pick_text(resource.get("name")))
    if words := pick_text(resource.get("text")):
        yield guess_text_section(words) if parse_json_value(words) is not None else CodeSection(words, uri)


def build_resource_list_parts(work: CardSource) -> CardParts:
    """ListMcpResourcesTool: what servers have to offer."""

    def show_sections(work: CardSource) -> SectionList:
        found = [to_dict(item) for item in to_list(work.detail.structured)]
        links = [
            LinkSection(pick_text(item.get("uri")), pick_text(item.get("name")), pick_text(item.get("description")))
            for item in found
            if pick_text(item.get("uri"))
        ]
        return links or show_result(work)

    return CardParts((), show_outcome(work, show_sections))


def build_resource_parts(work: CardSource) -> CardParts:
    """ReadMcpResourceTool: one resource of a server."""

    def show_sections(work: CardSource) -> SectionList:
        contents = [to_dict(item) for item in to_list(work.record.get("contents"))]
        return [section for item in contents for section in _show_resource(item)] or show_result(work)

    return CardParts((), show_outcome(work, show_sections))
