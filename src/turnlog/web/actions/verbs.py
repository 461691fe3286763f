"""What a page may let the program do to a session: a fixed table of verbs, their options, and what a value may be.

Nothing else of a request reaches a command line. Values go behind `=`, so that none is taken for an option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from turnlog.errors import UsageError

_TEXT = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KEEP = re.compile(r"keep=\d{1,6}")


class Option(NamedTuple):
    """An option of a verb."""

    flag: str
    form: re.Pattern[str] | None = None
    """What its value must look like; None: it has none, and is given or not."""
    is_many: bool = False
    """It may be given several times."""
    off: str = ""
    """The flag that says no, where there is one."""


class Verb(NamedTuple):
    """Something that can be done to a session."""

    command: str
    options: Mapping[str, Option]
    real: tuple[str, ...] = ("--json",)
    """What is added to do it."""
    rehearsal: tuple[str, ...] | None = ("--dry-run",)
    """What is added to hear what would be done; None: the program has no dry run for it."""
    plain: str = ""
    """What is said in its place."""


_TITLE = Option("--title", _TEXT)
_PORTABLE = Option("--portable")
_STRIP = {
    "preset": Option("--preset", _NAME),
    "tools": Option("--tools", re.compile(r"(?:keep|truncate|remove)(?:=\d{1,9})?(?::[A-Za-z0-9_*,-]{1,200})?")),
    "protect": Option("--protect", re.compile(r"[A-Za-z0-9_*-]{1,100}"), is_many=True),
    "duplicates": Option("--duplicates", off="--no-duplicates"),
    "stale_reads": Option("--stale-reads", off="--no-stale-reads"),
    "thinking": Option("--thinking", re.compile(r"remove|keep-last=\d{1,6}")),
    "images": Option("--images", _KEEP),
    "copies": Option("--copies", _KEEP),
    "noise": Option("--noise", off="--no-noise"),
}
_POINT = re.compile(r"\d{1,7}|[0-9a-f-]{4,36}|compaction:(?:\d{1,6}|last)|leaf:(?:\d{1,6}|last)", re.IGNORECASE)
_APPENDED = "The words are appended, as the client does it; nothing that stands in the file is changed."

VERBS: Mapping[str, Verb] = {
    "clone": Verb("clone", {"title": _TITLE, "portable": _PORTABLE}),
    "strip": Verb("clone", {"title": _TITLE, "portable": _PORTABLE, **_STRIP}),
    "fork": Verb("fork", {"at": Option("--at", _POINT), "title": _TITLE, "portable": _PORTABLE}),
    "redact": Verb(
        "redact",
        {
            "emails": Option("--emails"),
            "homes": Option("--homes"),
            "without": Option("--without", _NAME, is_many=True),
            "title": _TITLE,
        },
        real=("--clone", "--json"),
        rehearsal=(),
    ),
    "repair": Verb(
        "repair",
        {
            "only": Option("--only", _NAME, is_many=True),
            "in_place": Option("--in-place"),
            "force": Option("--force"),
            "title": _TITLE,
        },
    ),
    "export": Verb(
        "export",
        {
            "format": Option("--format", re.compile("html|md|txt|pdf|json|messages|openai|parquet")),
            "turns": Option("--turns", re.compile(r"\d{1,7}(?:\.\.\d{0,7})?|\.\.\d{1,7}")),
            "no_tools": Option("--no-tools"),
            "no_thinking": Option("--no-thinking"),
            "no_agents": Option("--no-agents"),
            "images": Option("--images", off="--no-images"),
            "redact": Option("--redact", off="--no-redact"),
            "share": Option("--share"),
        },
        real=(),
        rehearsal=None,
        plain="A file is made for you to keep; the session is not changed.",
    ),
    "rename": Verb("rename", {"title": Option("", _TEXT)}, real=(), rehearsal=None, plain=_APPENDED),
    "tag": Verb(
        "tag",
        {
            "tag": Option("", re.compile(r"[^\x00-\x20\x7f\ud800-\udfff#-][^\x00-\x20\x7f\ud800-\udfff]{0,99}")),
            "remove": Option("--remove"),
        },
        real=(),
        rehearsal=None,
        plain=_APPENDED,
    ),
}


def words(verb: Verb, options: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The options of a command line, and the words that stand behind the session; raises UsageError."""
    flags: list[str] = []
    behind: list[str] = []
    for name, value in options.items():
        option = verb.options.get(name)
        if option is None:
            raise UsageError(f"{name}: is no option of this action; it has {', '.join(sorted(verb.options))}")
        for word in _given(name, option, value):
            (flags if option.flag else behind).append(word)
    return flags, behind


def _given(name: str, option: Option, value: Any) -> Iterator[str]:
    if option.form is None:
        if not isinstance(value, bool):
            raise UsageError(f"{name}: must be true or false")
        if value or option.off:
            yield option.flag if value else option.off
        return
    many = value if isinstance(value, list) and option.is_many else [value]
    for one in many:
        if not isinstance(one, str) or not option.form.fullmatch(one):
            raise UsageError(f"{name}: {ascii(one)[:80]} can't be its value")
        yield f"{option.flag}={one}" if option.flag else one
