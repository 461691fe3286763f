"""On which page of a printed PDF each turn starts.

Chromium can't print the number of the page that a link leads to (`target-counter`), so the page is printed twice: the
numbers are read from the first PDF. Chromium writes destinations and the tree of pages as plain text:

    2774 0 obj <</Type /Catalog /Pages 381 0 R /Dests 382 0 R ...>> endobj
    381 0 obj <</Type /Pages /Kids [379 0 R 380 0 R] ...>> endobj
    382 0 obj <</t-1 [2 0 R /XYZ 0 413.25 0] ...>> endobj

A PDF that is written differently gives no numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ROOT_PATTERN = re.compile(rb"/Type /Catalog\s+/Pages (\d+) 0 R\s+/Dests (\d+) 0 R")
_OBJECT_PATTERN = re.compile(rb"\n(\d+) 0 obj\n")
_REFERENCE_PATTERN = re.compile(rb"(\d+) 0 R")
_KIDS_PATTERN = re.compile(rb"/Kids \[([\d R\s]*)\]")
_TURN_PATTERN = re.compile(rb"/(t-\d+) \[(\d+) 0 R ")


def read_turn_pages(pdf: bytes) -> dict[str, int]:
    """Return the page on which each turn starts, by the turn's name (`t-1`); empty if they can't be found."""
    roots = _ROOT_PATTERN.findall(pdf)
    if not roots:
        return {}
    pages, destinations = roots[-1]
    starts = {found[1]: found.end() for found in _OBJECT_PATTERN.finditer(pdf)}
    numbers = {page: number for number, page in enumerate(_list_pages(pdf, starts, pages), start=1)}
    found = _TURN_PATTERN.findall(_read_object(pdf, starts, destinations))
    return {name.decode(): numbers[page] for name, page in found if page in numbers}


def _list_pages(pdf: bytes, starts: Mapping[bytes, int], root: bytes) -> list[bytes]:
    """List the numbers of the page objects in the tree, in order."""
    pages, seen, waiting = [], set(), [root]
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        kids = _KIDS_PATTERN.search(_read_object(pdf, starts, number))
        if kids is None:
            pages.append(number)
        else:
            waiting += reversed(_REFERENCE_PATTERN.findall(kids[1]))
    return pages


def _read_object(pdf: bytes, starts: Mapping[bytes, int], number: bytes) -> bytes:
    start = starts.get(number)
    return b"" if start is None else pdf[start : pdf.find(b"endobj", start)]
