"""Cards for unknown tools and MCP tools: names and values, never raw JSON."""

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
    """Build the card parts for any tool without its own card."""
    return CardParts(show_input(work.detail.input), show_outcome(work, show_result))


def show_input(arguments: Any) -> SectionList:
    if arguments is None or arguments == {}:
        return ()
    if not isinstance(arguments, dict) or len(arguments) > _MAX_FIELDS:
        return (TreeSection(arguments),)
    short = tuple((name, format_scalar(value)) for name, value in arguments.items() if _is_short(value))
    long = [(name, value) for name, value in arguments.items() if isinstance(value, str) and not _is_short(value)]
    deep = {name: value for name, value in arguments.items() if isinstance(value, dict | list)}
    sections: list[Section] = [FieldsSection(short)] if short else []
    sections += [guess_text_section(value, name) for name, value in long]
    return [*sections, TreeSection(deep)] if deep else sections


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_LINE_CHARS and "\n" not in value
    return not isinstance(value, dict | list)


def guess_text_section(text: str, title: str = "") -> Section:
    """Show text of unknown form: JSON as a tree, Markdown as Markdown, and anything else as plain text."""
    value = parse_json_value(text)
    if value is not None:
        return TreeSection(value, title)
    return TextSection(text, title) if is_markdown(text) else PlainSection(text, title)


def show_result(work: CardSource) -> SectionList:
    """Show a result of unknown form, block by block."""
    result = work.detail.result
    if isinstance(result, str):
        sections = [guess_text_section(work.words)] if work.words.strip() else []
    elif isinstance(result, list):
        sections = list(_show_blocks(result, list(work.pictures)))
    else:
        sections = [TreeSection(result)] if result is not None else []
    sections += [picture for picture in work.pictures if picture not in sections]
    if not sections and isinstance(work.detail.structured, dict | list) and work.detail.structured:
        sections = [TreeSection(work.detail.structured)]
    return sections


def _show_blocks(blocks: list[Any], pictures: list[Picture]) -> Iterator[Section]:
    for block in blocks:
        text = pick_text(to_dict(block).get("text"))
        kind = to_dict(block).get("type")
        if kind == "text" and text:
            yield guess_text_section(text)
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
    if text := pick_text(resource.get("text")):
        yield guess_text_section(text) if parse_json_value(text) is not None else CodeSection(text, uri)


def build_resource_list_parts(work: CardSource) -> CardParts:
    """Build the card parts for ListMcpResourcesTool: the resources that servers offer."""

    def show_sections(work: CardSource) -> SectionList:
        resources = [to_dict(item) for item in to_list(work.detail.structured)]
        links = [
            LinkSection(pick_text(item.get("uri")), pick_text(item.get("name")), pick_text(item.get("description")))
            for item in resources
            if pick_text(item.get("uri"))
        ]
        return links or show_result(work)

    return CardParts((), show_outcome(work, show_sections))


def build_resource_parts(work: CardSource) -> CardParts:
    """Build the card parts for ReadMcpResourceTool: one resource from a server."""

    def show_sections(work: CardSource) -> SectionList:
        contents = [to_dict(item) for item in to_list(work.record.get("contents"))]
        return [section for item in contents for section in _show_resource(item)] or show_result(work)

    return CardParts((), show_outcome(work, show_sections))
