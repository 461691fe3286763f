"""Redaction rules from other packages, which are checked when they are loaded and every time they return results.

A rule that can't be loaded, raises an exception, or returns invalid spans stops the redaction; otherwise, secrets that
it should have found would leave the machine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol

from turnlog.plugin_lookup import (
    NAME_RULE,
    PLUGIN_ERRORS,
    PLUGIN_NAME,
    RULE_GROUP,
    InstalledPlugin,
    describe_exception,
    find_plugins,
)
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView


class RedactionRule(Protocol):
    """Finds one kind of secret. Placeholders contain the name of its entry point: `[secret:NAME:1]`.

    A rule may also have `hints`: a tuple of strings in lower-case ASCII. Any text that contains a secret must then also
    contain one of the hints, in upper or lower case; to save time, turnlog does not call the rule for short text
    without a hint.
    """

    def find_secrets(self, text: str) -> Iterable[tuple[int, int]]:
        """Return the start and end of each secret in the text; the same text must always give the same result."""


class PluginRule:
    """Adapts another package's rule so that it can be used like a built-in one."""

    def __init__(self, plugin: InstalledPlugin, rule: RedactionRule) -> None:
        self.plugin = plugin
        self.names = (plugin.name,)
        self.hints: tuple[str, ...] | None = read_hints(rule)
        self.rule = rule

    def find(self, view: TextView) -> list[SecretFinding]:
        """Find secrets in text; raise `BrokenPlugin` if the rule fails."""
        text = view.text
        try:
            spans = read_spans(self.rule.find_secrets(text), text)
        except PLUGIN_ERRORS as error:
            # Not the exception's message, which may quote the secret.
            reason = f"failed with {type(error).__name__} (TURNLOG_DEBUG=1 shows the traceback)"
            raise self.plugin.build_failure(reason) from error
        name = self.names[0]
        return [SecretFinding(start, end, name, FindingRank.PATTERN, text[start:end]) for start, end in spans]


def read_spans(results: Iterable[Any], text: str) -> list[tuple[int, int]]:
    """Return the spans that a rule found; raise `ValueError` for a span outside the text."""
    spans = []
    for start, end in results:
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            raise ValueError(f"find_secrets returned ({start!r}, {end!r}) for text of {len(text)} characters")
        spans.append((start, end))
    return spans


def read_hints(rule: RedactionRule) -> tuple[str, ...] | None:
    """Return the hints of a rule, if any; raise `TypeError` if they are invalid."""
    hints = getattr(rule, "hints", None)
    if hints is None:
        return None
    if not isinstance(hints, tuple) or not hints or not all(isinstance(hint, str) and hint for hint in hints):
        raise TypeError("hints is not a tuple of strings")
    if any(hint != hint.lower() or not hint.isascii() for hint in hints):
        raise TypeError("hints are not lowercase ASCII")
    return hints


def load_plugin_rules(reserved: Collection[str]) -> list[PluginRule]:
    """Load the rules from all installed packages; raise `BrokenPlugin` if any of them can't be used.

    Each rule needs a name that is not used by a built-in rule (`reserved`) or another plugin, so that placeholders are
    unambiguous.
    """
    plugins = find_plugins(RULE_GROUP)
    return [load_plugin_rule(plugin, reserved) for plugin in plugins]


def load_plugin_rule(plugin: InstalledPlugin, reserved: Collection[str]) -> PluginRule:
    if not PLUGIN_NAME.fullmatch(plugin.name):
        raise plugin.build_failure(f"can't be used: {NAME_RULE}")
    if plugin.name in reserved:
        raise plugin.build_failure(f"can't be used: turnlog has a built-in rule named {plugin.name!r}")
    others = [item.package for item in find_plugins(RULE_GROUP) if item.name == plugin.name and item != plugin]
    if others:
        raise plugin.build_failure(f"can't be used: package {others[0]} has a rule with the same name")
    if plugin not in _loaded:
        rule = plugin.create()
        try:
            if not callable(getattr(rule, "find_secrets", None)):
                raise TypeError("it has no find_secrets method")
            _loaded[plugin] = PluginRule(plugin, rule)
        except PLUGIN_ERRORS as error:
            raise plugin.build_failure(f"can't be used: {describe_exception(error)}") from error
    return _loaded[plugin]


_loaded: dict[InstalledPlugin, PluginRule] = {}
