"""The actions that a page can start: a fixed table of verbs, their options, and the valid values.

Nothing else in a request reaches a function. The command that the page shows puts values after `=`, so that no value is
read as an option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from turnlog.errors import UsageError

_TEXT_PATTERN = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PATH_PATTERN = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,1000}")
_KEEP_PATTERN = re.compile(r"keep=\d{1,6}")


class VerbOption(NamedTuple):
    flag: str
    form: re.Pattern[str] | None = None
    """The pattern of its value; None for a flag."""
    is_many: bool = False
    """Whether it can be repeated."""
    off: str = ""
    """The flag that turns it off, if any."""


class Verb(NamedTuple):
    """An action on a session."""

    command: str
    options: Mapping[str, VerbOption]
    real: tuple[str, ...] = ()
    """Additional flags of the command when it writes."""
    rehearsal: tuple[str, ...] | None = ("--dry-run",)
    """Additional flags of the command for a dry run; None if it has no dry run."""
    plain: str = ""
    """The text to show instead of a dry run."""
    subcommand: tuple[str, ...] = ()
    """The command of a group, with what precedes the session: `run --session` of `archive`."""
    is_of_project: bool = False
    """Whether it concerns all sessions of the session's project; the command names the project's folder."""
    makes_file: bool = False
    """Whether it creates a file to download."""


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
_APPENDED_NOTE = "The new value is appended to the file, as Claude Code does it; existing lines don't change."

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
        plain="Creates a file to download; the session does not change.",
        makes_file=True,
    ),
    "pack": Verb(
        "pack",
        {"redact": VerbOption("--redact")},
        rehearsal=None,
        plain="Creates one file with the session and everything that belongs to it; `turnlog unpack` restores it on"
        " another machine. The session does not change.",
        makes_file=True,
    ),
    "archive": Verb(
        "archive",
        {},
        rehearsal=None,
        plain="Keeps a compressed copy in turnlog's data folder, which Claude Code's cleanup can't reach. The session"
        " does not change.",
        subcommand=("run", "--session"),
    ),
    "move": Verb(
        "move",
        {
            "new_path": VerbOption("", _PATH_PATTERN),
            "text": VerbOption("--text"),
            "merge": VerbOption("--merge"),
            "force": VerbOption("--force"),
        },
        is_of_project=True,
    ),
    "delete": Verb("delete", {"history": VerbOption("--history"), "force": VerbOption("--force")}, real=("--yes",)),
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
    """Build a command line's flags and the arguments after the session; raise `UsageError` if an option is invalid."""
    flags: list[str] = []
    arguments: list[str] = []
    for name, value in options.items():
        option = verb.options.get(name)
        if option is None:
            raise UsageError(f"unknown option {name!r}; use one of {', '.join(sorted(verb.options))}")
        for word in _spell_option(name, option, value):
            (flags if option.flag else arguments).append(word)
    return flags, arguments


def _spell_option(name: str, option: VerbOption, value: Any) -> Iterator[str]:
    if option.form is None:
        if not isinstance(value, bool):
            raise UsageError(f"{name} must be true or false")
        if value or option.off:
            yield option.flag if value else option.off
        return
    items = value if isinstance(value, list) and option.is_many else [value]
    for item in items:
        if not isinstance(item, str) or not option.form.fullmatch(item):
            raise UsageError(f"{name}: {ascii(item)[:80]} is not a valid value")
        yield f"{option.flag}={item}" if option.flag else item
