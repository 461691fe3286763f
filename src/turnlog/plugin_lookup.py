"""Plugins of other installed packages: found by their entry points, loaded when a command needs them.

    turnlog.cards            show the calls of a tool            a broken one is reported and skipped
    turnlog.exporters        formats of `turnlog export`         a broken one is reported and skipped
    turnlog.redaction_rules  secrets that no other rule knows    a broken one stops every command that redacts

An entry point names a class; turnlog creates one object of it for each process. The search reads the metadata of
every installed package, so only commands that use plugins do it. What a plugin must have: docs/extending.md.
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
"""What the plugins of a group are called in messages, by group."""
PLUGIN_ERRORS = (Exception, SystemExit)
"""What the code of a plugin may raise; only the keyboard stops the program itself."""
PLUGIN_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
"""Names of formats and rules: they appear on the command line and in marks."""
NAME_RULE = "a name has lower-case letters, digits and dashes, at most 40"
_MAX_REASON_CHARS = 200
_reported: set[object] = set()


class InstalledPlugin(NamedTuple):
    """An entry point of an installed package, not loaded yet."""

    group: str
    name: str
    package: str
    version: str
    target: str
    """The class, as in `acme_cards:IssueCard`."""

    @property
    def label(self) -> str:
        """How messages name it: what it is, and which package has it."""
        return f"{PLUGIN_KINDS[self.group]} {self.name!r} of package {self.package} {self.version}".rstrip()

    def create(self) -> Any:
        """Import the class and create its object; raises `BrokenPlugin`."""
        from importlib.metadata import EntryPoint

        try:
            found = EntryPoint(self.name, self.target, self.group).load()
            return found() if isinstance(found, type) else self._refuse_target()
        except PLUGIN_ERRORS as error:
            raise self.build_failure(f"can't be loaded: {describe_exception(error)}") from error

    def build_failure(self, problem: str) -> BrokenPlugin:
        """An error that says what is wrong with it and how to be rid of it."""
        blocked = "nothing unredacted was written or sent; " if self.group == RULE_GROUP else ""
        remedy = f"{blocked}update or remove it: pip uninstall {self.package}"
        return BrokenPlugin(f"{self.label} {problem}; {remedy}", problem)

    def _refuse_target(self) -> Any:
        raise TypeError(f"{self.target} is not a class")


def describe_exception(error: BaseException) -> str:
    """An exception on one short line."""
    words = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return words if len(words) <= _MAX_REASON_CHARS else words[: _MAX_REASON_CHARS - 1] + "…"


@cache
def find_plugins(group: str) -> tuple[InstalledPlugin, ...]:
    """The plugins of a group in the order of their packages; raises `BrokenPlugin` if they can't be listed."""
    from importlib.metadata import entry_points

    try:
        found = [
            InstalledPlugin(group, item.name, item.dist.name, item.dist.version or "", item.value)
            for item in entry_points(group=group)
            if item.dist is not None
        ]
    except PLUGIN_ERRORS as error:
        raise BrokenPlugin(f"the plugins of installed packages can't be listed: {describe_exception(error)}") from error
    return tuple(sorted(found, key=lambda item: (item.package.lower(), item.name)))


def list_plugin_names(group: str) -> list[str]:
    """The names of a group's plugins; none if they can't be listed."""
    try:
        return sorted({item.name for item in find_plugins(group) if PLUGIN_NAME.fullmatch(item.name)})
    except BrokenPlugin as error:
        report_once(group, str(error))
        return []


def report_once(key: object, message: str) -> None:
    """Log a warning, on standard error unless the program that runs turnlog has set up `logging`; a key only once."""
    if key in _reported:
        return
    _reported.add(key)
    import logging

    logging.getLogger("turnlog.plugins").warning("turnlog: %s", _spell_controls(message))


def _spell_controls(text: str) -> str:
    """A text that no terminal acts on: what an exception says may come from a transcript."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
