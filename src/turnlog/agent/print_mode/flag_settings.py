"""Changes of settings by a program during a session (`apply_flag_settings`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.agent.loop import AgentLoop
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.thinking_choice import EFFORT_LEVELS
from turnlog.errors import TurnlogError

Object = Mapping[str, Any]
_PERMISSION_LISTS = ("allow", "ask", "deny", "additionalDirectories")


def apply_flag_settings(loop: AgentLoop, settings: Object, first_model: str) -> None:
    """Apply settings until the session ends; raise TurnlogError, and apply none, if one of them is not possible.

    Null restores what held before the program's changes.
    """
    wrong = [name for name, value in settings.items() if not _is_applicable(name, value)]
    if wrong:
        raise TurnlogError(
            "apply_flag_settings: nothing was applied. turnlog changes model, effortLevel and permissions (allow, ask,"
            f" deny, additionalDirectories) during a session, and can't apply: {', '.join(map(str, wrong))[:200]}"
        )
    setup = loop.setup
    if "model" in settings:
        name = settings["model"]
        setup.name = setup.aliases.get(name, name) if name else first_model
    if "effortLevel" in settings:
        setup.thinking = setup.thinking._replace(effort=settings["effortLevel"])
    if "permissions" in settings and isinstance(setup.guard, SettingsGuard):
        setup.guard.replace_program_permissions(settings["permissions"] or {}, setup.place)


def _is_applicable(name: str, value: Any) -> bool:
    if name == "model":
        return value is None or (isinstance(value, str) and bool(value.strip()))
    if name == "effortLevel":
        return value is None or value in EFFORT_LEVELS
    if name == "permissions":
        is_object = isinstance(value, Mapping)
        return value is None or (is_object and all(_is_permission_list(key, one) for key, one in value.items()))
    return False


def _is_permission_list(name: str, value: Any) -> bool:
    is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return name in _PERMISSION_LISTS and is_list
