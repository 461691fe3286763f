"""Finds plugins in other installed packages through their entry points, and loads them when a command needs them.

    turnlog.cards            show the calls to a tool            a broken card is reported and skipped
    turnlog.exporters        formats for `turnlog export`        a broken exporter is reported and skipped
    turnlog.redaction_rules  secrets that no other rule finds    a broken rule stops every command that redacts

An entry point names a class, and turnlog creates one instance of it per process. The search reads the metadata of every
installed package, so only commands that use plugins perform it. docs/extending.md describes the interfaces.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from turnlog.errors import BrokenPlugin

CARD_GROUP = "turnlog.cards"
EXPORTER_GROUP = "turnlog.exporters"
RULE_GROUP = "turnlog.redaction_rules"
PLUGIN_KINDS = {CARD_GROUP: "tool card", EXPORTER_GROUP: "exporter", RULE_GROUP: "redaction rule"}
"""The word for a plugin in messages, by group."""
PLUGIN_ERRORS = (Exception, SystemExit)
"""The exceptions that a plugin's code may raise; only Ctrl+C ends turnlog itself."""
PLUGIN_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
"""The form of format and rule names, which appear on the command line and in placeholders."""
NAME_RULE = "a name consists of lower-case letters, digits and dashes, at most 40"
_MAX_REASON_CHARS = 200
_reported: set[object] = set()


class InstalledPlugin(NamedTuple):
    """An entry point in an installed package that has not been loaded yet."""

    group: str
    name: str
    package: str
    version: str
    target: str
    """The class, as in `acme_cards:IssueCard`."""

    @property
    def label(self) -> str:
        """The plugin as named in messages: its kind, name and package."""
        return f"{PLUGIN_KINDS[self.group]} {self.name!r} of package {self.package} {self.version}".rstrip()

    def create(self) -> Any:
        """Import the class and create an instance; raise `BrokenPlugin` if that fails."""
        from importlib.metadata import EntryPoint

        try:
            target = EntryPoint(self.name, self.target, self.group).load()
            return target() if isinstance(target, type) else self._refuse_target()
        except PLUGIN_ERRORS as error:
            raise self.build_failure(f"can't be loaded: {describe_exception(error)}") from error

    def build_failure(self, problem: str) -> BrokenPlugin:
        """Build an error that states the problem and how to remove the plugin."""
        blocked = "nothing unredacted was written or sent; " if self.group == RULE_GROUP else ""
        remedy = f"{blocked}update or remove it: pip uninstall {self.package}"
        return BrokenPlugin(f"{self.label} {problem}; {remedy}", problem)

    def _refuse_target(self) -> Any:
        raise TypeError(f"{self.target} is not a class")


def describe_exception(error: BaseException) -> str:
    """Describe an exception in one short line."""
    line = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return line if len(line) <= _MAX_REASON_CHARS else line[: _MAX_REASON_CHARS - 1] + "…"


@cache
def find_plugins(group: str) -> tuple[InstalledPlugin, ...]:
    """Return the plugins in a group, ordered by package; raise `BrokenPlugin` if they can't be listed."""
    from importlib.metadata import entry_points

    try:
        plugins = [
            InstalledPlugin(group, item.name, item.dist.name, item.dist.version or "", item.value)
            for item in entry_points(group=group)
            if item.dist is not None
        ]
    except PLUGIN_ERRORS as error:
        raise BrokenPlugin(f"the plugins of installed packages can't be listed: {describe_exception(error)}") from error
    return tuple(sorted(plugins, key=lambda item: (item.package.lower(), item.name)))


def list_plugin_names(group: str) -> list[str]:
    """Return the names of a group's plugins, or an empty list if they can't be listed."""
    try:
        return sorted({item.name for item in find_plugins(group) if PLUGIN_NAME.fullmatch(item.name)})
    except BrokenPlugin as error:
        report_once(group, str(error))
        return []


def report_once(key: object, message: str) -> None:
    """Log a warning once per key, on standard error unless the calling program has configured `logging`."""
    if key in _reported:
        return
    _reported.add(key)
    import logging

    logging.getLogger("turnlog.plugins").warning("turnlog: %s", _escape_controls(message))


def _escape_controls(text: str) -> str:
    """Escape control characters so that text from a transcript can't control the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
