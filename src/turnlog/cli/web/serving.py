"""The web app of this machine: its settings, its first words, and the browser."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from turnlog.cli.config import Config, data_dir, load
from turnlog.cli.named import folders
from turnlog.cli.output import remark, say
from turnlog.cli.terminal import on_terminal
from turnlog.store.place import index_name
from turnlog.web.background.upkeep import Upkeep
from turnlog.web.place import Place
from turnlog.web.secret import secret
from turnlog.web.security import Door
from turnlog.web.serve import PORT, address, listening, serve


def run(port: int | None, opens: bool | None) -> None:
    """Serve until somebody stops it."""
    os.environ["PYTHONSAFEPATH"] = "1"  # children run nothing of the folder that we were started in
    opened = listening(port)
    if opened.is_fallback:
        remark(f"Port {PORT} is taken, perhaps by another turnlog; this is {opened.port}.")
    with opened.socket, place(load()) as found:
        door = Door(opened.port, _secret())
        start = address(door, opened.port)

        def started() -> None:
            say([start])
            _flush()
            if on_terminal() if opens is None else opens:
                threading.Thread(target=_browse, args=[start], daemon=True).start()

        with Upkeep(found, remark):
            serve(found, opened, door, started, remark)


@contextmanager
def place(config: Config) -> Iterator[Place]:
    """The machine's sessions; where there are none, those of the demo, with an index for this one time."""
    gap = timedelta(minutes=config.gap_minutes)
    found = Place(folders(config), data_dir(), index_name=index_name(config.config_dirs), gap=gap, tell=remark)
    try:
        if not found.is_empty():
            yield found
            return
    finally:
        found.close()
    with _demo(gap) as demo:
        yield demo


@contextmanager
def _demo(gap: timedelta) -> Iterator[Place]:
    from tempfile import TemporaryDirectory

    from turnlog.demo import config_dir

    remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    with TemporaryDirectory(prefix="turnlog-demo-") as folder:
        found = Place([config_dir()], Path(folder), gap=gap, is_demo=True)
        try:
            found.store.refresh(found.config_dirs)
            yield found
        finally:
            found.close()


def _secret() -> bytes:
    """What cookies are made from; where turnlog has no folder of its own, for this one time."""
    folder = data_dir()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return secret(folder)
    except FileExistsError:  # a file of that name; the index has told of it
        pass
    return secrets.token_bytes(32)


def _browse(start: str) -> None:
    import webbrowser

    try:
        is_open = webbrowser.open(start)
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        remark("No browser could be opened; open the address above.")


def _flush() -> None:
    import sys

    if sys.stdout is not None:
        sys.stdout.flush()
