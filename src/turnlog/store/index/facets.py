"""Special words in the index that cannot occur in text and are used for filters.

    k2                 its kind: the place in session.texts.texts.TEXT_KINDS
    s17 p4 t9 m3       its session (session.id), project, tool and model (name.id)
    e                  a failed result, or an API error
    a                  written by a sub-agent
    y2026 n202601 d20260115    year, month and day of its time (UTC)

Each word starts with U+E000, which the tokenizer treats as a letter but which nobody types.
"""

from __future__ import annotations

from functools import lru_cache
from time import gmtime

FACET_MARK = "\ue000"
_DAY_SECONDS = 86_400
_LAST_DAY = 2_932_896
"""The last day of the year 9999."""


def build_facets(
    *,
    kind: int,
    session: int,
    project: int,
    tool: int | None = None,
    model: int | None = None,
    failed: bool = False,
    in_agent: bool = False,
    time: int = 0,
) -> str:
    """Build the facet words of a text; `time` is in seconds since 1970, 0 if unknown."""
    return _build_fixed_facets(kind, session, project, tool, model, failed, in_agent) + (
        _build_date_facets(time // _DAY_SECONDS) if time > 0 else ""
    )


@lru_cache(4096)
def _build_fixed_facets(
    kind: int, session: int, project: int, tool: int | None, model: int | None, failed: bool, in_agent: bool
) -> str:
    words = [build_facet("k", kind), build_facet("s", session), build_facet("p", project)]
    words += [build_facet("t", tool)] if tool is not None else []
    words += [build_facet("m", model)] if model is not None else []
    words += [build_facet("e")] if failed else []
    words += [build_facet("a")] if in_agent else []
    return " ".join(words)


@lru_cache(4096)
def _build_date_facets(day: int) -> str:
    if day > _LAST_DAY:
        return ""
    year, month, date = gmtime(day * _DAY_SECONDS)[:3]
    return "".join(
        f" {word}"
        for word in (
            build_facet("y", year),
            build_facet("n", year * 100 + month),
            build_facet("d", year * 10000 + month * 100 + date),
        )
    )


def build_facet(letter: str, value: int | str = "") -> str:
    return f"{FACET_MARK}{letter}{value}"
