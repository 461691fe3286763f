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

MARK = "\ue000"
_DAY = 86_400
_LAST_DAY = 2_932_896
"""The last day of the year 9999."""


def facets(
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
    return _fixed(kind, session, project, tool, model, failed, in_agent) + (_dated(time // _DAY) if time > 0 else "")


@lru_cache(4096)
def _fixed(
    kind: int, session: int, project: int, tool: int | None, model: int | None, failed: bool, in_agent: bool
) -> str:
    found = [facet("k", kind), facet("s", session), facet("p", project)]
    found += [facet("t", tool)] if tool is not None else []
    found += [facet("m", model)] if model is not None else []
    found += [facet("e")] if failed else []
    found += [facet("a")] if in_agent else []
    return " ".join(found)


@lru_cache(4096)
def _dated(day: int) -> str:
    if day > _LAST_DAY:
        return ""
    year, month, date = gmtime(day * _DAY)[:3]
    return "".join(
        f" {word}"
        for word in (facet("y", year), facet("n", year * 100 + month), facet("d", year * 10000 + month * 100 + date))
    )


def facet(letter: str, value: int | str = "") -> str:
    """One facet word."""
    return f"{MARK}{letter}{value}"
