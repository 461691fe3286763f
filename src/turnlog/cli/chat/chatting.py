"""A conversation with a model, from the command line: in print mode, or at the console."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.errors import TurnlogError, UsageError

if TYPE_CHECKING:
    from turnlog.agent.events import Event
    from turnlog.agent.loop import Loop, Watch
    from turnlog.agent.printing.printing import Printing
    from turnlog.agent.start import Starting, Wishes
    from turnlog.model.cancel import Cancel

_LARGEST = 64 << 20
_SILENCE = 3
ENDS = [signal.Signals[name] for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What tells a program to end: somebody, or a terminal that is closed."""


def chatted(said: Mapping[str, Any]) -> int:
    """Do what the words of `turnlog chat` say; the exit status."""
    from turnlog.agent.key_shield import shield_keys
    from turnlog.agent.start import Starting
    from turnlog.cli.config import data_dir

    shield_keys(os.environ, (text for text in said.get("settings") or () if text.lstrip().startswith("{")))
    try:
        cwd = Path(os.path.realpath(Path.cwd()))
    except FileNotFoundError:
        raise TurnlogError("the folder that this runs in is gone") from None
    starting = Starting(cwd, data_dir())
    wishes = _wishes(said)
    # Programs that give prompts as lines of JSON leave the word for print mode out.
    if said.get("is_printed") or said.get("input_form") == "stream-json":
        return _printed(starting, wishes, said)
    if any(said.get(name) for name in ("form", "partial", "input_form", "is_replayed", "asked")):
        raise UsageError("--output-format, --input-format and what belongs to them need -p")
    from turnlog.cli.chat.console import talked

    return talked(starting, wishes, said.get("prompt"))


def _wishes(said: Mapping[str, Any]) -> Wishes:
    from turnlog.agent.start import Wishes

    given = {name: said[name] for name in Wishes._fields if said.get(name) is not None}
    if said.get("is_bypassed"):
        if said.get("mode") not in (None, "bypassPermissions"):
            raise UsageError("--dangerously-skip-permissions and --permission-mode contradict each other")
        given["mode"] = "bypassPermissions"
    if given.get("is_continued") and given.get("resume") is not None:
        raise UsageError("--continue and --resume contradict each other")
    if not isfinite(given.get("dollars", 0)):
        raise UsageError("--max-budget-usd must be a number of dollars")
    takes_up = given.get("is_continued") or given.get("resume") is not None
    if given.get("is_forked") and not takes_up:
        raise UsageError("--fork-session needs --continue or --resume")
    if given.get("session_id") and takes_up and not given.get("is_forked"):
        raise UsageError("--session-id names a new session; with --continue or --resume it needs --fork-session")
    return Wishes(**given)


# -- print mode


def _printed(starting: Starting, wishes: Wishes, said: Mapping[str, Any]) -> int:
    from turnlog.agent.printing.printing import Printing

    is_fed = _is_fed(said)
    prompt = None if is_fed else _prompt(said.get("prompt"))
    if wishes.resume == "":
        raise UsageError("--resume needs the id of a session in print mode; --continue takes the newest")
    printing = Printing(said.get("form") or "text", _write_json, _write_text, partial=bool(said.get("partial")))
    try:
        return _fed(starting, wishes, said, printing) if prompt is None else _once(starting, wishes, prompt, printing)
    except TurnlogError as error:
        printing.broken(str(error))
        raise


def _once(starting: Starting, wishes: Wishes, prompt: str, printing: Printing) -> int:
    """Take one prompt; the exit status."""
    from turnlog.agent.person import Nobody
    from turnlog.model.cancel import Cancel

    with contextlib.closing(starting.begin(wishes, _watching(printing), Nobody())) as begun:
        _remark(*begun.warnings)
        with _interrupting(cancel := Cancel()) as heard:
            printing.begin(begun.loop, starting.key_source)
            return _status(_taken(begun.loop, printing, prompt, cancel), heard)


def _taken(loop: Loop, printing: Printing, prompt: Any, cancel: Cancel) -> int:
    """Take one prompt, or a command of the client; the exit status."""
    text = _only_text(prompt)
    if text.startswith("/"):
        from turnlog.agent.console.slash import printed
        from turnlog.agent.events import TurnEnded
        from turnlog.model.failures import ModelError

        began = time.monotonic()
        try:
            told = printed(loop, text, cancel)
        except ModelError as error:
            return printing.end(loop, TurnEnded("error", f"API Error: {error}", 0, 0))
        if told is not None:
            return printing.command(loop, *told, round((time.monotonic() - began) * 1000))
    return printing.end(loop, loop.turn(prompt, cancel, typed=False))


def _only_text(prompt: Any) -> str:
    """The text of a prompt that is nothing but a text; programs may send it as a block."""
    if isinstance(prompt, list) and len(prompt) == 1 and prompt[0].get("type") == "text":
        prompt = prompt[0].get("text")
    return prompt if isinstance(prompt, str) else ""


def _watching(printing: Printing) -> Watch:
    """Have a turn told; what a person should know, as that a busy server is asked again, on standard error, too."""
    from turnlog.agent.events import Warned

    def watch(event: Event) -> None:
        if isinstance(event, Warned):
            _remark(event.text)
        printing.watch(event)

    return watch


def _is_fed(said: Mapping[str, Any]) -> bool:
    """Whether the prompts come as lines of JSON; refuses words that don't go together."""
    is_fed = said.get("input_form") == "stream-json"
    if is_fed and said.get("form") != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json")
    if not is_fed and (said.get("is_replayed") or said.get("asked")):
        raise UsageError("--replay-user-messages and --permission-prompt-tool need --input-format stream-json")
    if said.get("partial") and said.get("form") != "stream-json":
        raise UsageError("--include-partial-messages needs --output-format stream-json")
    if is_fed and said.get("prompt"):
        raise UsageError("with --input-format stream-json the prompts come on standard input, not as an argument")
    return is_fed


def _fed(starting: Starting, wishes: Wishes, said: Mapping[str, Any], printing: Printing) -> int:
    """Take prompts until there are no more; the exit status of the last."""
    from turnlog.agent.briefing.planning import Planning
    from turnlog.agent.person import Nobody
    from turnlog.agent.printing.feed import Feed
    from turnlog.agent.printing.program import Program

    program, status = Program(_write_json) if said.get("asked") else None, 0
    with contextlib.closing(starting.begin(wishes, _watching(printing), program or Nobody())) as begun:
        _remark(*begun.warnings)
        planning = Planning(begun.loop)  # before the first line, which may change the mode, is read
        feed = Feed(begun.loop, sys.stdin.buffer, _write_json, program, ignores_hooks=wishes.ignores_hooks)
        while (message := feed.next()) is not None:
            with _interrupting(cancel := feed.cancel()) as heard:
                printing.begin(begun.loop, starting.key_source)
                if said.get("is_replayed"):
                    printing.replay(*message)
                planning.tell()
                try:
                    status = _taken(begun.loop, printing, message.content, cancel)
                except UsageError as error:  # of this message; the next one may be better
                    printing.broken(str(error))
                    status = error.exit_status
                planning.heard()
            if heard:
                return _status(status, heard)
    return status


def _status(ended: int, heard: list[int]) -> int:
    """The exit status of a turn; who was told to end says so, as shells expect it."""
    return next((128 + number for number in heard if number in ENDS), ended)


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


def _remark(*texts: str) -> None:
    if texts and sys.stderr is not None:
        from turnlog.render.terminal import line

        sys.stderr.write("".join(f"turnlog: {line(text)}\n" for text in texts))


@contextlib.contextmanager
def _interrupting(cancel: Cancel) -> Iterator[list[int]]:
    """Let Ctrl-C and the end of the process take the turn back; the second time they end the program.

    Gives the signals that came.
    """
    heard: list[int] = []

    def stop(number: int, _frame: object) -> None:
        heard.append(number)
        signal.signal(number, before[signal.Signals(number)])
        # Not here: the thread that is interrupted may hold what this needs.
        threading.Thread(target=cancel.set).start()

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as it is while the program starts
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, *ENDS)}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
