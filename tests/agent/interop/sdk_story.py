"""What a program does with the SDK for Python, told as JSON; runs in the SDK's own environment, without turnlog.

python sdk_story.py CLIENT FOLDER
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from claude_agent_sdk import (  # type: ignore[import-not-found]
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    create_sdk_mcp_server,
    query,
    tool,
)

CLIENT, FOLDER = sys.argv[1], Path(sys.argv[2])
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
told: dict[str, Any] = {"heard": []}


def describe(message: Any) -> list[Any]:
    kind, content = type(message).__name__, getattr(message, "content", None)
    if kind == "ResultMessage":
        denied = [one["tool_name"] for one in message.permission_denials or []]
        facts = [message.subtype, message.is_error, message.result, message.structured_output, message.num_turns]
        return [kind, *facts, denied]
    blocks = content if isinstance(content, list) else []
    texts = [str(getattr(block, "text", None) or getattr(block, "content", None) or "") for block in blocks]
    names = [type(block).__name__ for block in blocks]
    return [kind, getattr(message, "subtype", None), names, [text.replace(str(FOLDER), "") for text in texts]]


async def permit(name: str, arguments: dict[str, Any], _: Any) -> Any:
    told["heard"].append(["permit", name])
    text = json.dumps(arguments)
    if "deny" in text:
        return PermissionResultDeny(message="no way")
    changes = {"command": "echo swapped > swapped.txt"} if "swap" in text else {}
    return PermissionResultAllow(updated_input={**arguments, **changes})


async def hear_hook(given: Any, _: Any, __: Any) -> Any:
    told["heard"].append([given["hook_event_name"], given.get("tool_name"), given.get("prompt")])
    return {}


@tool("add", "Adds", {"a": float, "b": float})  # type: ignore[untyped-decorator]
async def add(given: dict[str, Any]) -> Any:
    return {"content": [{"type": "text", "text": f"sum {given['a'] + given['b']}"}]}


def build_options(**more: Any) -> Any:
    return ClaudeAgentOptions(cli_path=CLIENT, cwd=FOLDER, setting_sources=[], env=dict(os.environ), **more)


async def converse() -> None:
    hooks = {name: [HookMatcher(hooks=[hear_hook])] for name in ("PreToolUse", "PostToolUse", "UserPromptSubmit")}
    options = build_options(
        can_use_tool=permit,
        hooks=hooks,
        mcp_servers={"calc": create_sdk_mcp_server("calc", "1.0.0", [add])},
        allowed_tools=["mcp__calc__add"],
        agents={"helper": AgentDefinition(description="Helps", prompt="You help.", tools=["Read"], model="haiku")},
        max_turns=8,
        effort="low",
        enable_file_checkpointing=True,
        fallback_model="claude-haiku-5-5",
        extra_args={"replay-user-messages": None},
    )
    prompts: list[str] = []
    async with ClaudeSDKClient(options) as client:
        for prompt in ("write", "swap", "deny", "calculate"):
            await client.query(prompt)
            told[prompt] = []
            async for message in client.receive_response():
                told[prompt].append(describe(message))
                if type(message).__name__ == "UserMessage" and message.uuid:
                    prompts.append(message.uuid)
        told["servers"] = [[one["name"], one["status"]] for one in (await client.get_mcp_status())["mcpServers"]]
        told["usage"] = type((await client.get_context_usage())["totalTokens"]).__name__
        told["files"] = sorted(path.name for path in FOLDER.iterdir())
        await client.rewind_files(prompts[0])
        told["rewound"] = sorted(path.name for path in FOLDER.iterdir())
        await client.query("wait")
        await asyncio.sleep(1)
        await client.interrupt()
        told["interrupted"] = [describe(message) async for message in client.receive_response()]


async def ask_once() -> None:
    session = None
    told["data"] = []
    options = build_options(output_format={"type": "json_schema", "schema": SCHEMA}, model="claude-sonnet-5-5")
    async for message in query(prompt="data", options=options):
        told["data"].append(describe(message))
        session = getattr(message, "session_id", session)
    options = build_options(resume=session, fork_session=True)
    told["forked"] = [describe(message) async for message in query(prompt="again", options=options)]


async def main() -> None:
    await converse()
    await ask_once()


asyncio.run(main())  # noqa: TID251  # this process has no tests around it
print(json.dumps(told))
