"""The options that say what to strip from a session, for `turnlog strip` and `turnlog clone`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from turnlog.api.config import Config
    from turnlog.edit.strip.strip_options import StripOptions

Command = TypeVar("Command", bound=Callable[..., Any])
_NAMES = ("preset", "tools", "protect", "duplicates", "stale_reads", "thinking", "images", "copies", "noise")

_STRIP_OPTIONS = (
    click.option("--preset", metavar="NAME", help="light, standard, heavy, extreme, or one of your own."),
    click.option(
        "--tools", multiple=True, metavar="RULE", help="keep=N, truncate[=CHARS], remove[=N]; :NAME,… for some tools."
    ),
    click.option("--protect", multiple=True, metavar="TOOL", help="Never touch the calls of a tool; may be repeated."),
    click.option("--duplicates/--no-duplicates", default=None, help="Drop results that the same call has again later."),
    click.option("--stale-reads/--no-stale-reads", default=None, help="Drop files that were read and are out of date."),
    click.option("--thinking", metavar="WHAT", help="remove, or keep-last=N: that of the last N turns stays."),
    click.option("--images", metavar="keep=N", help="Keep the newest N images; others become a short text."),
    click.option("--copies", metavar="keep=N", help="Keep the client's own copies of results in the last N turns."),
    click.option("--noise/--no-noise", default=None, help="Drop progress, snapshots, hook output, repeated metadata."),
)


def add_strip_options(command: Command) -> Command:
    """Give a command the options that say what is stripped."""
    for option in reversed(_STRIP_OPTIONS):
        command = option(command)
    return command


def parse_strip_options(config: Config, options: dict[str, Any]) -> StripOptions | None:
    """Parse the options for stripping; None if nothing is asked for."""
    from turnlog.api.strip import build_strip_options

    chosen = {name: options[name] for name in _NAMES if name in options}
    return build_strip_options(**chosen, config=config, prefix="--")
