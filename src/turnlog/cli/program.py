"""One run of the program: arguments in, exit status out, and every failure reported in one line.

    0     done
    1     turnlog.errors.TurnlogError, a file that can't be read or written, or a bug in turnlog
    2     invalid arguments
    130   interrupted from the keyboard
    141   the reader of the output closed it

TURNLOG_DEBUG=1 adds a traceback.
"""

from __future__ import annotations

import errno
import os
import sys

import click

from turnlog.cli.group import turnlog
from turnlog.cli.progress import show_work
from turnlog.cli.startup import prepare_run
from turnlog.cli.table import COMPLETION_VARIABLE, DEFAULT_COMMAND, PIPED_COMMAND
from turnlog.cli.terminal import is_on_terminal
from turnlog.errors import TurnlogError

INTERRUPTED_STATUS = 130
PIPE_CLOSED_STATUS = 141


def run_program(words: list[str]) -> int:
    """Run one command and return the exit status."""
    try:
        prepare_run(words)
        with show_work():
            status = _invoke_command(words or [DEFAULT_COMMAND if is_on_terminal() else PIPED_COMMAND])
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the last door: what passes it is a traceback
        return report_failure(error)
    return status


def report_failure(error: BaseException) -> int:
    """Report what ended a run early, and return its exit status."""
    status = _explain_error(error)
    _leave_quietly()
    return status


def _invoke_command(words: list[str]) -> int:
    if COMPLETION_VARIABLE in os.environ:
        turnlog.main(words, prog_name="turnlog", complete_var=COMPLETION_VARIABLE)
    # Not `main()`, which prints errors, exits and handles interrupts in click's own way.
    with turnlog.make_context("turnlog", words) as context:
        result = turnlog.invoke(context)
    return result if isinstance(result, int) else 0


def _explain_error(error: BaseException) -> int:
    if os.environ.get("TURNLOG_DEBUG") == "1" and not isinstance(error, (click.exceptions.Exit, SystemExit)):
        import traceback

        _write_stderr("".join(traceback.format_exception(error)))
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case SystemExit():
            return _read_exit_status(error)
        case click.exceptions.NoArgsIsHelpError():
            _write_stderr(f"{error.format_message()}\n")
            return error.exit_code
        case click.ClickException():
            return _print_complaint(error.format_message(), error.exit_code, _build_hint(error))
        case TurnlogError():
            return _print_complaint(str(error), error.exit_status)
        case KeyboardInterrupt() | click.Abort():
            return _print_complaint("interrupted", INTERRUPTED_STATUS)
        case OSError() if _is_pipe_closed(error):
            return PIPE_CLOSED_STATUS
        case OSError() if error.strerror:
            place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
            return _print_complaint(place + error.strerror, 1)
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _print_complaint(f"internal error: {words} (TURNLOG_DEBUG=1 shows the traceback)", 1)


def _read_exit_status(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    return _print_complaint(str(error.code), 1)


def _is_pipe_closed(error: OSError) -> bool:
    # Windows reports a closed pipe as an invalid argument without a file name.
    return error.errno == errno.EPIPE or (os.name == "nt" and error.errno == errno.EINVAL and error.filename is None)


def _build_hint(error: click.ClickException) -> str:
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return ""
    return f"Try '{error.ctx.command_path} --help'.\n"


def _print_complaint(message: str, status: int, hint: str = "") -> int:
    _write_stderr(f"turnlog: {format_one_line(message)}\n{hint}")
    return status


def _write_stderr(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        pass  # Standard error is closed too, so this can't be reported.


def format_one_line(text: str) -> str:
    """Put a message on one line and escape control characters, because it may contain untrusted names."""
    from turnlog.cli.terminal import make_visible

    return make_visible(" ".join(part for line in text.splitlines() if (part := line.strip())))


def _leave_quietly() -> None:
    """Keep the interpreter from failing again when it flushes standard output at exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
