"""`turnlog notify`: send a message when a session needs its user."""

from __future__ import annotations

import click

from turnlog.cli.group import LazyGroup
from turnlog.cli.table import CommandRow

NOTIFY_COMMANDS = {
    "run": CommandRow(".notify.run", "Watch all sessions and send notifications until you stop it."),
    "test": CommandRow(".notify.test", "Send a test message through your channels."),
    "status": CommandRow(".notify.status", "Show the status of each channel, including its latest error."),
}


class _NotifyGroup(LazyGroup):
    """The commands for notifications; each is imported when it is used."""

    rows = NOTIFY_COMMANDS
    sections = {}  # noqa: RUF012 - a few commands need no sections


@click.group(cls=_NotifyGroup)
def notify() -> None:
    """Send a message when a session needs you, finishes after several minutes of work, fails, or approaches a limit.

    Messages are sent through the channels in config.toml: the desktop, the terminal, Slack, Telegram, ntfy or any
    webhook. If no channel is configured, nothing is sent. `turnlog web` also sends messages while it is running, and
    can show them in the browser (use the button on its Live page).

    \b
    Set up a channel in config.toml (docs/notify.md lists all keys):
      [notify.channels.desktop]
      [notify.channels.phone]
      kind = "ntfy"
      topic_env = "NTFY_TOPIC"

    \b
    Examples:
      turnlog notify test               send a test message through each channel
      turnlog notify run                send notifications until you press Ctrl-C
      turnlog notify status             show how many messages are waiting, and why
    """
