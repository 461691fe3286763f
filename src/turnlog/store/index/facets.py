"""Words of the index that no text can hold: by them results are filtered.

    k2                 its kind: the place in session.texts.texts.KINDS
    s17 p4 t9 m3       its session (session.id), project, tool and model (name.id)
    e                  a failed result, or an error of the API
    a                  said inside a sub-agent
    y2026 n202601 d20260115    year, month and day of its time (UTC)

Each begins with U+E000, a letter to the tokenizer that nobody types.
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
    """The facet words of a text; time is in seconds since 1970, 0 where it is not known."""
    return _build_fixed_facets(kind, session, project, tool, model, failed, in_agent) + (
        _build_date_facets(time // _DAY_SECONDS) if time > 0 else ""
    )


@lru_cache(4096)
def _build_fixed_facets(
    kind: int, session: int, project: int, tool: int | None, model: int | None, failed: bool, in_agent: bool
) -> str:
    found = [build_facet("k", kind), build_facet("s", session), build_facet("p", project)]
    found += [build_facet("t", tool)] if tool is not None else []
    found += [build_facet("m", model)] if model is not None else []
    found += [build_facet("e")] if failed else []
    found += [build_facet("a")] if in_agent else []
    return " ".join(found)


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
    """One facet word."""
    return f"{FACET_MARK}{letter}{value}"
