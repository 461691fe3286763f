"""A conversation with a model, from the command line: in print mode, or at the console."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.agent.start import Starting, Wishes
    from turnlog.model.cancel import Cancel

_LARGEST = 64 << 20
_SILENCE = 3
_ENDS = [signal.Signals[name] for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What tells a program to end: somebody, or a terminal that is closed."""


def chatted(said: Mapping[str, Any]) -> int:
    """Do what the words of `turnlog chat` say; the exit status."""
    from turnlog.agent.start import Starting
    from turnlog.cli.config import data_dir

    starting = Starting(Path(os.path.realpath(Path.cwd())), data_dir())
    wishes = _wishes(said)
    if said.get("is_printed"):
        return _printed(starting, wishes, said)
    if said.get("form") or said.get("partial"):
        raise UsageError("--output-format and --include-partial-messages need -p")
    return _talked(starting, wishes, said)


def _wishes(said: Mapping[str, Any]) -> Wishes:
    from turnlog.agent.start import Wishes

    given = {name: said[name] for name in Wishes._fields if said.get(name) is not None}
    if said.get("is_bypassed"):
        if said.get("mode") not in (None, "bypassPermissions"):
            raise UsageError("--dangerously-skip-permissions and --permission-mode contradict each other")
        given["mode"] = "bypassPermissions"
    if given.get("is_continued") and given.get("resume") is not None:
        raise UsageError("--continue and --resume contradict each other")
    takes_up = given.get("is_continued") or given.get("resume") is not None
    if given.get("is_forked") and not takes_up:
        raise UsageError("--fork-session needs --continue or --resume")
    if given.get("session_id") and takes_up and not given.get("is_forked"):
        raise UsageError("--session-id names a new session; with --continue or --resume it needs --fork-session")
    return Wishes(**given)


# -- print mode


def _printed(starting: Starting, wishes: Wishes, said: Mapping[str, Any]) -> int:
    from turnlog.agent.person import Nobody
    from turnlog.agent.printing import Printing
    from turnlog.model.cancel import Cancel

    prompt = _prompt(said.get("prompt"))
    if wishes.resume == "":
        raise UsageError("--resume needs the id of a session in print mode; --continue takes the newest")
    printing = Printing(said.get("form") or "text", _write_json, _write_text, partial=bool(said.get("partial")))
    begun = starting.begin(wishes, printing.watch, Nobody())
    try:
        for warning in begun.warnings:
            _remark(warning)
        cancel = Cancel()
        with _interrupting(cancel):
            printing.begin(begun.loop, starting.key_source)
            return printing.end(begun.loop, begun.loop.turn(prompt, cancel, typed=False))
    finally:
        begun.close()


def _prompt(given: str | None) -> str:
    """What is asked: the argument, and what comes through a pipe behind it."""
    parts = [given or "", _piped() if _is_piped(waits=not given) else ""]
    prompt = "\n".join(part for part in parts if part)
    if not prompt.strip():
        raise UsageError("print mode needs a prompt: as an argument, or on standard input")
    return prompt


def _is_piped(*, waits: bool) -> bool:
    """Whether something comes through standard input; beside a prompt, a pipe that stays silent is left alone."""
    if sys.stdin is None or sys.stdin.isatty():
        return False
    if waits or os.name == "nt":
        return True
    import select

    if not select.select([sys.stdin], [], [], _SILENCE)[0]:
        _remark(f"standard input said nothing for {_SILENCE} seconds and is left out; `< /dev/null` saves the wait")
        return False
    return True


def _piped() -> str:
    raw = sys.stdin.buffer.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise UsageError(f"standard input holds more than {_LARGEST >> 20} MB")
    return raw.decode("utf-8", "replace")


def _write_json(value: dict[str, Any]) -> None:
    from turnlog.render.encoding import encoded

    if sys.stdout is None:
        return
    if sys.stdout.isatty():
        import json

        sys.stdout.write(json.dumps(value, default=str) + "\n")
    else:
        sys.stdout.buffer.write(encoded(value) + b"\n")
    sys.stdout.flush()


def _write_text(text: str) -> None:
    if sys.stdout is None:
        return
    if sys.stdout.isatty():
        from turnlog.render.terminal import lines

        text = "\n".join(lines(text))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _remark(text: str) -> None:
    from turnlog.render.terminal import line

    if sys.stderr is not None:
        sys.stderr.write(f"turnlog: {line(text)}\n")


@contextlib.contextmanager
def _interrupting(cancel: Cancel) -> Iterator[None]:
    """Let Ctrl-C and the end of the process take the turn back; the second time they end the program."""

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, before[signal.Signals(number)])
        # Not here: the thread that is interrupted may hold what this needs.
        threading.Thread(target=cancel.set).start()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, *_ENDS)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# -- the console


def _talked(starting: Starting, wishes: Wishes, said: Mapping[str, Any]) -> int:
    if sys.stdin is None or not sys.stdin.isatty() or sys.stdout is None or not sys.stdout.isatty():
        raise UsageError("a conversation needs a terminal; `turnlog -p PROMPT` answers without one")
    from turnlog.agent.console.console import Console, pick_one
    from turnlog.agent.console.keyboard import Keyboard
    from turnlog.agent.console.screen import Screen
    from turnlog.cli import config, terminal

    screen = Screen(_terminal_write, terminal.screen(config.load().color))
    keyboard = Keyboard(starting.data / "chat_history")
    if not _trusts(starting, screen, keyboard):
        return 1
    if wishes.resume == "":
        chosen = pick_one(starting, lambda hint: _line(keyboard, hint), screen)
        if chosen is None:
            return 0
        wishes = wishes._replace(resume=chosen)
    console = Console(starting, wishes, screen, keyboard)
    _end_with(console.close)
    return console.run(said.get("prompt"))


def _end_with(close: Callable[[], None]) -> None:
    """When the program is told to end, let go of everything first: what runs in the background ends, too."""
    if os.name == "nt":
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def wait() -> None:
        while (number := os.read(reader, 1)[0]) not in _ENDS:
            pass
        close()
        os._exit(128 + number)

    # Another thread does it: the main one may wait in the line editor, which a signal does not always wake.
    for number in _ENDS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=wait, name="end", daemon=True).start()


def _terminal_write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _line(keyboard: Any, hint: str) -> str | None:
    try:
        return str(keyboard.line(hint))
    except (EOFError, KeyboardInterrupt):
        return None


def _trusts(starting: Starting, screen: Any, keyboard: Any) -> bool:
    """Whether the person trusts the folder; asked once for each."""
    if starting.is_trusted:
        return True
    from turnlog.agent.permissions.trust import trust
    from turnlog.render.terminal import visible

    screen.say(
        f"You begin to work in {visible(str(starting.cwd))}.",
        "Its settings, instructions and files will be read, and may lead the model to act. Do you trust it?",
    )
    said = _line(keyboard, "  y: I trust this folder   n: leave   [y/n] ")
    if said is None or said.strip().lower() not in ("y", "yes"):
        return False
    trust(starting.cwd, starting.config_dir)
    return True
