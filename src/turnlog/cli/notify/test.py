"""`turnlog notify test`: send a test message through each channel."""

from __future__ import annotations

import click


@click.command()
@click.argument("channels", metavar="[CHANNEL]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def test(channels: tuple[str, ...], as_json: bool) -> int:
    """Send a test message through each of your channels, and report the outcome.

    Without CHANNEL, all channels in config.toml are tested. The channel `browser` is the open pages of `turnlog web`.
    A test message that fails is not sent again. The exit status is 1 if a message was not sent.

    \b
    Examples:
      turnlog notify test
      turnlog notify test phone
      turnlog notify test browser
    """
    from turnlog.api.documents import to_document
    from turnlog.api.notifications import send_test_notifications
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import to_visible_line

    report = send_test_notifications(channels)
    if report.warning:
        print_remark(f"Warning: {report.warning}")
    if as_json:
        print_json(to_document(report))
    else:
        print_lines(
            to_visible_line(f"{item.channel}: {'sent' if item.sent else f'not sent: {item.reason}'} ({item.place})")
            for item in report.channels
        )
    return 0 if report.is_complete else 1
