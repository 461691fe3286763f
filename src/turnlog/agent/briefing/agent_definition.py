"""Reads the definition of a sub-agent: what turnlog acts on, and what it can only report.

A definition comes from the person, from a project or from a plugin. Only the person's own definitions, and those of a
project that the person trusts, may widen what their agent does without asking, and none can turn off permissions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from turnlog.agent.frontmatter import FrontmatterDocument, split_frontmatter
from turnlog.agent.hooks.hook_definitions import GUARD_EVENTS
from turnlog.agent.settings import PERMISSION_MODES, PermissionMode
from turnlog.agent.thinking_choice import EFFORT_LEVELS
from turnlog.agent.tools.task import AgentType

MAX_AGENT_TURNS = 10_000
_UNSUPPORTED_FIELDS = {
    "memory": "memory is not supported; the sub-agent remembers nothing between its tasks",
    "hooks": "turnlog does not run its hooks",
}
_HOOKS_PROBLEM = "turnlog does not run its hooks (use --ignore-hooks to continue without them)"
_ISOLATION_PROBLEM = "isolation is not supported, and without it the sub-agent would change the project itself"


def parse_agent_definition(
    text: str, default_prompt: str, warn: Callable[[str], object], *, may_widen: bool, ignores_hooks: bool
) -> AgentType | str:
    """Return the sub-agent type that a file defines, or the reason to skip it (empty without frontmatter).

    `warn` receives a line for each field that is ignored.
    """
    document = split_frontmatter(text)
    name, description = document.get_text("name"), document.get_text("description")
    if not name or not description:
        return f"it has no {'description' if name else 'name'}" if document.fields else ""
    head = text.removesuffix(document.body)  # hooks are nested deeper than the fields that are parsed
    if not ignores_hooks and "hooks" in document.fields and any(event in head for event in GUARD_EVENTS):
        return _HOOKS_PROBLEM
    if document.get_text("isolation"):
        return _ISOLATION_PROBLEM
    for line in _list_ignored_fields(document, ignores_hooks):
        warn(line)
    tools, model = document.get_items("tools"), document.get_text("model")
    return AgentType(
        name,
        description,
        document.body.strip() or default_prompt,
        None if tools is None or "*" in tools else tuple(tools),
        tuple(document.get_items("disallowedTools") or ()),
        None if model in ("", "inherit") else model,
        _choose_mode(document.get_text("permissionMode"), warn, may_widen=may_widen),
        _choose_max_turns(document.get_text("maxTurns"), warn),
        tuple(document.get_items("skills") or ()),
        document.get_text("background").lower() == "true",
        _choose_effort(document.get_text("effort"), warn),
    )


def _list_ignored_fields(document: FrontmatterDocument, ignores_hooks: bool) -> Iterable[str]:
    for field, reason in _UNSUPPORTED_FIELDS.items():
        if field in document.fields and not (field == "hooks" and ignores_hooks):
            yield reason
    servers = document.get_items("mcpServers") or []
    if any(":" in server or "{" in server for server in servers):  # a name stands for a server of the session
        yield "mcpServers defines a server, which is not started; define it in .mcp.json"


def _choose_mode(value: str, warn: Callable[[str], object], *, may_widen: bool) -> PermissionMode | None:
    mode = next((mode for mode in PERMISSION_MODES if mode == value), None)
    if not value or mode == "default":
        return None
    if mode is None:
        warn(f"permissionMode {value[:40]!r} is unknown and ignored; use one of {', '.join(PERMISSION_MODES)}")
    elif mode == "bypassPermissions":
        warn("permissionMode bypassPermissions is ignored; only --permission-mode can set it")
        mode = None
    elif mode == "acceptEdits" and not may_widen:
        warn("permissionMode acceptEdits is ignored, since the file comes from a plugin or from a folder without trust")
        mode = None
    return mode


def _choose_max_turns(value: str, warn: Callable[[str], object]) -> int | None:
    if not value:
        return None
    if not value.isdecimal() or not 1 <= int(value) <= MAX_AGENT_TURNS:
        warn(f"maxTurns {value[:40]!r} is ignored; use a number from 1 to {MAX_AGENT_TURNS:,}")
        return None
    return int(value)


def _choose_effort(value: str, warn: Callable[[str], object]) -> str | None:
    if value and value not in EFFORT_LEVELS:
        warn(f"effort {value[:40]!r} is ignored; use one of {', '.join(EFFORT_LEVELS)}")
    return value if value in EFFORT_LEVELS else None
