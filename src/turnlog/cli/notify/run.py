"""`turnlog notify run`: watch all sessions and send notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.notify.notification import Notification


@click.command()
def run() -> None:
    """Watch all sessions and send notifications until you press Ctrl-C.

    The command prints a line for each message. Only one process sends notifications at a time: if `turnlog web` already
    does, this command exits with an error. Messages that a server does not accept wait on disk and are sent later, even
    after a restart.

    \b
    Examples:
      turnlog notify run
    """
    import signal
    import threading

    from turnlog.api.notifications import find_permission_problem, load_notify_config, run_notifier
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.progress import hide_work
    from turnlog.cli.terminal import to_visible_line

    settings = load_notify_config()
    if warning := find_permission_problem(settings):
        print_remark(f"Warning: {warning}")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    def print_notice(notice: Notification) -> None:
        import sys

        print_lines([to_visible_line(f"{notice.time}  {': '.join(filter(None, (notice.headline, notice.body)))}")])
        if sys.stdout is not None:
            sys.stdout.flush()

    def print_start() -> None:
        places = ", ".join(f"{channel.name} ({channel.place})" for channel in settings.channels)
        print_remark(f"Notifying through {places}. Press Ctrl-C to stop.")

    hide_work()
    run_notifier(stop=stop, notify=print_remark, on_start=print_start, on_notification=print_notice)
