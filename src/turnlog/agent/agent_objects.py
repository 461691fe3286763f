"""Sub-agent types that a program defines as objects: `--agents`, and `agents` in `initialize`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from turnlog.agent.settings import PERMISSION_MODES
from turnlog.agent.thinking_choice import EFFORT_LEVELS
from turnlog.agent.tools.task import AgentType
from turnlog.errors import UsageError

_KNOWN_FIELDS = frozenset(
    "description prompt tools disallowedTools model permissionMode maxTurns skills background effort".split()
)


def parse_agents_text(text: str) -> Mapping[str, Any]:
    """Parse `--agents`; raise UsageError if it is not a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--agents is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("--agents is not a JSON object")
    return found


def parse_agent_objects(
    definitions: Mapping[str, Any], where: str, warn: Callable[[str], object]
) -> dict[str, AgentType]:
    """Return sub-agent types by name; raise UsageError for a malformed one, and report fields without effect."""
    return {name: _parse_agent(name, one, f"{where}: agents: {name!r}", warn) for name, one in definitions.items()}


def _parse_agent(name: str, given: Any, where: str, warn: Callable[[str], object]) -> AgentType:
    if not isinstance(given, Mapping):
        raise UsageError(f"{where} is not an object")
    for field in ("description", "prompt"):
        if not isinstance(given.get(field), str) or not given[field].strip():
            raise UsageError(f"{where} has no {field}")
    ignored = [field for field, value in given.items() if field not in _KNOWN_FIELDS and value not in (None, [], {})]
    if ignored:
        warn(f"{where} is used without {', '.join(sorted(ignored))}, which turnlog does not support")
    tools, model, turns = given.get("tools"), given.get("model"), given.get("maxTurns")
    mode = next((mode for mode in PERMISSION_MODES if mode == given.get("permissionMode") and mode != "default"), None)
    return AgentType(
        name,
        given["description"],
        given["prompt"],
        None if tools is None or "*" in tools else _list_texts(tools, f"{where}: tools"),
        _list_texts(given.get("disallowedTools") or [], f"{where}: disallowedTools"),
        model if isinstance(model, str) and model not in ("", "inherit") else None,
        mode,
        turns if isinstance(turns, int) and turns > 0 else None,
        _list_texts(given.get("skills") or [], f"{where}: skills"),
        given.get("background") is True,
        given["effort"] if given.get("effort") in EFFORT_LEVELS else None,
    )


def _list_texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"{where} is not a list of names")
    return tuple(value)
