"""Runs a conversation at a terminal: asks for trust, lets the user choose a session, and exits cleanly."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial

from turnlog.agent.console.answer import read_answer
from turnlog.agent.console.console import Console
from turnlog.agent.console.keyboard import Keyboard, is_dumb_terminal
from turnlog.agent.console.live_rows import does_terminal_reflow
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.agent.console.session_picker import choose_session
from turnlog.agent.mcp_servers.server_config import ServerConfig, approve_server
from turnlog.agent.permissions.trust import trust_folder
from turnlog.agent.session_starter import SessionStarter
from turnlog.agent.start_options import StartOptions
from turnlog.agent.unsupported_feature import UnsupportedFeature
from turnlog.api import config
from turnlog.cli import terminal
from turnlog.errors import UsageError
from turnlog.render.terminal import make_visible


def run_chat_console(
    starting: SessionStarter, wishes: StartOptions, first: str | None, end_signals: Sequence[signal.Signals]
) -> int:
    """Run the conversation until the user quits, and return the exit status.

    The signals in `end_signals` shut it down cleanly.
    """
    if sys.stdin is None or not sys.stdin.isatty() or sys.stdout is None or not sys.stdout.isatty():
        raise UsageError("an interactive conversation requires a terminal; without one, use `turnlog -p PROMPT`")
    look, measure = terminal.detect_screen(config.load_config().color), lambda: shutil.get_terminal_size().columns
    is_plain, reflows = is_dumb_terminal() or starting.wants_flat_output(wishes), does_terminal_reflow(os.environ)
    screen = ConsoleScreen(_write_terminal, look, measure, is_plain=is_plain, reflows=reflows)
    keyboard = Keyboard(starting.data / "chat_history")
    with contextlib.closing(keyboard):
        ask = partial(read_answer, keyboard, screen)
        if not _ask_trust(starting, screen, ask):
            return 1
        for server in starting.find_unapproved_servers(wishes):
            if (answer := _ask_server(server, screen, ask)) is None:
                return 1
            approve_server(starting.cwd, server.name, is_approved=answer)
        if not wishes.ignores_hooks and (guards := starting.find_missing_guards(wishes)):
            if not _ask_without_guards(guards, screen, ask):
                return 1
            wishes = wishes._replace(ignores_hooks=True)
        if wishes.resume == "":
            chosen = choose_session(starting, ask, screen)
            if chosen is None:
                return 0
            wishes = wishes._replace(resume=chosen)
        console = Console(starting, wishes._replace(copies_files=True), screen, keyboard)
        _close_on_signal(end_signals, console.close)
        return console.run(first)


def _close_on_signal(end_signals: Sequence[signal.Signals], close: Callable[[], None]) -> None:
    """Close everything before a signal ends the program, so that background commands end too."""
    if os.name == "nt":
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def wait() -> None:
        while (number := os.read(reader, 1)[0]) not in end_signals:
            pass
        close()
        os._exit(128 + number)

    # This runs in its own thread: the main thread may be waiting in the line editor, which signals don't always wake.
    for number in end_signals:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=wait, name="end", daemon=True).start()


def _ask_without_guards(
    guards: Sequence[UnsupportedFeature], screen: ConsoleScreen, ask: Callable[[str], str | None]
) -> bool:
    """Ask at every start whether to continue without hooks that would guard the session."""
    screen.start_part("guards")
    screen.write_prose("These guards of your sessions can't run:", *(f"  {make_visible(str(one))}" for one in guards))
    said = ask("  y: continue without them   n: quit   [y/n] ")
    return said is not None and said.strip().lower() in ("y", "yes")


def _ask_server(server: ServerConfig, screen: ConsoleScreen, ask: Callable[[str], str | None]) -> bool | None:
    """Ask, once per server, whether an MCP server of the project may start; return None to quit."""
    what = shlex.join([server.command, *server.args]) if server.command else server.url
    screen.start_part(f"server {server.name}")
    screen.write_prose(
        f"{make_visible(server.where)} defines the MCP server {make_visible(server.name)!r}:",
        f"  {make_visible(what)}",
        *([f"  with headers printed by: {make_visible(server.headers_helper)}"] if server.headers_helper else []),
        "It runs with your rights, and its tools and texts reach the model.",
    )
    said = ask("  y: start it, now and later   n: never start it   [y/n] ")
    return None if said is None else said.strip().lower() in ("y", "yes")


def _write_terminal(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _ask_trust(starting: SessionStarter, screen: ConsoleScreen, ask: Callable[[str], str | None]) -> bool:
    """Ask, once per folder, whether the user trusts the folder."""
    if starting.is_trusted:
        return True
    screen.start_part("trust")
    screen.write_prose(
        f"This is your first session in {make_visible(str(starting.cwd))}.",
        "turnlog will read its settings, instructions and files, and the model may act on them.",
        "Do you trust this folder?",
    )
    said = ask("  y: I trust this folder   n: quit   [y/n] ")
    if said is None or said.strip().lower() not in ("y", "yes"):
        return False
    trust_folder(starting.cwd, starting.config_dir)
    return True
