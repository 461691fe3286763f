"""Changes of permissions by a program that answers a permission request (`updatedPermissions`), and suggestions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from turnlog.agent.events import WarningIssued
from turnlog.agent.loop import AgentLoop
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import PERMISSION_MODES, RuleKind, add_rules
from turnlog.errors import TurnlogError

Object = Mapping[str, Any]
NO_BYPASS = "the session was not launched with --dangerously-skip-permissions"
_DESTINATIONS = ("userSettings", "projectSettings", "localSettings", "session", "cliArg")
_KINDS: tuple[RuleKind, ...] = get_args(RuleKind)


def apply_permission_updates(loop: AgentLoop, updates: Sequence[Any]) -> None:
    """Apply changes of rules, mode and folders; report what can't be applied."""
    for update in updates:
        problem = "it is not an object"
        if isinstance(update, Mapping):
            try:
                problem = _apply_update(loop, update)
            except (OSError, TurnlogError) as error:
                problem = str(error)
        if problem:
            loop.tell(WarningIssued(f"the program's change of permissions has no effect: {problem}"))


def _apply_update(loop: AgentLoop, update: Object) -> str:
    """Apply one change and return an empty text, or why it can't be applied."""
    guard, kind = loop.setup.guard, update.get("type")
    if update.get("destination") not in _DESTINATIONS:
        return f"unknown destination {str(update.get('destination'))[:40]!r}"
    if not isinstance(guard, SettingsGuard):
        return "it concerns a sub-agent"
    if kind == "setMode":
        mode = next((mode for mode in PERMISSION_MODES if mode == update.get("mode")), None)
        if mode is None:
            return f"unknown mode {str(update.get('mode'))[:40]!r}"
        if mode == "bypassPermissions" and not loop.setup.may_bypass:
            return NO_BYPASS
        guard.mode = mode
        loop.record.write_permission_mode(mode)
        return ""
    if kind == "addDirectories":
        folders = update.get("directories")
        if not isinstance(folders, list) or not all(isinstance(one, str) and one for one in folders):
            return "its directories are malformed"
        guard.add_session_settings({"additionalDirectories": folders}, loop.setup.place)
        return ""
    if kind != "addRules":
        return f"turnlog does not support the type {str(kind)[:40]!r}"
    behavior = next((one for one in _KINDS if one == update.get("behavior")), None)
    listed = update.get("rules")
    rules = [_format_rule(one) for one in listed] if isinstance(listed, list) else []
    if behavior is None or not rules or not all(rules):
        return "its rules are malformed"
    if path := _find_settings_file(loop, str(update.get("destination"))):
        folder, name = path
        add_rules(folder / name, behavior, rules, root=folder)
    guard.add_session_settings({behavior: rules}, loop.setup.place)
    return ""


def _find_settings_file(loop: AgentLoop, destination: str) -> tuple[Path, str] | None:
    """Return the folder and the file to which rules are written, or None if they apply only to the session."""
    root = loop.setup.place.root
    names = {"localSettings": ".claude/settings.local.json", "projectSettings": ".claude/settings.json"}
    if destination == "userSettings":
        return loop.setup.config_dir, "settings.json"
    return (root, names[destination]) if destination in names else None


def _format_rule(rule: Any) -> str:
    """Return a rule as it stands in the settings; "" if it is malformed and might cover more than was meant."""
    if not isinstance(rule, Mapping) or not isinstance(tool := rule.get("toolName"), str) or not tool:
        return ""
    if "ruleContent" not in rule:
        return tool
    content = rule["ruleContent"]
    return f"{tool}({content})" if isinstance(content, str) and content else ""


def build_suggestions(decision: Decision) -> list[dict[str, Any]]:
    """Return changes that would allow a call in the future, as a program can send them back."""
    rules = []
    for text in decision.suggested:
        tool, bracket, content = text.partition("(")
        rules.append({"toolName": tool, **({"ruleContent": content.removesuffix(")")} if bracket else {})})
    if rules:
        return [{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"}]
    return [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}] if decision.changes else []
