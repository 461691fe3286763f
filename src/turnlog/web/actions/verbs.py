"""What a page may have done to a session: a fixed table of verbs, their options, and what a value may be.

Nothing else of a request reaches a function. In the command that the page shows, values follow `=`, so that none is
taken for an option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from turnlog.errors import UsageError

_TEXT_PATTERN = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KEEP_PATTERN = re.compile(r"keep=\d{1,6}")


class VerbOption(NamedTuple):
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
    options: Mapping[str, VerbOption]
    real: tuple[str, ...] = ()
    """What the command has in addition to do it."""
    rehearsal: tuple[str, ...] | None = ("--dry-run",)
    """What the command has in addition for a dry run; None: there is none."""
    plain: str = ""
    """What is said in its place."""


_TITLE_OPTION = VerbOption("--title", _TEXT_PATTERN)
_PORTABLE_OPTION = VerbOption("--portable")
_STRIP_OPTIONS = {
    "preset": VerbOption("--preset", _NAME_PATTERN),
    "tools": VerbOption("--tools", re.compile(r"(?:keep|truncate|remove)(?:=\d{1,9})?(?::[A-Za-z0-9_*,-]{1,200})?")),
    "protect": VerbOption("--protect", re.compile(r"[A-Za-z0-9_*-]{1,100}"), is_many=True),
    "duplicates": VerbOption("--duplicates", off="--no-duplicates"),
    "stale_reads": VerbOption("--stale-reads", off="--no-stale-reads"),
    "thinking": VerbOption("--thinking", re.compile(r"remove|keep-last=\d{1,6}")),
    "images": VerbOption("--images", _KEEP_PATTERN),
    "copies": VerbOption("--copies", _KEEP_PATTERN),
    "noise": VerbOption("--noise", off="--no-noise"),
}
_FORK_POINT_PATTERN = re.compile(
    r"\d{1,7}|[0-9a-f-]{4,36}|compaction:(?:\d{1,6}|last)|leaf:(?:\d{1,6}|last)", re.IGNORECASE
)
_APPENDED_NOTE = "The words are appended, as the client does it; nothing that stands in the file is changed."

VERBS: Mapping[str, Verb] = {
    "clone": Verb("clone", {"title": _TITLE_OPTION, "portable": _PORTABLE_OPTION}),
    "strip": Verb("clone", {"title": _TITLE_OPTION, "portable": _PORTABLE_OPTION, **_STRIP_OPTIONS}),
    "fork": Verb(
        "fork", {"at": VerbOption("--at", _FORK_POINT_PATTERN), "title": _TITLE_OPTION, "portable": _PORTABLE_OPTION}
    ),
    "redact": Verb(
        "redact",
        {
            "emails": VerbOption("--emails"),
            "homes": VerbOption("--homes"),
            "without": VerbOption("--without", _NAME_PATTERN, is_many=True),
            "title": _TITLE_OPTION,
        },
        real=("--clone",),
        rehearsal=(),
    ),
    "repair": Verb(
        "repair",
        {
            "only": VerbOption("--only", _NAME_PATTERN, is_many=True),
            "in_place": VerbOption("--in-place"),
            "force": VerbOption("--force"),
            "title": _TITLE_OPTION,
        },
    ),
    "export": Verb(
        "export",
        {
            "format": VerbOption("--format", re.compile("html|md|txt|pdf|json|messages|openai|parquet")),
            "turns": VerbOption("--turns", re.compile(r"\d{1,7}(?:\.\.\d{0,7})?|\.\.\d{1,7}")),
            "no_tools": VerbOption("--no-tools"),
            "no_thinking": VerbOption("--no-thinking"),
            "no_agents": VerbOption("--no-agents"),
            "images": VerbOption("--images", off="--no-images"),
            "redact": VerbOption("--redact", off="--no-redact"),
            "share": VerbOption("--share"),
        },
        rehearsal=None,
        plain="A file is made for you to keep; the session is not changed.",
    ),
    "rename": Verb("rename", {"title": VerbOption("", _TEXT_PATTERN)}, rehearsal=None, plain=_APPENDED_NOTE),
    "tag": Verb(
        "tag",
        {
            "tag": VerbOption("", re.compile(r"[^\x00-\x20\x7f\ud800-\udfff#-][^\x00-\x20\x7f\ud800-\udfff]{0,99}")),
            "remove": VerbOption("--remove"),
        },
        rehearsal=None,
        plain=_APPENDED_NOTE,
    ),
}


def build_arguments(verb: Verb, options: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The options of a command line, and the words that stand behind the session; raises UsageError."""
    flags: list[str] = []
    behind: list[str] = []
    for name, value in options.items():
        option = verb.options.get(name)
        if option is None:
            raise UsageError(f"{name}: is no option of this action; it has {', '.join(sorted(verb.options))}")
        for word in _spell_option(name, option, value):
            (flags if option.flag else behind).append(word)
    return flags, behind


def _spell_option(name: str, option: VerbOption, value: Any) -> Iterator[str]:
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
