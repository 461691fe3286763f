"""The words of `turnlog chat`: one table for the command's help and for the plain reader of print mode.

Loading click takes longer than a short answer; so `turnlog -p` reads its own words where they are plain. Whatever is
not (an unknown option, a missing value, help) is left to click, which knows how to say so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

OUTPUT_FORMATS = ("text", "json", "stream-json")
INPUT_FORMATS = ("text", "stream-json")
PERMISSION_MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk")


class ChatOption(NamedTuple):
    """One option."""

    name: str
    """What it is called in the program."""
    words: tuple[str, ...]
    help: str
    kind: str = "text"
    """`flag`, `text`, `many` (may be given again), `maybe` (its value may be left out), `number`, `amount`."""
    choices: tuple[str, ...] = ()
    is_hidden: bool = False


CHAT_OPTIONS = (
    ChatOption("is_printed", ("-p", "--print"), "Answer on standard output and end; nobody is asked.", "flag"),
    ChatOption("form", ("--output-format",), "How print mode answers.", choices=OUTPUT_FORMATS),
    ChatOption(
        "input_form", ("--input-format",), "How print mode is asked; stream-json: many prompts.", choices=INPUT_FORMATS
    ),
    ChatOption(
        "is_replayed", ("--replay-user-messages",), "With stream-json both ways: say each prompt again.", "flag"
    ),
    ChatOption(
        "asked",
        ("--permission-prompt-tool",),
        "With stream-json both ways: whom to ask for leave.",
        choices=("stdio",),
    ),
    ChatOption("partial", ("--include-partial-messages",), "With stream-json: every piece as it comes.", "flag"),
    ChatOption("model", ("--model",), "The model: opus, sonnet, haiku, or a full name."),
    ChatOption("is_continued", ("-c", "--continue"), "Take up the newest session of this folder.", "flag"),
    ChatOption(
        "resume", ("-r", "--resume"), "Take up a session: its id, title or path; without one, choose it.", "maybe"
    ),
    ChatOption("is_forked", ("--fork-session",), "With --continue or --resume: go on in a copy.", "flag"),
    ChatOption("session_id", ("--session-id",), "The id of the new session (a UUID)."),
    ChatOption("mode", ("--permission-mode",), "What is asked before a call.", choices=PERMISSION_MODES),
    ChatOption("is_bypassed", ("--dangerously-skip-permissions",), "The same as bypassPermissions.", "flag"),
    ChatOption(
        "allowed", ("--allowedTools", "--allowed-tools"), "Rules that allow calls, such as Bash(git log:*).", "many"
    ),
    ChatOption("disallowed", ("--disallowedTools", "--disallowed-tools"), "Rules that deny calls.", "many"),
    ChatOption("tools", ("--tools",), "The only tools that the model is told of, with commas between them."),
    ChatOption("folders", ("--add-dir",), "Another folder that may be worked in.", "many"),
    ChatOption("system_prompt", ("--system-prompt",), "In place of turnlog's own instructions to the model."),
    ChatOption("appended_prompt", ("--append-system-prompt",), "In addition to them."),
    ChatOption("turns", ("--max-turns",), "How many requests one turn may take.", "number"),
    ChatOption("dollars", ("--max-budget-usd",), "How much the session may cost.", "amount"),
    ChatOption("settings", ("--settings",), "Further settings: a file, or JSON.", "many"),
    ChatOption(
        "ignores_hooks",
        ("--ignore-hooks",),
        "Start although hooks that guard calls, or what an SDK defines, are not supported.",
        "flag",
    ),
    ChatOption("url", ("--base-url",), "Another server; ANTHROPIC_BASE_URL without it."),
    ChatOption("is_verbose", ("--verbose",), "Accepted for compatibility; changes nothing.", "flag", is_hidden=True),
)


def parse_plain_words(words: list[str]) -> dict[str, Any] | None:
    """What the words say, by the names of the options; None if they are not plain."""
    known = {word: option for option in CHAT_OPTIONS for word in option.words}
    found: dict[str, Any] = {"prompt": None}
    waiting = list(reversed(words))
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
    """Note a value; False if it is none for this option."""
    if option.choices and value not in option.choices:
        return False
    if option.kind == "many":
        found[option.name] = (*found.get(option.name, ()), value)
        return True
    try:
        found[option.name] = {"number": int, "amount": float}.get(option.kind, str)(value)
    except ValueError:
        return False
    return option.kind not in ("number", "amount") or found[option.name] > 0
