"""A conversation at a terminal, from the command line: trust, the choice of a session, and an orderly end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial

from turnlog.agent.console.answer import answered
from turnlog.agent.console.console import Console
from turnlog.agent.console.keyboard import Keyboard, is_dumb
from turnlog.agent.console.picker import choose
from turnlog.agent.console.screen import Screen
from turnlog.agent.permissions.trust import trust
from turnlog.agent.start import Starting, Wishes
from turnlog.agent.unsupported import Unsupported
from turnlog.cli import config, terminal
from turnlog.cli.chat.chatting import ENDS
from turnlog.errors import UsageError
from turnlog.render.terminal import visible


def talked(starting: Starting, wishes: Wishes, first: str | None) -> int:
    """Talk until the person leaves; the exit status."""
    if sys.stdin is None or not sys.stdin.isatty() or sys.stdout is None or not sys.stdout.isatty():
        raise UsageError("a conversation needs a terminal; `turnlog -p PROMPT` answers without one")
    look, measure = terminal.screen(config.load().color), lambda: shutil.get_terminal_size().columns
    screen = Screen(_terminal_write, look, measure, is_dumb=is_dumb())
    keyboard = Keyboard(starting.data / "chat_history")
    with contextlib.closing(keyboard):
        ask = partial(answered, keyboard, screen)
        if not _trusts(starting, screen, ask):
            return 1
        if not wishes.ignores_hooks and (guards := starting.missing_guards(wishes)):
            if not _goes_without(guards, screen, ask):
                return 1
            wishes = wishes._replace(ignores_hooks=True)
        if wishes.resume == "":
            chosen = choose(starting, ask, screen)
            if chosen is None:
                return 0
            wishes = wishes._replace(resume=chosen)
        console = Console(starting, wishes, screen, keyboard)
        _end_with(console.close)
        return console.run(first)


def _end_with(close: Callable[[], None]) -> None:
    """When the program is told to end, let go of everything first: what runs in the background ends, too."""
    if os.name == "nt":
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def wait() -> None:
        while (number := os.read(reader, 1)[0]) not in ENDS:
            pass
        close()
        os._exit(128 + number)

    # Another thread does it: the main one may wait in the line editor, which a signal does not always wake.
    for number in ENDS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=wait, name="end", daemon=True).start()


def _goes_without(guards: Sequence[Unsupported], screen: Screen, ask: Callable[[str], str | None]) -> bool:
    """Whether the person goes on without hooks that would guard the session; asked at every start."""
    screen.say("These guard your sessions in Claude Code, and turnlog does not run them:")
    screen.say(*(f"  {visible(str(guard))}" for guard in guards))
    said = ask("  y: go on without them   n: leave   [y/n] ")
    return said is not None and said.strip().lower() in ("y", "yes")


def _terminal_write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _trusts(starting: Starting, screen: Screen, ask: Callable[[str], str | None]) -> bool:
    """Whether the person trusts the folder; asked once for each."""
    if starting.is_trusted:
        return True
    screen.say(
        f"You begin to work in {visible(str(starting.cwd))}.",
        "Its settings, instructions and files will be read, and may lead the model to act. Do you trust it?",
    )
    said = ask("  y: I trust this folder   n: leave   [y/n] ")
    if said is None or said.strip().lower() not in ("y", "yes"):
        return False
    trust(starting.cwd, starting.config_dir)
    return True
