"""Runs a conversation with a model from the command line, in print mode or at the console."""

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
    from turnlog.agent.events import TurnEvent
    from turnlog.agent.loop import AgentLoop, EventWatcher
    from turnlog.agent.print_mode.turn_printer import TurnPrinter
    from turnlog.agent.session_starter import SessionStarter, StartOptions
    from turnlog.model.cancel import Cancel

_MAX_STDIN_BYTES = 64 << 20
_STDIN_WAIT_SECONDS = 3
END_SIGNALS = [signal.Signals[name] for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end the program: sent by a user, or by a terminal that closes."""


def run_chat(said: Mapping[str, Any]) -> int:
    """Run `turnlog chat` and return the exit status."""
    from turnlog.agent.key_shield import shield_keys
    from turnlog.agent.session_starter import SessionStarter
    from turnlog.api.config import data_dir

    shield_keys(os.environ, (text for text in said.get("settings") or () if text.lstrip().startswith("{")))
    try:
        cwd = Path(os.path.realpath(Path.cwd()))
    except FileNotFoundError:
        raise TurnlogError("the current folder no longer exists") from None
    starting = SessionStarter(cwd, data_dir())
    wishes = _build_start_options(said)
    # Programs that send prompts as lines of JSON omit -p.
    if said.get("is_printed") or said.get("input_form") == "stream-json":
        return _run_print_mode(starting, wishes, said)
    if any(said.get(name) for name in ("form", "partial", "input_form", "is_replayed", "asked")):
        raise UsageError("--output-format, --input-format and related options require -p")
    from turnlog.cli.chat.console import run_chat_console

    return run_chat_console(starting, wishes, said.get("prompt"), END_SIGNALS)


def _build_start_options(said: Mapping[str, Any]) -> StartOptions:
    from turnlog.agent.session_starter import StartOptions

    given = {name: said[name] for name in StartOptions._fields if said.get(name) is not None}
    for name, flag in (("system_prompt", "--system-prompt"), ("appended_prompt", "--append-system-prompt")):
        if path := said.get(f"{name}_file"):
            if name in given:
                raise UsageError(f"use {flag} or {flag}-file, not both")
            given[name] = _read_text_file(path, f"{flag}-file")
    if said.get("is_bypassed"):
        if said.get("mode") not in (None, "bypassPermissions"):
            raise UsageError("use --dangerously-skip-permissions or --permission-mode, not both")
        given["mode"] = "bypassPermissions"
    if given.get("is_continued") and given.get("resume") is not None:
        raise UsageError("use --continue or --resume, not both")
    if not isfinite(given.get("dollars", 0)):
        raise UsageError("--max-budget-usd must be a finite number of dollars")
    takes_up = given.get("is_continued") or given.get("resume") is not None
    if given.get("is_forked") and not takes_up:
        raise UsageError("--fork-session requires --continue or --resume")
    if given.get("session_id") and takes_up and not given.get("is_forked"):
        raise UsageError(
            "--session-id sets the id of a new session; to use it with --continue or --resume, add --fork-session"
        )
    if given.get("leaf") and given.get("resume") is None:
        raise UsageError("--resume-session-at requires --resume")
    given["copies_files"] = os.environ.get("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "").lower() in ("1", "true")
    return StartOptions(**given)


def _read_text_file(name: str, flag: str) -> str:
    try:
        return Path(name).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{flag} {name}: {reason}") from None


# -- print mode


def _run_print_mode(starting: SessionStarter, wishes: StartOptions, said: Mapping[str, Any]) -> int:
    from turnlog.agent.print_mode.turn_printer import TurnPrinter

    is_fed = _has_prompt_stream(said)
    prompt = None if is_fed else _read_prompt(said.get("prompt"))
    if wishes.resume == "":
        raise UsageError("in print mode, --resume requires a session id; use --continue to resume the newest session")
    printing = TurnPrinter(said.get("form") or "text", _write_json, _write_text, partial=bool(said.get("partial")))
    try:
        return (
            _run_prompt_stream(starting, wishes, said, printing)
            if prompt is None
            else _run_one_prompt(starting, wishes, prompt, printing)
        )
    except TurnlogError as error:
        printing.print_failure(str(error))
        raise


def _run_one_prompt(starting: SessionStarter, wishes: StartOptions, prompt: str, printing: TurnPrinter) -> int:
    """Answer one prompt and return the exit status."""
    from turnlog.agent.person import Nobody
    from turnlog.model.cancel import Cancel

    with contextlib.closing(starting.begin_session(wishes, _build_watcher(printing), Nobody())) as begun:
        _print_remarks(*begun.warnings)
        with _catch_interrupts(cancel := Cancel()) as heard:
            printing.begin_turn(begun.loop, starting.key_source)
            return _choose_exit_status(_run_prompt(begun.loop, printing, prompt, cancel), heard)


def _run_prompt(loop: AgentLoop, printing: TurnPrinter, prompt: Any, cancel: Cancel, uuid: str | None = None) -> int:
    """Answer one prompt or slash command and return the exit status."""
    text = _read_plain_text(prompt)
    if text.startswith("/"):
        from turnlog.agent.events import TurnEnded
        from turnlog.agent.slash_commands import run_printed_command
        from turnlog.model.failures import ModelError

        began = time.monotonic()
        try:
            told = run_printed_command(loop, text, cancel)
        except ModelError as error:
            return printing.end_turn(loop, TurnEnded("error", f"API Error: {error}", 0, 0))
        if told is not None:
            return printing.print_command_result(loop, *told, round((time.monotonic() - began) * 1000))
    return printing.end_turn(loop, loop.run_turn(prompt, cancel, typed=False, uuid=uuid))


def _read_plain_text(prompt: Any) -> str:
    """Return the text of a text-only prompt, which programs may send as a block."""
    if isinstance(prompt, list) and len(prompt) == 1 and prompt[0].get("type") == "text":
        prompt = prompt[0].get("text")
    return prompt if isinstance(prompt, str) else ""


def _build_watcher(printing: TurnPrinter) -> EventWatcher:
    """Build a watcher that prints a turn; notices for people, such as retries, also go to standard error."""
    from turnlog.agent.events import HookMessage, WarningIssued

    def watch(event: TurnEvent) -> None:
        if isinstance(event, WarningIssued) or (
            isinstance(event, HookMessage) and event.level == "warning" and not event.details
        ):
            _print_remarks(event.text)
        printing.watch(event)

    return watch


def _has_prompt_stream(said: Mapping[str, Any]) -> bool:
    """Return whether prompts arrive as lines of JSON; raise an error if options contradict each other."""
    is_fed = said.get("input_form") == "stream-json"
    if is_fed and said.get("form") != "stream-json":
        raise UsageError("--input-format stream-json requires --output-format stream-json")
    if not is_fed and (said.get("is_replayed") or said.get("asked")):
        raise UsageError("--replay-user-messages and --permission-prompt-tool require --input-format stream-json")
    if said.get("partial") and said.get("form") != "stream-json":
        raise UsageError("--include-partial-messages requires --output-format stream-json")
    if is_fed and said.get("prompt"):
        raise UsageError("with --input-format stream-json, send prompts on standard input, not as an argument")
    return is_fed


def _run_prompt_stream(
    starting: SessionStarter, wishes: StartOptions, said: Mapping[str, Any], printing: TurnPrinter
) -> int:
    """Answer prompts until the input ends, and return the exit status of the last one."""
    from turnlog.agent.briefing.plan_mode import PlanModeTracker
    from turnlog.agent.person import Nobody
    from turnlog.agent.print_mode.control_channel import ControlChannel
    from turnlog.agent.print_mode.program_person import ProgramPerson
    from turnlog.agent.print_mode.prompt_feed import PromptFeed

    channel, status = ControlChannel(_write_json), 0
    program = ProgramPerson(channel) if said.get("asked") else None
    with contextlib.closing(starting.begin_session(wishes, _build_watcher(printing), program or Nobody())) as begun:
        _print_remarks(*begun.warnings)
        planning = PlanModeTracker(begun.loop)  # before reading the first line, which may change the mode
        feed = PromptFeed(begun.loop, sys.stdin.buffer, _write_json, channel, ignores_hooks=wishes.ignores_hooks)
        while (message := feed.next_message()) is not None:
            feed.connect_servers()
            with _catch_interrupts(cancel := feed.create_cancel()) as heard:
                printing.begin_turn(begun.loop, starting.key_source)
                if said.get("is_replayed"):
                    printing.replay_message(*message)
                planning.announce_change()
                try:
                    status = _run_prompt(begun.loop, printing, message.content, cancel, message.uuid)
                except UsageError as error:  # only this message is invalid; the next one may be fine
                    printing.print_failure(str(error))
                    status = error.exit_status
                planning.update_after_turn()
            if heard:
                return _choose_exit_status(status, heard)
    return status


def _choose_exit_status(ended: int, heard: list[int]) -> int:
    """Return the exit status of a turn; after a signal, return the status that shells expect."""
    return next((128 + number for number in heard if number in END_SIGNALS), ended)


def _read_prompt(given: str | None) -> str:
    """Return the prompt: the argument, followed by piped input."""
    parts = [given or "", _read_piped_input() if _has_piped_input(waits=not given) else ""]
    prompt = "\n".join(part for part in parts if part)
    if not prompt.strip():
        raise UsageError("print mode requires a prompt as an argument or on standard input")
    return prompt


def _has_piped_input(*, waits: bool) -> bool:
    """Return whether standard input has data to read; a silent pipe is ignored if there is a prompt."""
    if sys.stdin is None or sys.stdin.isatty():
        return False
    if waits or os.name == "nt":
        return True
    import select

    if not select.select([sys.stdin], [], [], _STDIN_WAIT_SECONDS)[0]:
        _print_remarks(
            f"standard input was ignored because nothing arrived within {_STDIN_WAIT_SECONDS} seconds;"
            " to avoid the wait, add `< /dev/null`"
        )
        return False
    return True


def _read_piped_input() -> str:
    raw = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(raw) > _MAX_STDIN_BYTES:
        raise UsageError(f"standard input is larger than the limit of {_MAX_STDIN_BYTES >> 20} MB")
    return raw.decode("utf-8", "replace")


def _write_json(value: dict[str, Any]) -> None:
    from turnlog.render.json_bytes import to_json_bytes

    if sys.stdout is None:
        return
    if sys.stdout.isatty():
        import json

        sys.stdout.write(json.dumps(value, default=str) + "\n")
    else:
        sys.stdout.buffer.write(to_json_bytes(value) + b"\n")
    sys.stdout.flush()


def _write_text(text: str) -> None:
    if sys.stdout is None:
        return
    if sys.stdout.isatty():
        from turnlog.render.terminal import to_visible_lines

        text = "\n".join(to_visible_lines(text))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _print_remarks(*texts: str) -> None:
    if texts and sys.stderr is not None:
        from turnlog.render.terminal import to_visible_line

        sys.stderr.write("".join(f"turnlog: {to_visible_line(text)}\n" for text in texts))


@contextlib.contextmanager
def _catch_interrupts(cancel: Cancel) -> Iterator[list[int]]:
    """Make the first Ctrl-C or SIGTERM cancel the turn, and the second one end the program.

    Yield the list of received signals.
    """
    heard: list[int] = []

    def stop(number: int, _frame: object) -> None:
        heard.append(number)
        signal.signal(number, before[signal.Signals(number)])
        # Not in the handler: the interrupted thread may hold a lock that this needs.
        threading.Thread(target=cancel.set).start()

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # the same handler as during startup
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, *END_SIGNALS)}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
