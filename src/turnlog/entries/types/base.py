"""What all classes of the format share: wide fields that may be missing, and the versions they were seen in.

A string below a field says what it means. It may begin with the versions in brackets: `[2.1.76+]` is still
written by NEWEST, `[2.1.11–2.1.81]` was not met again. Without brackets the field is as old as its class. The
tables in `docs/format.md` are made from these classes and strings.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from msgspec import Meta, Struct

NEWEST_CLIENT_VERSION = "2.1.325"
"""The newest version of the client that this registry was checked against."""

SeenVersions = tuple[str, str | None]
"""The first and the last version that something was seen in; None = NEWEST writes it."""

UNSEEN: None = None
"""For what NEWEST knows (its strings say so) or the Messages API allows, but no file seen so far holds."""

Number = int | float


class KindMark(NamedTuple):
    """Marks a field whose objects have a class of their own, chosen by their `type`."""

    what: str


class ValuesMark(NamedTuple):
    """Marks a field whose values are a known set; another value is no error, but news."""

    values: frozenset[str]


def mark_kind(what: str) -> Meta:
    """Mark a field that holds `blocks`, an `attachment` or a `progress` report."""
    return Meta(extra={"mark": KindMark(what)})


def mark_values(*values: str) -> Meta:
    """Mark a field by the values it is known to have."""
    return Meta(extra={"mark": ValuesMark(frozenset(values))})


class FormatObject(Struct):
    """An object. A class that has `seen` is a kind of its own; others are bases or inner parts."""

    seen: ClassVar[SeenVersions | None]


def collect_kinds(base: type[FormatObject]) -> dict[str, type[FormatObject]]:
    """All kinds below a base, by their tag."""
    found: dict[str, type[FormatObject]] = {}
    for cls in base.__subclasses__():
        tag: Any = cls.__struct_config__.tag
        if "seen" in vars(cls) and isinstance(tag, str):
            found[tag] = cls
        found |= collect_kinds(cls)
    return found
