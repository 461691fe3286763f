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

from turnlog.agent.loop import Loop
from turnlog.agent.printing.printing import PRINTED
from turnlog.agent.record import lines as written
from turnlog.errors import UsageError
from turnlog.model.cancel import Cancel
from turnlog.render.figures import count, dollars, duration, thousands
from turnlog.render.terminal import line, visible


class Talk(Protocol):
    """What commands need of the console."""

    @property
    def loop(self) -> Loop:
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


class Command(NamedTuple):
    """One command."""

    help: str
    run: Callable[[Talk, str], Iterator[str]]
    words: str = ""
    """What it takes."""


def carried_out(talk: Talk, text: str) -> list[str] | None:
    """The lines that a command gives, which the session is told of; None if there is no such command."""
    name, words = _read(text)
    if name not in COMMANDS:
        return None
    told = list(COMMANDS[name].run(talk, words))
    if name not in SILENT and talk.loop.record.path.exists():
        talk.loop.record.local_command(name, words, "\n".join(told), is_sent=False)
    return told


def _read(text: str) -> tuple[str, str]:
    """The name of a command, and the words behind it."""
    name, *words = text.strip().removeprefix("/").split(maxsplit=1)
    return name, "".join(words)


def is_command(text: str) -> bool:
    """Whether a text is meant as a command: a slash and a name, as Claude Code reads it, and no path that exists."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return re.fullmatch(r"/[\w:-]+", first) is not None and not Path(first).exists()


class Printed(NamedTuple):
    """A session in print mode; what needs a person is not there."""

    loop: Loop
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


def printed(loop: Loop, text: str, cancel: Cancel) -> tuple[str, str] | None:
    """The name of a command that was given in print mode, and what it gives; None for what is a prompt there.

    A command that there is not raises UsageError: a model must not be sent the name of a command to make up the rest.
    """
    if not is_command(text):
        return None
    name = _read(text)[0]
    if name not in PRINTED:
        why = "is not available in print mode" if name in COMMANDS else "no such command"
        further = "" if name in COMMANDS else "; .claude/commands and skills are not supported"
        raise UsageError(f"/{name}: {why}{further}. Begin with a space to send it as text; /help lists the commands")
    return name, "\n".join(carried_out(Printed(loop, cancel), text) or ())


def unknown(text: str) -> str:
    """What is said to a command that there is not."""
    name = text.split(maxsplit=1)[0]
    return f"{line(name)}: there is no such command; /help lists them"


def _help(_talk: Talk, _words: str) -> Iterator[str]:
    for name, command in COMMANDS.items():
        yield f"  /{f'{name} {command.words}'.strip():<24} {command.help}"
    yield f"  {'!COMMAND':<25} run a command yourself; the model sees what came of it"
    yield "  Shift-Tab changes what is asked before a call: default, acceptEdits, plan."
    yield "  Esc or Ctrl-C interrupts a turn; what is typed meanwhile is said next. Ctrl-D leaves."
    yield "  A line that ends with \\ goes on on the next one; so does one with Esc and Enter in it."


def _clear(talk: Talk, _words: str) -> Iterator[str]:
    before = talk.loop.record.session_id
    talk.clear()
    yield f"A new session begins. The one before stays: /resume {before}"


def _compact(talk: Talk, words: str) -> Iterator[str]:
    if not talk.loop.conversation.messages:
        yield "Nothing was said yet."
    elif talk.compact(words):
        _tell(talk.loop, "compact", words, "Compacted")
    else:
        yield "The conversation stays as it was."


def _resume(talk: Talk, words: str) -> Iterator[str]:
    if not talk.resume(words):
        yield "The session goes on as it was."


def _model(talk: Talk, words: str) -> Iterator[str]:
    setup = talk.loop.setup
    if not words:
        short = ", ".join(f"{name} ({model})" for name, model in setup.aliases.items())
        yield f"The model is {line(setup.name)}. /model NAME takes another one: {short}, or any other name."
        return
    setup.name = setup.aliases.get(words, words)
    said = f"Set model to {setup.name}"
    _tell(talk.loop, "model", words, said)
    yield line(said)


def _cost(talk: Talk, _words: str) -> Iterator[str]:
    spent = talk.loop.spent
    yield (
        f"{dollars(spent.dollars)} at list prices, {count(spent.requests, 'request')}, "
        f"{duration(round(spent.milliseconds))} of the model's time. Counted since this client took the session up."
    )
    for name, used in spent.models.items():
        tokens = used.tokens
        yield (
            f"  {line(name)}: {tokens.input:,} in, {tokens.output:,} out, {tokens.cache_read:,} read from cache, "
            f"{tokens.cache_write_5m + tokens.cache_write_1h:,} written to it · {dollars(used.dollars)}"
        )


def _context(talk: Talk, words: str) -> Iterator[str]:
    if words == "--raw":
        body = json.dumps(talk.loop.sent(), ensure_ascii=False, indent=2, default=str)
        yield from (visible(part) for part in body.split("\n"))
        return
    found = talk.loop.context()
    share = 100 * found.used / found.window if found.window else 0
    yield f"{thousands(found.used)} of {thousands(found.window)} tokens ({share:.0f} %)"
    wide = max((len(name) for name, _ in found.parts), default=0)
    for name, tokens in sorted(found.parts, key=lambda part: -part[1]):
        yield f"  {line(name):<{wide}}  {thousands(tokens):>7}"
    how = "The sum was counted by the API; the parts are" if found.is_exact else "All of it is"
    yield f"{how} estimated from the length of texts. /context --raw prints the next request as it would be sent."


def _exit(talk: Talk, _words: str) -> Iterator[str]:
    talk.leave()
    return iter(())


def _tell(loop: Loop, name: str, words: str, said: str) -> None:
    """Write a command into the session so that the model knows of it, too."""
    loop.record.local_command(name, words, said)
    for text in (written.CAVEAT, written.command(name, words), written.stdout(said)):
        loop.conversation.said(text)


COMMANDS: dict[str, Command] = {
    "help": Command("list the commands", _help),
    "clear": Command("begin a new session; this one stays as it is", _clear),
    "compact": Command("replace the conversation by a summary", _compact, "[INSTRUCTIONS]"),
    "resume": Command("take up another session", _resume, "[ID]"),
    "model": Command("show or change the model", _model, "[NAME]"),
    "cost": Command("what this session has cost so far", _cost),
    "context": Command("what fills the window; --raw: the very next request", _context, "[--raw]"),
    "exit": Command("leave", _exit),
}
SILENT = frozenset({"clear", "resume", "exit", "model", "compact"})
"""Commands that leave no remark in the session: they write for themselves, or are not about it."""
