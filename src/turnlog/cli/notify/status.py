"""`turnlog notify status`: show the status of each channel, including its latest error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.notifications import NotifyChannelStatus, NotifyStatus


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def status(as_json: bool) -> int:
    """Show which channels are configured, how many messages are waiting, and each channel's latest error.

    Addresses that contain tokens or other secrets are never printed. The exit status is 2 if the settings are wrong.

    \b
    Examples:
      turnlog notify status
      turnlog notify status --json
    """
    from turnlog.api.documents import to_document
    from turnlog.api.notifications import read_notify_status
    from turnlog.cli.output import print_json, print_lines

    found = read_notify_status()
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(_render_status(found))
    return 2 if found.problem else 0


def _render_status(found: NotifyStatus) -> Iterator[str]:
    from turnlog.api.notifications import NO_CHANNEL_REMEDY
    from turnlog.cli.terminal import to_visible_line

    if found.problem:
        yield to_visible_line(f"The settings are wrong, so nothing is sent: {found.problem}")
    if found.warning:
        yield to_visible_line(f"Warning: {found.warning}")
    if found.running:
        yield "Notifications are on."
    else:
        yield "Notifications are off; to turn them on, start `turnlog notify run` or `turnlog web`."
    yield f"Reports: {', '.join(found.on) or 'nothing'}"
    if found.quiet_hours:
        yield f"Quiet hours: {found.quiet_hours}" + (" (now)" if found.quiet_now else "")
    if not found.channels and not found.problem:
        yield to_visible_line(f"No channel is configured. In {found.config_file}, {NO_CHANNEL_REMEDY}.")
    for item in found.channels:
        yield ""
        heading, *details = map(to_visible_line, _render_channel(item))
        yield heading
        yield from (f"  {line}" for line in details)


def _render_channel(item: NotifyChannelStatus) -> Iterator[str]:
    from turnlog.cli.time_format import format_time_ago
    from turnlog.render.figures import format_count
    from turnlog.session.clock import parse_timestamp

    def format_ago(text: str | None) -> str:
        found = parse_timestamp(text)
        return format_time_ago(found.timestamp()) if found else ""

    yield f"{item.channel}: {item.place or 'no longer configured'}"
    last = f", the last one {format_ago(item.last_success)}" if item.last_success else ""
    yield f"{format_count(item.sent, 'message')} sent{last}"
    if item.waiting:
        yield f"{format_count(item.waiting, 'message')} waiting, the oldest from {format_ago(item.oldest)}"
    if item.dropped:
        yield f"{format_count(item.dropped, 'message')} dropped: refused, or not delivered in time"
    if item.last_error:
        yield f"last error, {format_ago(item.failed)}: {item.last_error}"
