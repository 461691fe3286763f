"""What print mode writes, and the signals that end it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnlog.model.cancel import Cancel

END_SIGNALS = [signal.Signals[name] for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end the program: sent by a user, or by a terminal that closes."""


def write_json(value: dict[str, Any]) -> None:
    from turnlog.cli.output import print_json_line

    if sys.stdout is not None:
        print_json_line(value)
        sys.stdout.flush()


def write_text(text: str) -> None:
    if sys.stdout is None:
        return
    from turnlog.render.terminal import spell_controls, to_visible_lines

    text = "\n".join(to_visible_lines(text)) if sys.stdout.isatty() else spell_controls(text)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_remarks(*texts: str) -> None:
    if texts and sys.stderr is not None:
        from turnlog.render.terminal import to_visible_line

        sys.stderr.write("".join(f"turnlog: {to_visible_line(text)}\n" for text in texts))


@contextlib.contextmanager
def catch_interrupts(cancel: Cancel, withdraw: Callable[[], object] = lambda: None) -> Iterator[list[int]]:
    """Make the first Ctrl-C or SIGTERM cancel the turn, and the second one end the program.

    Yield the list of received signals. `withdraw` ends the questions to a program that are open.
    """

    def end_turn() -> None:
        cancel.set()
        withdraw()

    heard: list[int] = []

    def stop(number: int, _frame: object) -> None:
        heard.append(number)
        signal.signal(number, before[signal.Signals(number)])
        # Not in the handler: the interrupted thread may hold a lock that this needs.
        threading.Thread(target=end_turn).start()

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # the same handler as during startup
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, *END_SIGNALS)}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def choose_exit_status(ended: int, heard: list[int]) -> int:
    """Return the exit status of a turn; after a signal, return the status that shells expect."""
    return next((128 + number for number in heard if number in END_SIGNALS), ended)
