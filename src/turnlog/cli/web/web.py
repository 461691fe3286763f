"""`turnlog web`: show the sessions on this machine in a browser."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from turnlog.api.config import Config, data_dir, load_config
from turnlog.cli.output import print_lines, print_remark
from turnlog.cli.progress import hide_work
from turnlog.cli.terminal import is_on_terminal
from turnlog.store.index_file_name import build_index_name
from turnlog.web.own_name import load_secret

if TYPE_CHECKING:
    from turnlog.web.machine import Machine


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on, or 0 for any free port (default: 4747)."
)
@click.option(
    "--open/--no-open", "opens", default=None, help="Open the address in a browser (default: only on a terminal)."
)
@click.option(
    "--lake",
    metavar="LAKE",
    help="Show the insights of a lake, which is a path or a URL, instead of the sessions on this machine.",
)
def web(port: int | None, opens: bool | None, lake: str | None) -> None:
    """Start a local web app to read, search, follow, edit and export the sessions on this machine.

    The server listens only on this machine (127.0.0.1) and serves only the browser that opens the printed address. The
    address works once; after that, the server remembers the browser. Press Ctrl-C to stop the server. Without --port,
    the server listens on port 4747, or on any free port if 4747 is in use. On a machine without sessions, the pages
    show the demo sessions. With --lake, the app has only the insights page, and the lake is only read (docs/fleet.md).

    \b
    Examples:
      turnlog web
      turnlog web --port 8080 --no-open
      turnlog web --lake s3://company/lake
    """

    run_web(port, opens, lake=lake)


def run_web(port: int | None, opens: bool | None, path: str = "/", lake: str | None = None) -> None:
    """Serve the pages until a signal arrives; the printed address opens `path`."""
    from turnlog.cli.web.browser import can_open_own_name
    from turnlog.web.running_server import announce_server
    from turnlog.web.server import build_launch_address, open_listening_socket, serve_pages
    from turnlog.web.server_keys import DEFAULT_PORT, LOOPBACK_HOST, ServerKeys

    os.environ["PYTHONSAFEPATH"] = "1"  # child processes must not run programs from the starting folder
    opened = open_listening_socket(port)
    if opened.is_fallback:
        print_remark(f"Port {DEFAULT_PORT} is in use, perhaps by another turnlog process; using port {opened.port}.")
    config = load_config()
    with opened.socket, open_machine(config) if lake is None else open_lake_machine(lake) as found:
        keys = ServerKeys(opened.port, _load_installation_secret())
        launches = is_on_terminal() if opens is None else opens
        host = keys.own_name if launches and can_open_own_name() else LOOPBACK_HOST

        def announce_start() -> None:
            print_lines([build_launch_address(host, opened.port, path, keys.program_token)])
            _flush_output()
            # The list of processes shows the address that a browser is started with, so it has a token of its own.
            if launches:
                start = build_launch_address(host, opened.port, path, keys.create_launch_token())
                threading.Thread(target=_open_page, args=[start], daemon=True).start()

        hide_work()
        with keep_current(found, config), announce_server(data_dir(), keys):
            serve_pages(found, opened, keys, announce_start, print_remark)


@contextmanager
def keep_current(found: Machine, config: Config) -> Iterator[None]:
    """Follow the changes of a machine's sessions, or the new snapshots of a lake."""
    from turnlog.web.background.notifier import WebNotifier
    from turnlog.web.background.upkeep import IndexUpkeep
    from turnlog.web.lake.lake_machine import LakeMachine
    from turnlog.web.lake.lake_upkeep import LakeUpkeep

    if isinstance(found, LakeMachine):
        with LakeUpkeep(found, print_remark):
            yield
        return
    with IndexUpkeep(found, print_remark), WebNotifier(found, config, print_remark):
        yield


@contextmanager
def open_lake_machine(lake: str) -> Iterator[Machine]:
    """Open the newest snapshot of a lake."""
    from turnlog.cli.progress import show_progress
    from turnlog.web.lake.lake_machine import LakeMachine

    progress = show_progress("reading the lake: {done:,} of {total:,} rows …")
    found = LakeMachine(lake, data_dir(), tell=print_remark, progress=progress)
    try:
        yield found
    finally:
        found.close()


@contextmanager
def open_machine(config: Config) -> Iterator[Machine]:
    """Open the sessions on the machine, or the demo with a temporary index if there are none."""
    from turnlog.api.lookup import list_config_folders
    from turnlog.web.machine import Machine

    gap = timedelta(minutes=config.gap_minutes)
    found = Machine(
        list_config_folders(config),
        data_dir(),
        index_name=build_index_name(config.config_dirs),
        gap=gap,
        tell=print_remark,
        fills_in_background=config.index_in_background,
    )
    try:
        if not found.is_empty():
            yield found
            return
    finally:
        found.close()
    with _open_demo_machine(gap) as demo:
        yield demo


@contextmanager
def _open_demo_machine(gap: timedelta) -> Iterator[Machine]:
    from tempfile import TemporaryDirectory

    from turnlog.demo import config_dir
    from turnlog.web.machine import Machine

    print_remark("There are no Claude Code sessions on this machine; showing a made-up demo.")
    with TemporaryDirectory(prefix="turnlog-demo-") as folder:
        found = Machine([config_dir()], Path(folder), gap=gap, is_demo=True)
        try:
            found.store.refresh(found.config_dirs)
            yield found
        finally:
            found.close()


def _load_installation_secret() -> bytes:
    """Load the secret behind the host name, or create a temporary one if turnlog's data folder is not writable."""
    folder = data_dir()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return load_secret(folder)
    except FileExistsError:  # a file with that name exists; the index has already reported it
        pass
    return secrets.token_bytes(32)


def _open_page(start: str) -> None:
    from turnlog.cli.web.browser import open_in_browser

    if not open_in_browser(start):
        print_remark("Can't open a browser; open the address above yourself.")


def _flush_output() -> None:
    import sys

    if sys.stdout is not None:
        sys.stdout.flush()
