"""The options that choose what to strip from a session, for `turnlog strip` and `turnlog clone`."""

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
    click.option(
        "--preset", metavar="NAME", help="Preset to use: light, standard, heavy, extreme, or one of your own."
    ),
    click.option(
        "--tools",
        multiple=True,
        metavar="RULE",
        help="Rule for tool calls: keep=N, truncate[=CHARS] or remove[=N]; append :NAME,… to limit it to those tools.",
    ),
    click.option("--protect", multiple=True, metavar="TOOL", help="Never change calls to this tool (repeatable)."),
    click.option(
        "--duplicates/--no-duplicates",
        default=None,
        help="Remove a call's result if the same call is repeated later.",
    ),
    click.option(
        "--stale-reads/--no-stale-reads",
        default=None,
        help="Remove file contents that a later read or write made obsolete.",
    ),
    click.option(
        "--thinking",
        metavar="WHAT",
        help="Remove thinking (remove), or keep it only in the last N turns (keep-last=N).",
    ),
    click.option(
        "--images", metavar="keep=N", help="Keep the newest N images and replace the others with a short note."
    ),
    click.option(
        "--copies", metavar="keep=N", help="Keep Claude Code's own copies of results only in the last N turns."
    ),
    click.option(
        "--noise/--no-noise",
        default=None,
        help="Remove progress reports, snapshots, hook output and repeated metadata.",
    ),
)


def add_strip_options(command: Command) -> Command:
    for option in reversed(_STRIP_OPTIONS):
        command = option(command)
    return command


def parse_strip_options(config: Config, options: dict[str, Any]) -> StripOptions | None:
    """Parse the strip options; return None if none were used."""
    from turnlog.api.strip import build_strip_options

    chosen = {name: options[name] for name in _NAMES if name in options}
    return build_strip_options(**chosen, config=config, prefix="--")
