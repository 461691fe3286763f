"""Cards for web tools and for tools that the API executes itself: pages, searches and the advisor (another model)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from turnlog.render.card import FieldsSection, LinkSection, PlainSection, Section, TextSection, TreeSection
from turnlog.render.figures import format_cost_usd, format_count, format_size
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList, show_outcome
from turnlog.render.tools.generic_tools import show_result
from turnlog.render.values import (
    Json,
    format_scalar,
    parse_json_value,
    pick_text,
    to_count,
    to_dict,
    to_dict_list,
    to_list,
    to_short_line,
    to_string_list,
)
from turnlog.session.message_usage import list_separate_requests, sum_context_tokens
from turnlog.session.messages import Message

_LINKS_LINE = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
_RESULTS_HEAD = re.compile(r'\AWeb search results for query: ".*?"\n*', re.DOTALL)
_REMINDER_TEXT = "REMINDER: You MUST include the sources above"


def build_web_fetch_parts(work: CardSource) -> CardParts:
    """Build the card parts for WebFetch: a URL and a model's answer about the page."""
    url, prompt = pick_text(work.input_fields.get("url")), pick_text(work.input_fields.get("prompt"))
    asked: list[Section] = [LinkSection(url)] if url else []
    if prompt:
        asked.append(
            PlainSection(prompt, "Question")
            if parse_json_value(prompt) is None
            else TreeSection(parse_json_value(prompt), "Question")
        )
    return CardParts(asked, show_outcome(work, _show_page), list(_iter_badges(work.record)))


def _show_page(work: CardSource) -> SectionList:
    text = pick_text(work.record.get("result"), work.words)
    if not text or parse_json_value(text) is not None:
        return show_result(work)
    return (TextSection(text),)


def _iter_badges(record: Json) -> Iterator[str]:
    if (code := to_count(record.get("code"))) is not None:
        yield to_short_line(f"{code} {pick_text(record.get('codeText'))}", 40)
    if size := to_count(record.get("bytes")):
        yield format_size(size)


def build_web_search_parts(work: CardSource) -> CardParts:
    """Build the card parts for WebSearch: a query, the pages it found, and what a model says about them."""
    fields = work.input_fields
    limits = [(name, ", ".join(to_string_list(fields.get(name)))) for name in ("allowed_domains", "blocked_domains")]
    asked = [FieldsSection(tuple((name.replace("_", " "), to_short_line(value)) for name, value in limits if value))]
    sections = show_outcome(work, _show_found_pages)
    pages = sum(isinstance(section, LinkSection) for section in sections)
    badges = [format_count(pages, "page")] if pages else []
    return CardParts(asked if asked[0].rows else (), sections, badges)


def _show_found_pages(work: CardSource) -> SectionList:
    recorded = to_list(work.record.get("results"))
    sections = [section for item in recorded for section in _show_results(item)] or list(_show_text_results(work.words))
    return sections or show_result(work)


def _show_results(item: Any) -> Iterator[Section]:
    if isinstance(item, str) and item.strip():
        value = parse_json_value(item)
        yield TextSection(item.strip()) if value is None else TreeSection(value)
    for page in to_dict_list(to_dict(item).get("content")):
        if url := pick_text(page.get("url")):
            yield LinkSection(url, pick_text(page.get("title")), pick_text(page.get("snippet")))


def _show_text_results(text: str) -> Iterator[Section]:
    """Show the search results from the result's text, where links are JSON on one line."""
    links = [page for links_json in _LINKS_LINE.findall(text) for page in to_dict_list(parse_json_value(links_json))]
    for page in links:
        if url := pick_text(page.get("url")):
            yield LinkSection(url, pick_text(page.get("title")))
    if links:
        rest = _LINKS_LINE.sub("", _RESULTS_HEAD.sub("", text)).partition(_REMINDER_TEXT)[0].strip()
        if rest:
            yield TextSection(rest)


def _show_unsealed_result(work: CardSource) -> SectionList:
    """Show a result without its encrypted parts."""
    known = to_dict(work.detail.result)
    if "encrypted_content" not in known:
        return show_result(work)
    return (PlainSection("The result is encrypted: only the API can read it.", pick_text(known.get("type")), "note"),)


def build_served_parts(work: CardSource) -> CardParts:
    """Build the card parts for a tool that the API itself executes, such as web_search, web_fetch or code_execution."""
    pages = [page for page in to_dict_list(work.detail.result) if pick_text(page.get("url"))]
    if pages:
        links = [
            LinkSection(pick_text(page.get("url")), pick_text(page.get("title")), pick_text(page.get("page_age")))
            for page in pages
        ]
        return CardParts((), links, [format_count(len(links), "page")])
    code = pick_text(to_dict(work.detail.result).get("error_code"))
    answered: SectionList = (PlainSection(code, "", "error"),) if code else show_outcome(work, _show_unsealed_result)
    short = tuple(
        (name, to_short_line(format_scalar(value))) for name, value in work.input_fields.items() if format_scalar(value)
    )
    return CardParts((FieldsSection(short),) if short else (), answered)


_SEALED_TEXT = "The advice is encrypted: only the API can read it."


def build_advisor_parts(work: CardSource) -> CardParts:
    """Build the card parts for the advisor: what it said, its model and its cost."""
    return CardParts((), _show_advice(work), work.request_figures)


def _show_advice(work: CardSource) -> SectionList:
    if work.outcome == "unanswered":
        return ()
    advice_block = to_dict(work.detail.result)
    if code := pick_text(advice_block.get("error_code")):
        return (PlainSection(code, "", "error"),)
    if advice := pick_text(advice_block.get("text")):
        return (TextSection(advice),)
    return (PlainSection(_SEALED_TEXT, "", "note"),) if "encrypted_content" in advice_block else show_result(work)


def iter_advisor_figures(message: Message) -> Iterator[tuple[str, ...]]:
    """Yield the model, tokens and cost of the advisor's answers, in request order."""
    for request in list_separate_requests(message):
        if request.kind == "advisor_message":
            tokens, usd = request.tokens, request.compute_cost(message.started_at).usd
            figures = (f"{sum_context_tokens(tokens):,} in", f"{tokens.output:,} out", format_cost_usd(usd))
            yield to_short_line(request.model or "", 40), *figures
