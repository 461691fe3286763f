"""The features of the SDKs' documentation, each as a program, a script for the server, and what to compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agent.desk import call, reply, says, script
from tests.agent.interop.sdk.runs import HERE, Feature

Json = dict[str, Any]

RULE = {"toolName": "Bash", "ruleContent": "touch made.txt"}
ASK: list[list[Any]] = [["send", "go"], ["until", "result"]]
ECHO = call("Bash", command="echo hi", description="Say hi")
TOUCH = call("Bash", command="touch made.txt", description="Make a file")
WRITE = call("Write", file_path=f"{HERE}/note.txt", content="one\n")
PROMPT = "22222222-3333-4444-8555-666666666666"
SESSION = "11111111-2222-4333-8444-555555555555"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
AGENT = {"description": "Reviews code", "prompt": "You only review.", "tools": ["Read", "Bash"]}

REVIEW: Json = {
    "conversations": [
        {"kind": "agent", "replies": ["Looks fine."]},
        {
            "kind": "main",
            "replies": [
                reply(
                    call(
                        "Task",
                        description="Review",
                        prompt="Review it",
                        subagent_type="reviewer",
                        run_in_background=False,
                    )
                ),
                "Done.",
            ],
        },
    ]
}


def list_files(requests: list[Json], folder: Path) -> object:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def list_sessions(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder.parent / "home/.claude/projects").glob("*/*.jsonl"))


def look_at_nothing(requests: list[Json], folder: Path) -> None:
    """What a program sees is all that counts."""


def pick_fields(*names: str) -> Any:
    """Look at some fields of every request."""
    return lambda requests, folder: [{name: body.get(name) for name in names} for body in requests]


def find_texts(*texts: str) -> Any:
    """Look whether the requests contain some texts."""
    return lambda requests, folder: [[text in json.dumps(body) for text in texts] for body in requests]


def list_tools(requests: list[Json], folder: Path) -> object:
    """The tools that both clients have; the newest one adds placeholders of its own."""
    known = {"Bash", "Read", "Write", "Edit"}
    return [
        sorted(tool["name"] for tool in body.get("tools", ()) if tool["name"] in known or "__" in tool["name"])
        for body in requests
    ]


def write_file(name: str, text: str) -> Any:
    def write(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


FEATURES: dict[str, Feature] = {
    "one prompt": Feature({"steps": ASK}, script("Hello.")),
    "several prompts": Feature(
        {"steps": [*ASK, ["send", "and now"], ["until", "result"]]}, script("One.", "Two."), systems=("init",)
    ),
    "partial messages": Feature(
        {"options": {"includePartialMessages": True}, "steps": ASK},
        script("Hello there."),
        is_ordered=False,  # the newest client prints a message before the last events of its answer, ours after them
    ),
    "an API error": Feature(
        {"steps": ASK},
        script({"error": {"status": 400, "type": "invalid_request_error", "message": "bad thing"}}, when_done="repeat"),
        look=look_at_nothing,
    ),
    "allowed tools": Feature(
        {"options": {"allowedTools": ["Bash(echo:*)"]}, "steps": ASK}, script(reply(ECHO), reply(TOUCH), "Done.")
    ),
    "disallowed tools": Feature(
        {"options": {"disallowedTools": ["Bash", "Write"]}, "steps": ASK}, script("Done."), look=list_tools
    ),
    "chosen tools": Feature({"options": {"tools": ["Bash", "Read"]}, "steps": ASK}, script("Done."), look=list_tools),
    "no tools": Feature({"options": {"tools": []}, "steps": ASK}, script("Done."), look=list_tools),
    "permission allowed": Feature(
        {"permission": {"Bash": {"behavior": "allow"}}, "steps": ASK}, script(reply(TOUCH), "Done."), look=list_files
    ),
    "permission denied": Feature(
        {"permission": {"Bash": {"behavior": "deny", "message": "not here"}}, "steps": ASK},
        script(reply(TOUCH), "Done."),
        look=list_files,
    ),
    "permission denied and interrupted": Feature(
        {"permission": {"Bash": {"behavior": "deny", "message": "stop", "interrupt": True}}, "steps": ASK},
        script(reply(TOUCH), "Done."),
    ),
    "changed input": Feature(
        {
            "permission": {"Bash": {"behavior": "allow", "updatedInput": {"command": "touch other.txt"}}},
            "steps": ASK,
        },
        script(reply(TOUCH), "Done."),
        look=list_files,
    ),
    "changed permissions": Feature(
        {
            "permission": {
                "Bash": {
                    "behavior": "allow",
                    "updatedPermissions": [
                        {"type": "addRules", "rules": [RULE], "behavior": "allow", "destination": "session"}
                    ],
                }
            },
            "steps": ASK,
        },
        script(reply(TOUCH), reply(TOUCH), "Done."),
        look=list_files,
    ),
    "permission mode": Feature(
        {"options": {"permissionMode": "acceptEdits"}, "steps": ASK}, script(reply(WRITE), "Done."), look=list_files
    ),
    "permission mode changed": Feature(
        {
            "steps": [["send", "go"], ["until", "result"], ["call", "setPermissionMode", "acceptEdits"], *ASK],
        },
        script("One.", reply(WRITE), "Done."),
        look=list_files,
    ),
    "mode that asks nothing": Feature(
        {"options": {"permissionMode": "dontAsk"}, "steps": ASK}, script(reply(TOUCH), "Done."), look=list_files
    ),
    "hook denies": Feature(
        {
            "hooks": {
                "PreToolUse": [
                    {
                        "matcher": "Bash",
                        "output": {
                            "hookSpecificOutput": {
                                "hookEventName": "PreToolUse",
                                "permissionDecision": "deny",
                                "permissionDecisionReason": "no shell",
                            }
                        },
                    }
                ]
            },
            "steps": ASK,
        },
        script(reply(TOUCH), "Done."),
        look=list_files,
    ),
    "hook allows and changes": Feature(
        {
            "hooks": {
                "PreToolUse": [
                    {
                        "output": {
                            "hookSpecificOutput": {
                                "hookEventName": "PreToolUse",
                                "permissionDecision": "allow",
                                "updatedInput": {"command": "touch hooked.txt"},
                            }
                        }
                    }
                ]
            },
            "steps": ASK,
        },
        script(reply(TOUCH), "Done."),
        look=list_files,
    ),
    "hooks add context": Feature(
        {
            "hooks": {
                "UserPromptSubmit": [
                    {"output": {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "A1"}}}
                ],
                "PostToolUse": [
                    {"output": {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "B2"}}}
                ],
            },
            "options": {"allowedTools": ["Bash(echo:*)"]},
            "steps": ASK,
        },
        script(reply(ECHO), "Done."),
        look=find_texts("A1", "B2"),
    ),
    "hook keeps the model going": Feature(
        {
            "hooks": {"Stop": [{"output": {"decision": "block", "reason": "one more"}}]},
            "steps": ASK,
            "options": {"maxTurns": 3},
        },
        script("One.", "Two.", "Three.", "Four.", "Five.", when_done="repeat"),
    ),
    "agents": Feature({"options": {"agents": {"reviewer": AGENT}}, "steps": ASK}, REVIEW),
    "forwarded text of agents": Feature(
        {"options": {"agents": {"reviewer": AGENT}, "forwardSubagentText": True}, "steps": ASK}, REVIEW
    ),
    "prompts that nobody typed": Feature(
        {"options": {"verbatimPrompts": True}, "steps": [["send", "/init @seen.txt"], *ASK[1:]]},
        script("Done."),
        furnish=write_file("seen.txt", "PLUMS\n"),
        look=find_texts("/init @seen.txt", "PLUMS"),
    ),
    "names for tools": Feature(
        {"options": {"toolAliases": {"Shell": "Bash"}, "allowedTools": ["Bash(echo:*)"]}, "steps": ASK},
        script(reply(call("Shell", command="echo hi", description="Say hi")), "Done."),
        ("typescript",),
    ),
    "settings written by the program": Feature(
        {"steps": [*ASK, ["call", "updateSettings", "localSettings", {"model": "x"}], ["call", "reloadSkills"]]},
        script("Done."),
        ("typescript",),
        answers={"reloadSkills": lambda answer: "skills" in answer},
        look=lambda requests, folder: (folder / ".claude/settings.local.json").exists(),
    ),
    "main agent": Feature(
        {"options": {"agent": "reviewer", "agents": {"reviewer": AGENT}}, "steps": ASK},
        script("Done."),
        ("typescript",),
        look=lambda requests, folder: (list_tools(requests, folder), "You only review." in json.dumps(requests)),
    ),
    "server in the program": Feature(
        {"note_server": True, "options": {"allowedTools": ["mcp__program__note"]}, "steps": ASK},
        script(reply(call("mcp__program__note", text="milk")), "Done."),
    ),
    "structured output": Feature(
        {"options": {"outputFormat": {"type": "json_schema", "schema": SCHEMA}}, "steps": ASK},
        script(reply(call("StructuredOutput", n=3)), "too late"),
    ),
    "settings of the project": Feature(
        {"options": {"settingSources": ["project"]}, "steps": ASK},
        script("Done."),
        furnish=write_file("CLAUDE.md", "Speak of MARMALADE.\n"),
        look=find_texts("MARMALADE"),
    ),
    "no settings": Feature(
        {"options": {"settingSources": []}, "steps": ASK},
        script("Done."),
        furnish=write_file("CLAUDE.md", "Speak of MARMALADE.\n"),
        look=find_texts("MARMALADE"),
    ),
    "system prompt": Feature(
        {"options": {"systemPrompt": "Only PLUMS."}, "steps": ASK}, script("Done."), look=find_texts("Only PLUMS.")
    ),
    "added system prompt": Feature(
        {
            "options": {"systemPrompt": {"type": "preset", "preset": "claude_code", "append": "Also PLUMS."}},
            "steps": ASK,
        },
        script("Done."),
        look=find_texts("Also PLUMS."),
    ),
    "limit of turns": Feature(
        {"options": {"maxTurns": 1, "allowedTools": ["Bash(echo:*)"]}, "steps": ASK},
        script(reply(ECHO), when_done="repeat"),
    ),
    "limit of dollars": Feature(
        {"options": {"maxBudgetUsd": 0.000001}, "steps": [*ASK, *ASK]},
        script("One.", "Two."),
    ),
    "model": Feature(
        {"options": {"model": "claude-haiku-4-5"}, "steps": ASK}, script("Done."), look=pick_fields("model")
    ),
    "model changed": Feature(
        {"steps": [*ASK, ["call", "setModel", "claude-haiku-4-5"], *ASK]},
        script("One.", "Two."),
        look=pick_fields("model"),
    ),
    "fallback model": Feature(
        {"options": {"fallbackModel": "claude-haiku-4-5"}, "steps": ASK},
        script(
            *[{"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}}] * 3,
            "From the other.",
        ),
        look=lambda requests, folder: requests[-1]["model"],
    ),
    "effort": Feature({"options": {"effort": "low"}, "steps": ASK}, script("Done."), look=pick_fields("output_config")),
    "no thinking": Feature(
        {"options": {"thinking": {"type": "disabled"}, "model": "claude-sonnet-4-5"}, "steps": ASK},
        script("Done."),
        look=pick_fields("thinking"),
    ),
    "thinking tokens": Feature(
        {"options": {"maxThinkingTokens": 2000, "model": "claude-sonnet-4-5"}, "steps": ASK},
        script("Done."),
        look=lambda requests, folder: [body["thinking"]["budget_tokens"] for body in requests],
    ),
    "further folders": Feature(
        {"options": {"additionalDirectories": [f"{HERE}/../other"]}, "steps": ASK},
        script(reply(call("Read", file_path=f"{HERE}/../other/far.txt")), "Done."),
        furnish=write_file("../other/far.txt", "far"),
    ),
    "chosen session id": Feature(
        {"options": {"sessionId": SESSION}, "steps": ASK},
        script("Done."),
        look=lambda requests, folder: [
            path.stem for path in (folder.parent / "home").rglob("*.jsonl") if path.stem == SESSION
        ],
    ),
    "status of servers": Feature(
        {"note_server": True, "steps": [*ASK, ["call", "mcpServerStatus"]]},
        script("Done."),
        answers={
            "mcpServerStatus": lambda answer: [
                (one["name"], one["status"], [tool["name"] for tool in one.get("tools", [])])
                for one in (answer["mcpServers"] if isinstance(answer, dict) else answer)
            ]
        },
    ),
    "context usage": Feature(
        {"steps": [*ASK, ["call", "getContextUsage"]]},
        script("Done."),
        answers={"getContextUsage": lambda answer: (answer["model"], answer["maxTokens"], answer["totalTokens"] > 0)},
    ),
    "rewound files": Feature(
        {
            "options": {"enableFileCheckpointing": True, "permissionMode": "acceptEdits"},
            "steps": [["send", "go", PROMPT], ["until", "result"], ["call", "rewindFiles", PROMPT]],
        },
        script(reply(WRITE), "Done."),
        look=list_files,
        answers={"rewindFiles": lambda answer: (answer or {}).get("canRewind")},
    ),
    "resumed session": Feature(
        [{"options": {"sessionId": SESSION}, "steps": ASK}, {"options": {"resume": SESSION}, "steps": ASK}],
        script("One.", "Two."),
        look=lambda requests, folder: ("One." in json.dumps(requests[-1]), list_sessions(folder)),
    ),
    "continued session": Feature(
        [{"steps": ASK}, {"options": {"continue": True}, "steps": ASK}],
        script("One.", "Two."),
        look=lambda requests, folder: ("One." in json.dumps(requests[-1]), len(list_sessions(folder))),
    ),
    "forked session": Feature(
        [
            {"options": {"sessionId": SESSION}, "steps": ASK},
            {"options": {"resume": SESSION, "forkSession": True}, "steps": ASK},
        ],
        script("One.", "Two."),
        look=lambda requests, folder: ("One." in json.dumps(requests[-1]), len(list_sessions(folder))),
    ),
    "unknown session": Feature({"options": {"resume": SESSION}, "steps": ASK}, script("One.")),
    "plugin": Feature(
        {
            "options": {"plugins": [{"type": "local", "path": f"{HERE}/plug"}]},
            "steps": [["send", "/plug:greet"], *ASK[1:]],
        },
        script("Done."),
        furnish=write_file("plug/commands/greet.md", "Greet with PEARS.\n"),
        look=find_texts("Greet with PEARS."),
    ),
    "plugins in initialize": Feature(
        {
            "options": {"plugins": [{"type": "local", "path": f"{HERE}/plug"}], "pluginDelivery": "initialize"},
            "steps": [["send", "/plug:greet"], *ASK[1:]],
        },
        script("Done."),
        ("typescript",),
        furnish=write_file("plug/commands/greet.md", "Greet with PEARS.\n"),
        look=find_texts("Greet with PEARS."),
    ),
    "project settings from elsewhere": Feature(
        {
            "options": {"projectConfigRoot": f"{HERE}/../trusted", "settingSources": ["project"]},
            "steps": [["send", "/greet"], *ASK[1:]],
        },
        script("Done."),
        ("typescript",),
        furnish=write_file("../trusted/.claude/commands/greet.md", "Greet with FIGS.\n"),
        look=find_texts("Greet with FIGS."),
    ),
    "restrictions by the program": Feature(
        {
            "options": {
                "managedSettings": {"permissions": {"deny": ["Bash(touch:*)"], "allow": ["Bash"]}},
            },
            "permission": {"Bash": {"behavior": "allow"}},
            "steps": ASK,
        },
        script(reply(TOUCH), reply(ECHO), "Done."),
        ("typescript",),
        look=list_files,
    ),
    "changed settings": Feature(
        {
            "permission": {"Bash": {"behavior": "allow"}},
            "steps": [*ASK, ["call", "applyFlagSettings", {"permissions": {"deny": ["Bash(touch:*)"]}}], *ASK],
        },
        script("One.", reply(TOUCH), "Done."),
        ("typescript",),
        look=list_files,
    ),
    "a file that the program reads": Feature(
        {
            "steps": [
                *ASK,
                ["call", "readFile", "seen.txt"],
                ["call", "readFile", "none.txt"],
                ["call", "readFile", "/etc/passwd"],
            ]
        },
        script("One."),
        ("typescript",),
        furnish=write_file("seen.txt", "seen\n"),
        answers={"readFile": lambda answer: answer and answer["contents"]},
    ),
    "lists of what there is": Feature(
        {
            "options": {"agents": {"reviewer": AGENT}},
            "steps": [*ASK, ["call", "supportedAgents"], ["call", "supportedCommands"], ["call", "supportedModels"]],
        },
        script("One."),
        ("typescript",),
        answers={
            "supportedAgents": lambda answer: "reviewer" in [one["name"] for one in answer],
            "supportedCommands": lambda answer: {"compact", "context"} <= {one["name"] for one in answer},
            "supportedModels": lambda answer: (
                bool(answer) and {"value", "displayName", "description"} <= answer[0].keys()
            ),
        },
    ),
    "switched servers": Feature(
        {
            "note_server": True,
            "steps": [
                *ASK,
                ["call", "toggleMcpServer", "program", False],
                ["call", "mcpServerStatus"],
                ["call", "toggleMcpServer", "nothing", False],
                ["call", "reconnectMcpServer", "nothing"],
            ],
        },
        script("One."),
        answers={
            "mcpServerStatus": lambda answer: [
                (one["name"], one["status"]) for one in (answer["mcpServers"] if isinstance(answer, dict) else answer)
            ]
        },
    ),
    "interrupted turn": Feature(
        {
            "options": {"includePartialMessages": True},
            "steps": [["send", "go"], ["until", "stream_event"], ["call", "interrupt"], ["until", "result"], *ASK],
        },
        script(reply(says("word " * 400), pace=2), "Second."),
        ignored=("event",),
        look=look_at_nothing,
    ),
}
