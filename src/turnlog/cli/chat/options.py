"""The words of `turnlog chat`: one table for the command's help and for the plain reader of print mode.

Loading click takes longer than a short answer; so `turnlog -p` reads its own words where they are plain. Whatever is
not (an unknown option, a missing value, help) is left to click, which knows how to say so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

FORMS = ("text", "json", "stream-json")
FORMS_IN = ("text", "stream-json")
MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk")


class Option(NamedTuple):
    """One option."""

    name: str
    """What it is called in the program."""
    words: tuple[str, ...]
    help: str
    kind: str = "text"
    """`flag`, `text`, `many` (may be given again), `maybe` (its value may be left out), `number`, `amount`."""
    choices: tuple[str, ...] = ()
    is_hidden: bool = False


OPTIONS = (
    Option("is_printed", ("-p", "--print"), "Answer on standard output and end; nobody is asked.", "flag"),
    Option("form", ("--output-format",), "How print mode answers.", choices=FORMS),
    Option("input_form", ("--input-format",), "How print mode is asked; stream-json: many prompts.", choices=FORMS_IN),
    Option("is_replayed", ("--replay-user-messages",), "With stream-json both ways: say each prompt again.", "flag"),
    Option(
        "asked",
        ("--permission-prompt-tool",),
        "With stream-json both ways: whom to ask for leave.",
        choices=("stdio",),
    ),
    Option("partial", ("--include-partial-messages",), "With stream-json: every piece as it comes.", "flag"),
    Option("model", ("--model",), "The model: opus, sonnet, haiku, or a full name."),
    Option("is_continued", ("-c", "--continue"), "Take up the newest session of this folder.", "flag"),
    Option("resume", ("-r", "--resume"), "Take up a session: its id, title or path; without one, choose it.", "maybe"),
    Option("is_forked", ("--fork-session",), "With --continue or --resume: go on in a copy.", "flag"),
    Option("session_id", ("--session-id",), "The id of the new session (a UUID)."),
    Option("mode", ("--permission-mode",), "What is asked before a call.", choices=MODES),
    Option("is_bypassed", ("--dangerously-skip-permissions",), "The same as bypassPermissions.", "flag"),
    Option(
        "allowed", ("--allowedTools", "--allowed-tools"), "Rules that allow calls, such as Bash(git log:*).", "many"
    ),
    Option("disallowed", ("--disallowedTools", "--disallowed-tools"), "Rules that deny calls.", "many"),
    Option("tools", ("--tools",), "The only tools that the model is told of, with commas between them."),
    Option("folders", ("--add-dir",), "Another folder that may be worked in.", "many"),
    Option("system_prompt", ("--system-prompt",), "In place of turnlog's own instructions to the model."),
    Option("appended_prompt", ("--append-system-prompt",), "In addition to them."),
    Option("turns", ("--max-turns",), "How many requests one turn may take.", "number"),
    Option("dollars", ("--max-budget-usd",), "How much the session may cost.", "amount"),
    Option("settings", ("--settings",), "Further settings: a file, or JSON.", "many"),
    Option(
        "ignores_hooks",
        ("--ignore-hooks",),
        "Start although hooks that guard calls, or what an SDK defines, are not supported.",
        "flag",
    ),
    Option("url", ("--base-url",), "Another server; ANTHROPIC_BASE_URL without it."),
    Option("is_verbose", ("--verbose",), "Accepted for compatibility; changes nothing.", "flag", is_hidden=True),
)


def plain(words: list[str]) -> dict[str, Any] | None:
    """What the words say, by the names of the options; None if they are not plain."""
    known = {word: option for option in OPTIONS for word in option.words}
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
            is_good = _take(found, option, value if has_value else waiting.pop())
        else:
            is_good = False
        if not is_good:
            return None
    return found


def _take(found: dict[str, Any], option: Option, value: str) -> bool:
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
