"""The options of `turnlog chat`: one table for both the help and print mode's fast parser.

Loading click takes longer than a short answer, so `turnlog -p` parses simple arguments itself. Everything else (an
unknown option, a missing value, help) is left to click, which produces the error messages.
"""

from __future__ import annotations

import os
from typing import Any

from turnlog.cli.chat.chat_option import ChatOption
from turnlog.cli.chat.program_options import PROGRAM_OPTIONS

OUTPUT_FORMATS = ("text", "json", "stream-json")
INPUT_FORMATS = ("text", "stream-json")
EFFORT_LEVELS = ("low", "medium", "high", "xhigh", "max")
PERMISSION_MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk")

CHAT_OPTIONS = (
    ChatOption("is_printed", ("-p", "--print"), "Print the answer and exit without asking anything.", "flag"),
    ChatOption("form", ("--output-format",), "Output format in print mode.", choices=OUTPUT_FORMATS),
    ChatOption(
        "input_form",
        ("--input-format",),
        "Input format in print mode; stream-json accepts several prompts.",
        choices=INPUT_FORMATS,
    ),
    ChatOption(
        "is_replayed",
        ("--replay-user-messages",),
        "Repeat each prompt in the output (requires stream-json input and output).",
        "flag",
    ),
    ChatOption(
        "asked",
        ("--permission-prompt-tool",),
        "Who is asked for permission: stdio (the calling program; requires stream-json input and output), or a tool of"
        " an MCP server.",
    ),
    ChatOption(
        "partial",
        ("--include-partial-messages",),
        "Print parts of an answer as they arrive (requires stream-json output).",
        "flag",
    ),
    ChatOption(
        "output_schema", ("--json-schema",), "JSON schema of data that the model must return in place of a text."
    ),
    ChatOption("model", ("--model",), "Model to use: opus, sonnet, haiku, or a full name."),
    ChatOption(
        "fallback",
        ("--fallback-model",),
        "Model to use when the server of the first one is overloaded (or several, separated by commas).",
    ),
    ChatOption("effort", ("--effort",), "How much the model thinks.", choices=EFFORT_LEVELS),
    ChatOption(
        "thinking_tokens",
        ("--max-thinking-tokens",),
        "Maximum thinking tokens per answer, for models with a budget; 0 turns thinking off.",
        "count",
    ),
    ChatOption(
        "betas", ("--betas",), "Beta header to send with each request (repeatable, or separated by commas).", "many"
    ),
    ChatOption("is_continued", ("-c", "--continue"), "Continue the newest session in this folder.", "flag"),
    ChatOption(
        "resume",
        ("-r", "--resume"),
        "Resume a session by id, title or path; without a value, choose from a list.",
        "maybe",
    ),
    ChatOption(
        "is_forked", ("--fork-session",), "With --continue or --resume, continue in a copy of the session.", "flag"
    ),
    ChatOption(
        "leaf", ("--resume-session-at",), "With --resume, continue after the entry with this uuid; the rest is dropped."
    ),
    ChatOption("session_id", ("--session-id",), "UUID of the new session."),
    ChatOption(
        "mode",
        ("--permission-mode",),
        "Mode that decides which calls need permission.",
        choices=PERMISSION_MODES,
        refusals={"auto": "it needs a classifier of calls, which turnlog does not have"},
    ),
    ChatOption(
        "is_bypassed", ("--dangerously-skip-permissions",), "Same as --permission-mode bypassPermissions.", "flag"
    ),
    ChatOption(
        "allowed",
        ("--allowedTools", "--allowed-tools"),
        "Allow calls that match these rules, such as Bash(git log:*).",
        "many",
    ),
    ChatOption("disallowed", ("--disallowedTools", "--disallowed-tools"), "Deny calls that match these rules.", "many"),
    ChatOption("tools", ("--tools",), "Comma-separated list of tools that the model may use."),
    ChatOption("folders", ("--add-dir",), "Additional folder to work in (repeatable).", "many"),
    ChatOption("system_prompt", ("--system-prompt",), "Replace turnlog's instructions to the model."),
    ChatOption("system_prompt_file", ("--system-prompt-file",), "Read the text of --system-prompt from a file."),
    ChatOption("appended_prompt", ("--append-system-prompt",), "Add to turnlog's instructions to the model."),
    ChatOption(
        "appended_prompt_file",
        ("--append-system-prompt-file",),
        "Read the text of --append-system-prompt from a file.",
    ),
    ChatOption("turns", ("--max-turns",), "Maximum number of requests per turn.", "number"),
    ChatOption("dollars", ("--max-budget-usd",), "Maximum cost of the session, in US dollars.", "amount"),
    ChatOption("settings", ("--settings",), "Additional settings, as a file or as JSON (repeatable).", "many"),
    ChatOption(
        "sources",
        ("--setting-sources",),
        "Comma-separated list of where settings, instructions, commands, agents and servers come from: user, project,"
        " local; empty for none.",
    ),
    ChatOption("mcp_configs", ("--mcp-config",), "MCP servers, as a file or as JSON (repeatable).", "many"),
    ChatOption("is_strict_mcp", ("--strict-mcp-config",), "Start only the servers in --mcp-config.", "flag"),
    ChatOption("plugins", ("--plugin-dir",), "Load a plugin from this folder (repeatable).", "many"),
    ChatOption(
        "ignores_hooks",
        ("--ignore-hooks",),
        "Start without the hooks, servers or other guards that can't run here.",
        "flag",
    ),
    ChatOption("agent", ("--agent",), "Agent whose prompt, tools and model the session uses."),
    ChatOption("is_flat", ("--ax-screen-reader",), "Write everything once, for screen readers.", "flag"),
    ChatOption("url", ("--base-url",), "URL of the API server (default: ANTHROPIC_BASE_URL)."),
    *PROGRAM_OPTIONS,
)


_RULE_NAMES = frozenset(
    "Agent Bash Edit Glob Grep NotebookEdit Read Skill Task TodoWrite WebFetch WebSearch Write".split()
)


def _is_rule(word: str) -> bool:
    name, bracket, _ = word.partition("(")
    is_named = name in _RULE_NAMES or (name.startswith("mcp__") and " " not in name)
    return is_named and (not bracket or word.endswith(")"))


def _is_folder(word: str) -> bool:
    return os.sep in word and os.path.isdir(word)  # noqa: PTH112 - pathlib is slow to load


def _is_configuration(word: str) -> bool:
    return word.endswith(".json") and os.path.isfile(word)  # noqa: PTH113 - as above


_FURTHER_VALUES = {
    "--allowedTools": _is_rule,
    "--allowed-tools": _is_rule,
    "--disallowedTools": _is_rule,
    "--disallowed-tools": _is_rule,
    "--add-dir": _is_folder,
    "--mcp-config": _is_configuration,
}
"""How to recognize words that are further values of an option; any other word can be the prompt."""


def repeat_list_options(words: list[str]) -> list[str]:
    """Repeat an option before each of its values after the first, as in `--allowedTools Read Edit`.

    Claude Code takes all words up to the next option, even the prompt.
    """
    repeated: list[str] = []
    option, is_value = "", False
    for word in words:
        if word in _FURTHER_VALUES:
            option, is_value = word, True
        elif is_value:
            is_value = False
        elif option and _FURTHER_VALUES[option](word):
            repeated.append(option)
        else:
            option = ""
        repeated.append(word)
    return repeated


def parse_plain_words(words: list[str]) -> dict[str, Any] | None:
    """Parse arguments in their simple forms; return None for any other form."""
    known = {word: option for option in CHAT_OPTIONS for word in option.words}
    found: dict[str, Any] = {"prompt": None}
    waiting = list(reversed(repeat_list_options(words)))
    while waiting:
        word = waiting.pop()
        name, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = known.get(name)
        if option is None:
            if word.startswith("-") or found["prompt"] is not None:
                return None
            found["prompt"] = word
            continue
        if option.kind == "flag":
            is_good = not has_value
            found[option.name] = True
        elif has_value or (waiting and not waiting[-1].startswith("-")):
            is_good = _store_value(found, option, value if has_value else waiting.pop())
        else:
            is_good = False
        if not is_good:
            return None
    return found


def _store_value(found: dict[str, Any], option: ChatOption, value: str) -> bool:
    """Store a value; return False if the option does not accept it."""
    if option.choices and value not in option.choices:
        return False
    if option.kind == "many":
        found[option.name] = (*found.get(option.name, ()), value)
        return True
    try:
        found[option.name] = {"number": int, "count": int, "amount": float}.get(option.kind, str)(value)
    except ValueError:
        return False
    if option.kind == "count":
        return bool(found[option.name] >= 0)
    return option.kind not in ("number", "amount") or found[option.name] > 0
