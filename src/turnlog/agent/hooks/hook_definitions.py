"""Hooks as they are configured: parses one file's `hooks` object, and names everything in it that can't run.

    {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "…", "timeout": 10}]}]}

A hook that can't run is never skipped silently: it is returned as an unsupported feature, which stops the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from turnlog.agent.unsupported_feature import UnsupportedFeature

GUARD_EVENTS = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit"})
"""Events whose hooks can block an action."""
TOOL_EVENTS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"})
HOOK_EVENTS = frozenset(
    {
        *TOOL_EVENTS,
        "UserPromptSubmit",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "SessionStart",
        "SessionEnd",
        "Notification",
    }
)
"""The events for which turnlog runs hooks."""
UNMATCHED_EVENTS = frozenset({"UserPromptSubmit", "Stop"})
"""Events whose hooks always run, whatever their matcher."""
TOOL_ALIASES = {"Task": "Agent"}
"""What the newest client calls a tool, by the name under which turnlog offers it; matchers may use either name."""
_NAME_LIST_PATTERN = re.compile(r"[\w\s,|-]*\w", re.ASCII)
_CONDITION_PATTERN = re.compile(r"\w+(\(.*\))?\Z", re.DOTALL)


class HookDefinition(Struct, frozen=True):
    """One configured hook."""

    event: str
    matcher: str = ""
    command: str = ""
    """The shell command, or with `args` the program."""
    args: tuple[str, ...] | None = None
    timeout: float | None = None
    """The limit in seconds, or None for the event's own."""
    condition: str = ""
    """A permission rule (`if`); the hook runs only for calls that match it."""
    shell: str = ""
    status: str = ""
    """The text to show in place of the command."""
    where: str = ""
    plugin_root: str = ""
    """The folder of the plugin that defines the hook."""
    callback: str = ""
    """The id of a program's callback, which runs in place of a command."""
    blocks_on_failure: bool = False
    """Whether a callback that fails blocks the action (`onFailure`)."""
    is_async: bool = False
    """Whether the session continues without waiting for the hook."""
    is_once: bool = False

    @property
    def label(self) -> str:
        """The hook's name in messages and in the session."""
        return self.status or " ".join([self.command, *(self.args or ())]) or "callback"

    def fits(self, subject: str) -> bool:
        """Return whether the hook runs for a subject: a tool, or the reason for which a session starts or ends."""
        if self.event in UNMATCHED_EVENTS or not self.matcher.strip() or self.matcher.strip() == "*":
            return True
        names = {subject, TOOL_ALIASES.get(subject, subject)} if self.event in TOOL_EVENTS else {subject}
        if _NAME_LIST_PATTERN.fullmatch(self.matcher.strip()):
            return any(part.strip() in names for part in re.split(r"[|,]", self.matcher))
        return any(re.search(self.matcher, name) for name in names)


def parse_hooks(where: str, hooks: Any, plugin_root: str = "") -> Iterator[HookDefinition | UnsupportedFeature]:
    """Yield the hooks in one file, and everything that can't run."""
    if not isinstance(hooks, Mapping):
        if hooks:
            yield _describe_problem(where, "hooks is not an object")
        return
    for event, groups in hooks.items():
        if not groups:
            continue
        if not isinstance(groups, list) or not all(isinstance(group, Mapping) for group in groups):
            yield _describe_problem(where, f"hooks.{event} is not a list of objects")
            continue
        if event not in HOOK_EVENTS and any(group.get("hooks", True) for group in groups):
            yield _describe_problem(where, f"turnlog runs no hooks for the event {event}")
            continue
        for group in groups:
            yield from _parse_group(where, event, group, plugin_root)


def _parse_group(
    where: str, event: str, group: Mapping[str, Any], plugin_root: str
) -> Iterator[HookDefinition | UnsupportedFeature]:
    matcher, hooks = group.get("matcher") or "", group.get("hooks")
    if not isinstance(hooks, list):
        yield _describe_problem(where, f"hooks.{event}: the list of hooks is missing")
        return
    if not isinstance(matcher, str) or not _is_pattern(matcher):
        yield _describe_problem(where, f"hooks.{event}: the matcher {str(matcher)[:60]!r} is not a valid pattern")
        return
    for hook in hooks:
        values = hook if isinstance(hook, Mapping) else {}
        problem = _find_problem(values)
        if problem:
            yield _describe_problem(where, f"hooks.{event}: {problem}")
        else:
            yield _build_definition(where, event, matcher, values, plugin_root)


def _is_pattern(matcher: str) -> bool:
    if matcher.strip() == "*":
        return True
    try:
        re.compile(matcher)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _find_problem(hook: Mapping[str, Any]) -> str:
    """Return why a hook can't run, or an empty text."""
    kind, timeout, args, condition = (hook.get(name) for name in ("type", "timeout", "args", "if"))
    if kind != "command":
        return f"turnlog does not run hooks of type {str(kind)[:40]!r}"
    if not isinstance(hook.get("command"), str) or not hook["command"].strip():
        return "a hook has no command"
    if args is not None and not (isinstance(args, list) and all(isinstance(arg, str) for arg in args)):
        return "args is not a list of texts"
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0):
        return f"the timeout {str(timeout)[:40]!r} is not a positive number of seconds"
    if condition is not None and not (isinstance(condition, str) and _CONDITION_PATTERN.match(condition.strip())):
        return f"the condition {str(condition)[:60]!r} is not a permission rule"
    if hook.get("shell") not in (None, "", "bash"):
        return f"turnlog does not run hooks in the shell {str(hook['shell'])[:40]!r}"
    return "turnlog does not support asyncRewake" if hook.get("asyncRewake") else ""


def _build_definition(
    where: str, event: str, matcher: str, hook: Mapping[str, Any], plugin_root: str
) -> HookDefinition:
    args, status = hook.get("args"), hook.get("statusMessage")
    return HookDefinition(
        event,
        matcher,
        _fill_in_root(hook["command"], plugin_root),
        None if args is None else tuple(_fill_in_root(arg, plugin_root) for arg in args),
        hook.get("timeout"),
        str(hook.get("if") or "").strip(),
        str(hook.get("shell") or ""),
        status if isinstance(status, str) else "",
        where,
        plugin_root,
        is_async=hook.get("async") is True,
        is_once=hook.get("once") is True,
    )


def _fill_in_root(text: str, plugin_root: str) -> str:
    return text.replace("${CLAUDE_PLUGIN_ROOT}", plugin_root) if plugin_root else text


def parse_callbacks(hooks: Mapping[str, Any]) -> Iterator[HookDefinition | str]:
    """Yield the hooks that a program defines (`initialize`), and the reason for each that can't run."""
    for event, groups in hooks.items():
        if groups and event not in HOOK_EVENTS:
            yield f"turnlog runs no hooks for the event {event}"
            continue
        for group in groups if isinstance(groups, list) else ():
            matcher, ids, timeout = (group.get(name) for name in ("matcher", "hookCallbackIds", "timeout"))
            if not isinstance(ids, list) or not _is_pattern(str(matcher or "")):
                yield f"hooks.{event} is malformed"
                continue
            limit = timeout if isinstance(timeout, int | float) and timeout > 0 else None
            hook = HookDefinition(
                event, matcher or "", timeout=limit, blocks_on_failure=group.get("onFailure") == "block"
            )
            yield from (msgspec.structs.replace(hook, callback=str(name)) for name in ids)


def _describe_problem(where: str, what: str) -> UnsupportedFeature:
    return UnsupportedFeature(where, what, is_guard=True)
