"""Commands that the client carries out itself: `/help`, `/clear`, `/compact` …

Each gives lines to show. Those that change what the model is in for are written into the session as prompts, the others
as remarks for people, as the newest client does it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from turnlog.agent.loop import AgentLoop
from turnlog.agent.record import line_bodies as written
from turnlog.errors import UsageError
from turnlog.model.cancel import Cancel
from turnlog.render.figures import format_cost_usd, format_count, format_duration, format_thousands
from turnlog.render.terminal import make_visible, to_visible_line


class CommandHost(Protocol):
    """What commands need of the console."""

    @property
    def loop(self) -> AgentLoop:
        """The session at work."""
        ...

    def clear(self) -> None:
        """Begin a new session."""
        ...

    def resume(self, name: str) -> bool:
        """Take up another session; without a name the person chooses. False if they don't."""
        ...

    def compact(self, instructions: str) -> bool:
        """Replace the conversation by a summary; False if it was interrupted."""
        ...

    def leave(self) -> None:
        """End the program after this."""
        ...


class SlashCommand(NamedTuple):
    """One command."""

    help: str
    run: Callable[[CommandHost, str], Iterator[str]]
    words: str = ""
    """What it takes."""


def run_slash_command(talk: CommandHost, text: str) -> list[str] | None:
    """The lines that a command gives, which the session is told of; None if there is no such command."""
    name, words = _split_command(text)
    if name not in SLASH_COMMANDS:
        return None
    told = list(SLASH_COMMANDS[name].run(talk, words))
    if name not in UNRECORDED_COMMANDS and talk.loop.record.path.exists():
        talk.loop.record.write_local_command(name, words, "\n".join(told), is_sent=False)
    return told


def _split_command(text: str) -> tuple[str, str]:
    """The name of a command, and the words behind it."""
    name, *words = text.strip().removeprefix("/").split(maxsplit=1)
    return name, "".join(words)


def is_slash_command(text: str) -> bool:
    """Whether a text is meant as a command: a slash and a name, as Claude Code reads it, and no path that exists."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return re.fullmatch(r"/[\w:-]+", first) is not None and not Path(first).exists()


class PrintCommandHost(NamedTuple):
    """A session in print mode; what needs a person is not there."""

    loop: AgentLoop
    cancel: Cancel

    def clear(self) -> None:
        """Not here."""

    def resume(self, _name: str) -> bool:
        """Not here."""
        return False

    def compact(self, instructions: str) -> bool:
        """Replace the conversation by a summary."""
        self.loop.compact(instructions, self.cancel)
        return True

    def leave(self) -> None:
        """Not here."""


def run_printed_command(loop: AgentLoop, text: str, cancel: Cancel) -> tuple[str, str] | None:
    """The name of a command that was given in print mode, and what it gives; None for what is a prompt there.

    A command that there is not raises UsageError: a model must not be sent the name of a command to make up the rest.
    """
    if not is_slash_command(text):
        return None
    name = _split_command(text)[0]
    if name not in PRINTABLE_COMMANDS:
        why = "is not available in print mode" if name in SLASH_COMMANDS else "no such command"
        further = "" if name in SLASH_COMMANDS else "; .claude/commands and skills are not supported"
        raise UsageError(f"/{name}: {why}{further}. Begin with a space to send it as text; /help lists the commands")
    return name, "\n".join(run_slash_command(PrintCommandHost(loop, cancel), text) or ())


def describe_unknown_command(text: str) -> str:
    """What is said to a command that there is not."""
    name = text.split(maxsplit=1)[0]
    return f"{to_visible_line(name)}: there is no such command; /help lists them"


def _run_help(_talk: CommandHost, _words: str) -> Iterator[str]:
    for name, command in SLASH_COMMANDS.items():
        yield f"  /{f'{name} {command.words}'.strip():<24} {command.help}"
    yield f"  {'!COMMAND':<25} run a command yourself; the model sees what came of it"
    yield "  Shift-Tab changes what is asked before a call: default, acceptEdits, plan."
    yield "  Esc or Ctrl-C interrupts a turn; what is typed meanwhile is said next. Ctrl-D leaves."
    yield "  A line that ends with \\ goes on on the next one; so does one with Esc and Enter in it."


def _run_clear(talk: CommandHost, _words: str) -> Iterator[str]:
    before = talk.loop.record.session_id
    talk.clear()
    yield f"A new session begins. The one before stays: /resume {before}"


def _run_compact(talk: CommandHost, words: str) -> Iterator[str]:
    if not talk.loop.conversation.messages:
        yield "Nothing was said yet."
    elif talk.compact(words):
        _record_command(talk.loop, "compact", words, "Compacted")
    else:
        yield "The conversation stays as it was."


def _run_resume(talk: CommandHost, words: str) -> Iterator[str]:
    if not talk.resume(words):
        yield "The session goes on as it was."


def _run_model(talk: CommandHost, words: str) -> Iterator[str]:
    setup = talk.loop.setup
    if not words:
        short = ", ".join(f"{name} ({model})" for name, model in setup.aliases.items())
        yield f"The model is {to_visible_line(setup.name)}. /model NAME takes another one: {short}, or any other name."
        return
    setup.name = setup.aliases.get(words, words)
    said = f"Set model to {setup.name}"
    _record_command(talk.loop, "model", words, said)
    yield to_visible_line(said)


def _run_cost(talk: CommandHost, _words: str) -> Iterator[str]:
    spent = talk.loop.spent
    yield (
        f"{format_cost_usd(spent.dollars)} at list prices, {format_count(spent.requests, 'request')}, "
        f"{format_duration(round(spent.milliseconds))} of the model's time. Counted since this client took the "
        f"session up."
    )
    for name, used in spent.models.items():
        tokens = used.tokens
        yield (
            f"  {to_visible_line(name)}: {tokens.input:,} in, {tokens.output:,} out, {tokens.cache_read:,} read "
            f"from cache, "
            f"{tokens.cache_write_5m + tokens.cache_write_1h:,} written to it · {format_cost_usd(used.dollars)}"
        )


def _run_context(talk: CommandHost, words: str) -> Iterator[str]:
    if words == "--raw":
        body = json.dumps(talk.loop.encode_next_request(), ensure_ascii=False, indent=2, default=str)
        yield from (make_visible(part) for part in body.split("\n"))
        return
    found = talk.loop.measure_context()
    share = 100 * found.used / found.window if found.window else 0
    yield f"{format_thousands(found.used)} of {format_thousands(found.window)} tokens ({share:.0f} %)"
    wide = max((len(name) for name, _ in found.parts), default=0)
    for name, tokens in sorted(found.parts, key=lambda part: -part[1]):
        yield f"  {to_visible_line(name):<{wide}}  {format_thousands(tokens):>7}"
    how = "The sum was counted by the API; the parts are" if found.is_exact else "All of it is"
    yield f"{how} estimated from the length of texts. /context --raw prints the next request as it would be sent."


def _run_exit(talk: CommandHost, _words: str) -> Iterator[str]:
    talk.leave()
    return iter(())


def _record_command(loop: AgentLoop, name: str, words: str, said: str) -> None:
    """Write a command into the session so that the model knows of it, too."""
    loop.record.write_local_command(name, words, said)
    for text in (
        written.LOCAL_COMMAND_CAVEAT,
        written.format_command(name, words),
        written.format_command_output(said),
    ):
        loop.conversation.add_user_content(text)


SLASH_COMMANDS: dict[str, SlashCommand] = {
    "help": SlashCommand("list the commands", _run_help),
    "clear": SlashCommand("begin a new session; this one stays as it is", _run_clear),
    "compact": SlashCommand("replace the conversation by a summary", _run_compact, "[INSTRUCTIONS]"),
    "resume": SlashCommand("take up another session", _run_resume, "[ID]"),
    "model": SlashCommand("show or change the model", _run_model, "[NAME]"),
    "cost": SlashCommand("what this session has cost so far", _run_cost),
    "context": SlashCommand("what fills the window; --raw: the very next request", _run_context, "[--raw]"),
    "exit": SlashCommand("leave", _run_exit),
}
PRINTABLE_COMMANDS = ("compact", "context", "cost", "help", "model")
"""Commands that make sense in print mode, where nobody waits for the next prompt."""
UNRECORDED_COMMANDS = frozenset({"clear", "resume", "exit", "model", "compact"})
"""Commands that leave no remark in the session: they write for themselves, or are not about it."""
