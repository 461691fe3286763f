"""The table [notify] in `config.toml`: what is reported, when, and through which channels.

    [notify]
    on = ["needs", "finished", "failed", "context", "cost"]     what is reported; default: all of these
    minutes = 5                     finished: only after more than this many minutes of work
    context = 90                    context: percent of the model's window
    session_cost = 5.0              cost: dollars in one session; no limit by default
    daily_cost = 20.0               cost: dollars in all sessions today; no limit by default
    quiet = "22:00-07:00"           local time in which nothing is sent; none by default
    content = "title"               how much is sent: none, title or text
    max_age_hours = 24              how long to keep trying to reach a server
    web = true                      whether `turnlog web` sends notifications

    [notify.projects]               folders, `*` allowed; the last matching pattern applies
    "~/work/secret" = false

`channels` documents [notify.channels.NAME].
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

from turnlog.errors import UsageError
from turnlog.notify.channels import CONTENT_LEVELS, ContentLevel, NotifyChannel, has_inline_secrets, parse_channels
from turnlog.notify.quiet_hours import QuietHours, parse_quiet_hours
from turnlog.notify.triggers import ALERT_KINDS, AlertKind, AlertRules

_MAX_HOURS = 24 * 30


class NotifyConfig(NamedTuple):
    """What is reported, when, and through which channels; `parse_notify_config` reads it from `config.toml`."""

    kinds: frozenset[AlertKind] = frozenset(ALERT_KINDS)
    minutes: float = 5
    """A session is reported as finished only after this many minutes of work."""
    context: int = 90
    """The share of the context window that is reported, in percent."""
    session_cost: float | None = None
    daily_cost: float | None = None
    quiet: QuietHours | None = None
    content: ContentLevel = "title"
    max_age_hours: float = 24
    web: bool = True
    """Whether `turnlog web` notifies while it runs."""
    projects: tuple[tuple[str, bool], ...] = ()
    """Patterns for project folders, and whether their sessions are reported."""
    channels: tuple[NotifyChannel, ...] = ()
    has_inline_secrets: bool = False
    """Whether the settings file itself contains secrets."""

    @property
    def rules(self) -> AlertRules:
        """Which states are reported."""
        return AlertRules(self.kinds, self.minutes * 60, self.context, self.session_cost)

    @property
    def counts_cost(self) -> bool:
        """Whether the cost of sessions must be computed."""
        return "cost" in self.kinds and (self.session_cost is not None or self.daily_cost is not None)

    def allows_project(self, project: str) -> bool:
        """Return whether sessions of a project are reported.

        If any folder is excluded, sessions whose folder is unknown are not reported, since they may be in that folder.
        """
        if not os.path.isabs(project):  # noqa: PTH117 - a name, not a path
            return all(allowed for _, allowed in self.projects)
        is_allowed = True
        for pattern, allowed in self.projects:
            if _matches_folder(project, pattern):
                is_allowed = allowed
        return is_allowed


def _matches_folder(project: str, pattern: str) -> bool:
    """Return whether a folder, or one that contains it, matches a pattern.

    Clients record folders with symbolic links resolved, so links in the pattern are resolved too. Only `*` is special:
    a folder can be called `[old]`.
    """
    named = os.path.expanduser(pattern)  # noqa: PTH111 - a pattern
    return any(
        _build_folder_pattern(place).fullmatch(_spell_folder(folder))
        for place in {named, _resolve_links(named)}
        for folder in {project, _resolve_links(project)}
    )


def _resolve_links(folder: str) -> str:
    try:
        return os.path.realpath(folder)
    except (OSError, ValueError):  # transcripts are hostile: a folder in one may contain a null character
        return folder


def _spell_folder(folder: str) -> str:
    return os.path.normcase(os.path.normpath(folder)).replace("\\", "/").rstrip("/")


@cache
def _build_folder_pattern(pattern: str) -> re.Pattern[str]:
    parts = map(re.escape, _spell_folder(pattern).split("*"))
    return re.compile(f"{'.*'.join(parts)}(?:/.*)?", re.DOTALL)


def _is_folder_pattern(pattern: str) -> bool:
    """Return whether a pattern can match a folder at all."""
    return pattern.startswith("*") or os.path.isabs(os.path.expanduser(pattern))  # noqa: PTH111, PTH117 - a pattern


def _is_number(value: object, least: float, most: float) -> bool:
    return type(value) in (int, float) and least <= float(value) <= most  # type: ignore[arg-type]


def _is_cost(value: object) -> bool:
    return _is_number(value, 0.01, 1e9)


_VALUE_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "on": (
        lambda value: isinstance(value, list) and all(item in ALERT_KINDS for item in value),
        f"a list of {', '.join(ALERT_KINDS)}",
    ),
    "minutes": (lambda value: _is_number(value, 0, 10_000), "minutes, 0 or more"),
    "context": (lambda value: type(value) is int and 1 <= value <= 100, "a percentage from 1 to 100"),
    "session_cost": (_is_cost, "dollars, more than 0"),
    "daily_cost": (_is_cost, "dollars, more than 0"),
    "quiet": (lambda value: parse_quiet_hours(value) is not None, 'a range of local time such as "22:00-07:00"'),
    "content": (lambda value: value in CONTENT_LEVELS, '"none", "title" or "text"'),
    "max_age_hours": (lambda value: _is_number(value, 0.1, _MAX_HOURS), f"hours, {_MAX_HOURS} at most"),
    "web": (lambda value: isinstance(value, bool), "true or false"),
    "projects": (
        lambda value: isinstance(value, Mapping) and all(isinstance(item, bool) for item in value.values()),
        'a table of folders such as "~/work/secret" = false',
    ),
    "channels": (lambda value: isinstance(value, Mapping), "tables such as [notify.channels.desktop]"),
}


def parse_notify_config(table: Mapping[str, Any], environ: Mapping[str, str], where: str) -> NotifyConfig:
    """Parse the [notify] table; raise UsageError with one line, starting with `where` (the file), for any mistake."""
    _check_table(table, where)
    kinds: frozenset[AlertKind] = frozenset(table.get("on", ALERT_KINDS))
    if "cost" in table.get("on", ()) and not ("session_cost" in table or "daily_cost" in table):
        raise UsageError(f'{where}: [notify] on: "cost" requires a limit; set session_cost or daily_cost')
    content = table.get("content", "title")
    channels = parse_channels(table.get("channels", {}), content, environ, where)
    plain = {key: table[key] for key in ("minutes", "context", "session_cost", "daily_cost", "web") if key in table}
    return NotifyConfig(
        kinds=kinds,
        quiet=parse_quiet_hours(table.get("quiet")),
        content=content,
        max_age_hours=table.get("max_age_hours", 24),
        projects=tuple(table.get("projects", {}).items()),
        channels=tuple(channels),
        has_inline_secrets=has_inline_secrets(table.get("channels")),
        **plain,
    )


def _check_table(table: Mapping[str, Any], where: str) -> None:
    for key, value in table.items():
        if key not in _VALUE_RULES:
            nearest = "".join(f"; did you mean {name!r}?" for name in get_close_matches(key, _VALUE_RULES, 1))
            remedy = nearest or f"; use one of {', '.join(_VALUE_RULES)}"
            raise UsageError(f"{where}: [notify]: unknown key {key!r}{remedy}")
        is_valid, expected = _VALUE_RULES[key]
        if not is_valid(value):
            text = "" if key == "channels" else f" = {value!r}"
            raise UsageError(f"{where}: [notify] {key}{text}: expected {expected}")
    for pattern in table.get("projects", ()):
        if not _is_folder_pattern(pattern):
            raise UsageError(
                f"{where}: [notify.projects] {pattern!r} matches no folder; use a whole path such as"
                ' "~/work/secret", or start with "*"'
            )
