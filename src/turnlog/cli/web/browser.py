"""The user's browser: opens addresses in it, and knows whether it resolves the server's own host name."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

_RESOLVING_BROWSERS = re.compile(
    r"brave|chrom|edge|edg\b|firefox|iceweasel|librewolf|opera|vivaldi|waterfox|zen-browser"
)
"""Browsers that resolve every name below `localhost` themselves, whatever the system says."""
_GENERIC_OPENERS = frozenset({"xdg-open", "gio", "gvfs-open", "www-browser", "x-www-browser", "sensible-browser"})
_OPEN_SECONDS = 2.0
"""How long to wait for a browser; some return only when they are closed."""
_ASK_SECONDS = 2.0
_CHECKED_NAME = "turnlog-check.localhost"


def open_in_browser(address: str) -> bool:
    """Open an address in the user's browser; return False if there is none."""
    import webbrowser

    opened: list[bool] = []

    def open_address() -> None:
        try:
            opened.append(webbrowser.open(address))
        except (webbrowser.Error, OSError):
            opened.append(False)

    thread = threading.Thread(target=open_address, daemon=True)
    thread.start()
    thread.join(_OPEN_SECONDS)
    return opened != [False]


def can_open_own_name() -> bool:
    """Return whether the user's browser will find this machine under a name below `localhost`."""
    browser = find_browser_name()
    if not browser:
        return False  # the address may be copied to a browser that nobody knows
    return sys.platform == "win32" or is_resolving_browser(browser) or does_system_resolve_names()


def does_system_resolve_names() -> bool:
    """Return whether the system resolves names below `localhost`, and to this machine alone.

    The name is not the server's own: a system that doesn't know such names may ask the network.
    """
    found: list[str] = []

    def resolve() -> None:
        with suppress(OSError, UnicodeError):
            found.extend(str(item[4][0]) for item in socket.getaddrinfo(_CHECKED_NAME, None, type=socket.SOCK_STREAM))

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(_ASK_SECONDS)
    addresses = {address.partition("%")[0] for address in found}
    return "127.0.0.1" in addresses and all(ipaddress.ip_address(address).is_loopback for address in addresses)


def is_resolving_browser(name: str) -> bool:
    return _RESOLVING_BROWSERS.search(name.lower()) is not None


def find_browser_name() -> str:
    """Return the file name of the user's browser, or of its desktop entry; empty if it is unknown."""
    import webbrowser

    try:
        controller = webbrowser.get()
    except webbrowser.Error:
        return ""
    program = getattr(controller, "name", "")
    if not isinstance(program, str) or not program:
        return ""
    if Path(program).name in _GENERIC_OPENERS:
        return _ask_desktop() or _resolve_link("x-www-browser")
    return Path(os.path.realpath(program) if "/" in program else program).name


def _ask_desktop() -> str:
    """Ask the desktop for its browser: `firefox.desktop`."""
    try:
        done = subprocess.run(
            ["xdg-settings", "get", "default-web-browser"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return ""
    return done.stdout.strip()


def _resolve_link(program: str) -> str:
    import shutil

    found = shutil.which(program)
    return Path(os.path.realpath(found)).name if found else ""
