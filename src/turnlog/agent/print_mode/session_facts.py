"""Facts about a session for programs, in the words of Claude Code's own answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from turnlog.agent.loop import AgentLoop
from turnlog.agent.record.chain import CLIENT_VERSION
from turnlog.agent.slash_commands import PRINTABLE_COMMANDS, SLASH_COMMANDS
from turnlog.agent.thinking_choice import EFFORT_LEVELS, knows_effort

Json = dict[str, Any]
_KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def describe_session(loop: AgentLoop, styles: list[str]) -> Json:
    """Return the answer to `initialize`."""
    setup = loop.setup
    return {
        "commands": list_commands(loop),
        "agents": list_agents(loop),
        "output_style": setup.style,
        "available_output_styles": styles,
        "models": list_models(loop),
        "account": {
            "tokenSource": "none",
            "apiKeySource": next((name for name in _KEY_VARIABLES if setup.environ.get(name)), "none"),
            "apiProvider": "firstParty",
        },
        "pid": os.getpid(),
        "claude_code_version": CLIENT_VERSION,
        "current_permission_mode": setup.guard.mode,
        "hook_on_failure_supported": True,
    }


def list_agents(loop: AgentLoop) -> list[Json]:
    return [{"name": name, "description": kind.description} for name, kind in loop.setup.agents.items()]


def list_plugins(loop: AgentLoop) -> list[Json]:
    return [{"name": one.name, "path": str(one.folder)} for one in loop.setup.plugins]


def list_commands(loop: AgentLoop) -> list[Json]:
    own = [(name, SLASH_COMMANDS[name]) for name in PRINTABLE_COMMANDS]
    return [
        *(
            {"name": name, "description": command.description, "argumentHint": command.hint}
            for name, command in loop.setup.commands.items()
            if command.is_for_people
        ),
        *({"name": name, "description": one.help, "argumentHint": one.arguments, "builtin": True} for name, one in own),
    ]


def list_models(loop: AgentLoop) -> list[Json]:
    return [
        {
            "value": alias,
            "resolvedModel": model,
            "displayName": alias.capitalize(),
            "description": model,
            **({"supportsEffort": True, "supportedEffortLevels": [*EFFORT_LEVELS]} if knows_effort(model) else {}),
        }
        for alias, model in loop.setup.aliases.items()
    ]


def describe_context(loop: AgentLoop) -> Json:
    """Return the answer to `get_context_usage`; counts are estimates, scaled to the total if the API counted it."""
    usage = loop.measure_context()
    free = max(0, usage.window - usage.used)
    parts = [(name, tokens, "used") for name, tokens in usage.parts] + [("free space", free, "free")]
    sizes = dict(usage.parts)
    return {
        "categories": [
            {
                "id": name.replace(" ", "_"),
                "name": name.capitalize(),
                "tokens": tokens,
                "color": "inactive",
                "kind": kind,
            }
            for name, tokens, kind in parts
        ],
        "totalTokens": usage.used,
        "maxTokens": usage.window,
        "rawMaxTokens": usage.window,
        "percentage": round(100 * usage.used / usage.window) if usage.window else 0,
        "gridRows": [],
        "model": loop.setup.name,
        "memoryFiles": [
            {"path": str(one.path), "type": one.kind.capitalize(), "tokens": one.size // 4}
            for one in loop.setup.instructions
        ],
        "mcpTools": [
            {"name": name, "serverName": name.split("__")[1], "tokens": 0}
            for name in loop.list_tools()
            if name.startswith("mcp__")
        ],
        "agents": [{"agentType": name, "source": "", "tokens": 0} for name in loop.setup.agents],
        "isAutoCompactEnabled": True,
        "autoCompactThreshold": round(usage.window * loop.setup.compact_at),
        "messageBreakdown": {
            "toolCallTokens": sizes.get("calls", 0),
            "toolResultTokens": sizes.get("results", 0),
            "attachmentTokens": sizes.get("reminders", 0),
            "assistantMessageTokens": 0,
            "userMessageTokens": sizes.get("messages", 0),
            "toolCallsByType": [],
            "attachmentsByType": [],
        },
        "apiUsage": dict(loop.usage) or None,
    }


def describe_servers(loop: AgentLoop) -> list[Json]:
    """Return the MCP servers for `mcp_status`; configurations leave out variables and headers, which hold secrets."""
    servers = loop.setup.servers
    described = []
    for name, status in servers.statuses.items() if servers is not None else ():
        config = status.config
        tools = [one for one in loop.list_tools() if one.startswith(config.prefix)]
        shape: Mapping[str, Any] = {"type": config.kind}
        if config.kind == "stdio":
            shape = {"type": "stdio", "command": config.command, "args": list(config.args)}
        elif config.url:
            shape = {"type": config.kind, "url": config.url}
        described.append(
            {
                "name": name,
                "status": status.word,
                **({"error": status.problem} if status.problem and not status.is_disabled else {}),
                "config": dict(shape) if config.kind != "sdk" else {"type": "sdk", "name": name},
                "scope": config.scope,
                **({"tools": [{"name": one.removeprefix(config.prefix)} for one in tools]} if tools else {}),
            }
        )
    return described


def describe_spending(loop: AgentLoop) -> Json:
    """Return the answer to `get_usage`."""
    spent = loop.spent
    return {
        "session": {
            "total_cost_usd": spent.dollars,
            "total_api_duration_ms": round(spent.milliseconds),
            "model_usage": {name: {"costUSD": one.dollars} for name, one in spent.models.items()},
        },
        "subscription_type": None,
        "rate_limits_available": False,
        "rate_limits": None,
    }


def describe_rules(loop: AgentLoop) -> Json:
    """Return the answer to `list_permission_rules`."""
    place = loop.setup.place
    folders = [{"path": str(path), "source": "session"} for path in place.further]
    rules = [{"rule": text} for text in loop.setup.guard.list_rules()]
    return {"state": {"rules": rules, "workspaceDirectories": folders, "originalCwd": str(place.root)}}
