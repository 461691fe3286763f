"""A program that uses the Python SDK as a list of plans says: `python program.py <the client> < plans.json`.

It prints what it sees as lines of JSON: every message, every callback, every answer. `program.mjs` is its twin for the
TypeScript SDK; the keys of a plan are that SDK's names.

    options      the SDK's options
    steps        what to do, one after the other: ["send", text, uuid or nothing], ["until", type of a message],
                 ["call", method, …arguments]
    permission   tool -> what the permission callback answers
    hooks        event -> [{"matcher": …, "output": …}]
    note_server  true: a server in the program with the tool `note`
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import claude_agent_sdk as sdk  # type: ignore[import-not-found]
from claude_agent_sdk import types

NAMES = {
    "additionalDirectories": "add_dirs",
    "continue": "continue_conversation",
    "mcpServerStatus": "get_mcp_status",
    "initializationResult": "get_server_info",
    "getContextUsage": "get_context_usage",
    "reconnectMcpServer": "reconnect_mcp_server",
    "toggleMcpServer": "toggle_mcp_server",
}


def main() -> None:
    """Carry out plans."""
    asyncio.run(run_all(json.load(sys.stdin), sys.argv[1]))  # noqa: TID251 - no test runs in this process


async def run_all(plans: list[dict[str, Any]], client: str) -> None:
    for plan in plans:
        await run(plan, client)


def to_python_name(name: str) -> str:
    return NAMES.get(name) or re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)


def show(kind: str, value: Any) -> None:
    """Print one thing that the program saw."""
    print(json.dumps({kind: value}, default=str), flush=True)


async def run(plan: dict[str, Any], client: str) -> None:
    """Go through the steps of a plan."""
    fresh = {to_python_name(name): value for name, value in plan.get("options", {}).items()}
    fresh["agents"] = {name: sdk.AgentDefinition(**one) for name, one in fresh.get("agents", {}).items()} or None
    if plan.get("note_server"):
        fresh["mcp_servers"] = {**fresh.get("mcp_servers", {}), "program": build_note_server()}
    if "permission" in plan:
        fresh["can_use_tool"] = make_permission_callback(plan["permission"])
    if "hooks" in plan:
        fresh["hooks"] = {
            event: [sdk.HookMatcher(matcher=one.get("matcher"), hooks=[make_hook(one)]) for one in matchers]
            for event, matchers in plan["hooks"].items()
        }
    options = sdk.ClaudeAgentOptions(cli_path=client, **fresh)
    try:
        async with sdk.ClaudeSDKClient(options) as session:
            messages = session.receive_messages()
            for verb, *words in plan["steps"]:
                if verb == "send":
                    await session.query(words[0] if len(words) == 1 else send_named(*words))
                elif verb == "until":
                    await show_messages(messages, words[0])
                else:
                    await call(session, words[0], words[1:])
    except sdk.ClaudeSDKError as error:
        show("error", type(error).__name__)


async def send_named(text: str, uuid: str) -> AsyncIterator[dict[str, Any]]:
    yield {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None, "uuid": uuid}


async def show_messages(messages: Any, last: str) -> None:
    """Show messages up to one of a type."""
    async for message in messages:
        seen = describe(message)
        show("message", seen)
        if seen["type"] == last:
            return


async def call(session: Any, name: str, words: list[Any]) -> None:
    """Call a method of the session and show its answer."""
    try:
        show("answer", [name, await getattr(session, to_python_name(name))(*words)])
    except Exception as error:  # noqa: BLE001 - the SDK has no type of its own for an answer that is an error
        show("answer", [name, {"error": type(error).__name__}])


def describe(message: Any) -> dict[str, Any]:
    """A message with the types of its blocks, as the client sends them."""
    kind = type(message).__name__.removesuffix("Message").replace("StreamEvent", "stream_event").lower()
    found = {field.name: convert(getattr(message, field.name)) for field in fields(message)}
    return {**found, "type": "system" if isinstance(message, sdk.SystemMessage) else kind}


def convert(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        kind = re.sub(r"(?<!^)([A-Z])", r"_\1", type(value).__name__.removesuffix("Block")).lower()
        return {"type": kind, **asdict(value)}
    if isinstance(value, list):
        return [convert(one) for one in value]
    return value


def make_permission_callback(answers: dict[str, Any]) -> Callable[..., Any]:
    async def answer(name: str, given: dict[str, Any], context: Any) -> Any:
        show("asked", [name, given, [one.to_dict() for one in context.suggestions]])
        told = dict(answers.get(name, {"behavior": "deny", "message": "no"}))
        if told.pop("behavior") == "deny":
            return sdk.PermissionResultDeny(**told)
        updates = [make_update(one) for one in told.get("updatedPermissions", [])]
        return sdk.PermissionResultAllow(updated_input=told.get("updatedInput"), updated_permissions=updates or None)

    return answer


def make_update(given: dict[str, Any]) -> sdk.PermissionUpdate:
    rules = [types.PermissionRuleValue(one["toolName"], one.get("ruleContent")) for one in given.get("rules", [])]
    return sdk.PermissionUpdate(**{**given, "rules": rules or None})


def make_hook(given: dict[str, Any]) -> Callable[..., Any]:
    async def run_hook(value: Any, call_id: str | None, context: Any) -> Any:
        show("hook", value)
        output: dict[str, Any] = given["output"]
        return output

    return run_hook


def build_note_server() -> Any:
    @sdk.tool("note", "Keep a note", {"text": str})  # type: ignore[untyped-decorator]
    async def note(given: dict[str, Any]) -> dict[str, Any]:
        show("noted", given)
        return {"content": [{"type": "text", "text": f"kept: {given['text']}"}]}

    return sdk.create_sdk_mcp_server("program", tools=[note])


if __name__ == "__main__":
    main()
