"""The web: pages that were fetched and searches, by the client's tools or by the API itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from turnlog.render.card import Fields, Link, Plain, Section, Text, Tree
from turnlog.render.figures import count, size
from turnlog.render.tools.anything import results
from turnlog.render.tools.work import Parts, Sections, Work, settled
from turnlog.render.values import Json, fields, line, number, objects, parsed, rows, scalar, strings, text

_LINKS = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
_HEAD = re.compile(r'\AWeb search results for query: ".*?"\n*', re.DOTALL)
_REMINDER = "REMINDER: You MUST include the sources above"


def fetch(work: Work) -> Parts:
    """WebFetch: an address, and what a model made of the page."""
    url, prompt = text(work.given.get("url")), text(work.given.get("prompt"))
    asked: list[Section] = [Link(url)] if url else []
    if prompt:
        asked.append(Plain(prompt, "Question") if parsed(prompt) is None else Tree(parsed(prompt), "Question"))
    return Parts(line(url), asked, settled(work, _page), list(_badges(work.record)))


def _page(work: Work) -> Sections:
    words = text(work.record.get("result"), work.words)
    if not words or parsed(words) is not None:
        return results(work)
    return (Text(words),)


def _badges(record: Json) -> Iterator[str]:
    if (code := number(record.get("code"))) is not None:
        yield line(f"{code} {text(record.get('codeText'))}", 40)
    if octets := number(record.get("bytes")):
        yield size(octets)


def search(work: Work) -> Parts:
    """WebSearch: a query, the pages that were found, and what a model says about them."""
    given = work.given
    limits = [(name, ", ".join(strings(given.get(name)))) for name in ("allowed_domains", "blocked_domains")]
    asked = [Fields(tuple((name.replace("_", " "), line(value)) for name, value in limits if value))]
    found = settled(work, _found)
    pages = sum(isinstance(section, Link) for section in found)
    badges = [count(pages, "page")] if pages else []
    return Parts(line(text(given.get("query"))), asked if asked[0].rows else (), found, badges)


def _found(work: Work) -> Sections:
    recorded = rows(work.record.get("results"))
    found = [section for item in recorded for section in _results(item)] or list(_told(work.words))
    return found or results(work)


def _results(item: Any) -> Iterator[Section]:
    if isinstance(item, str) and item.strip():
        found = parsed(item)
        yield Text(item.strip()) if found is None else Tree(found)
    for page in objects(fields(item).get("content")):
        if url := text(page.get("url")):
            yield Link(url, text(page.get("title")), text(page.get("snippet")))


def _told(words: str) -> Iterator[Section]:
    """The same from the text of the result, where links stand as JSON on a line."""
    links = [page for found in _LINKS.findall(words) for page in objects(parsed(found))]
    for page in links:
        if url := text(page.get("url")):
            yield Link(url, text(page.get("title")))
    if links:
        rest = _LINKS.sub("", _HEAD.sub("", words)).partition(_REMINDER)[0].strip()
        if rest:
            yield Text(rest)


def _unsealed(work: Work) -> Sections:
    """A result without what only the API can read."""
    known = fields(work.detail.result)
    if "encrypted_content" not in known:
        return results(work)
    return (Plain("The result is encrypted: only the API can read it.", text(known.get("type")), "note"),)


def served(work: Work) -> Parts:
    """A tool that the API itself carries out: web_search, web_fetch, code_execution and others."""
    title = text(*(work.given.get(name) for name in ("query", "url", "code", "command"))) or work.name
    pages = [page for page in objects(work.detail.result) if text(page.get("url"))]
    if pages:
        links = [Link(text(page.get("url")), text(page.get("title")), text(page.get("page_age"))) for page in pages]
        return Parts(line(title), (), links, [count(len(links), "page")])
    code = text(fields(work.detail.result).get("error_code"))
    answered: Sections = (Plain(code, "", "error"),) if code else settled(work, _unsealed)
    short = tuple((name, line(scalar(value))) for name, value in work.given.items() if scalar(value))
    return Parts(line(title), (Fields(short),) if short else (), answered)
