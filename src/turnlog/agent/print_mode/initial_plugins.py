"""Plugins that a program names in `initialize` instead of on the command line (`--await-initialize`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from turnlog.agent.start_options import StartOptions
from turnlog.agent.tools.call_result import to_object


def read_initial_plugins(options: StartOptions, lines: Iterable[bytes]) -> tuple[StartOptions, Iterator[bytes]]:
    """Return the options with the plugins of a first line that is an `initialize` request, and all lines."""
    rest = iter(lines)
    first = next(rest, b"")
    try:
        request = to_object(to_object(msgspec.json.decode(first or b"{}")).get("request"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        request = {}  # the reader of the lines reports it
    named = request.get("plugins") if request.get("subtype") == "initialize" else None
    plugins = [to_object(one) for one in named] if isinstance(named, list) else []
    folders = [
        (one["path"], one.get("skipMcpDiscovery") is True) for one in plugins if isinstance(one.get("path"), str)
    ]
    options = options._replace(
        plugins=(*options.plugins, *(path for path, is_serverless in folders if not is_serverless)),
        serverless_plugins=(*options.serverless_plugins, *(path for path, is_serverless in folders if is_serverless)),
    )
    return options, chain((first,), rest)
