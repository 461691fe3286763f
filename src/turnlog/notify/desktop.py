"""Shows a message on the desktop, with the program that the system has for this.

    Linux      notify-send
    macOS      osascript, which receives the text as arguments and never as part of the script
    Windows    powershell, which reads the text from environment variables

Text comes from transcripts. It is never part of a script, and can't be mistaken for an option.
"""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

from turnlog.notify.notification import Notification
from turnlog.notify.outcome import SendOutcome, accept_message, defer_message

_TIMEOUT_SECONDS = 10.0
_APPLE_SCRIPT = (
    "on run argv",
    "display notification (item 3 of argv) with title (item 2 of argv)",
    "end run",
)
_TITLE_VARIABLE, _BODY_VARIABLE = "TURNLOG_NOTIFY_TITLE", "TURNLOG_NOTIFY_BODY"
_TOAST_SCRIPT = (
    "$ErrorActionPreference = 'Stop';"
    " [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]"
    " | Out-Null;"
    " $kind = [Windows.UI.Notifications.ToastTemplateType]::ToastText02;"
    " $xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent($kind);"
    " $texts = $xml.GetElementsByTagName('text');"
    f" $texts.Item(0).AppendChild($xml.CreateTextNode($env:{_TITLE_VARIABLE})) | Out-Null;"
    f" $texts.Item(1).AppendChild($xml.CreateTextNode($env:{_BODY_VARIABLE})) | Out-Null;"
    " $app = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe';"
    " $toast = [Windows.UI.Notifications.ToastNotification]::new($xml);"
    " [Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($app).Show($toast)"
)
_PROGRAMS = {"darwin": "osascript", "win32": "powershell"}


class DesktopCommand(NamedTuple):
    """A program, its arguments, and the environment variables that it reads."""

    arguments: list[str]
    variables: dict[str, str]


def name_desktop_program(platform: str = sys.platform) -> str:
    """Return the name of the program that shows messages on a platform."""
    return _PROGRAMS.get(platform, "notify-send")


def build_desktop_command(notice: Notification, program: str, platform: str = sys.platform) -> DesktopCommand:
    """Build the command that shows a message."""
    if platform == "darwin":
        script = [part for line in _APPLE_SCRIPT for part in ("-e", line)]
        # The first argument ends the options, whatever the text starts with.
        return DesktopCommand([program, *script, "turnlog", notice.headline, notice.body], {})
    if platform == "win32":
        arguments = [program, "-NoProfile", "-NonInteractive", "-Command", _TOAST_SCRIPT]
        return DesktopCommand(arguments, {_TITLE_VARIABLE: notice.headline, _BODY_VARIABLE: notice.body})
    # The body may contain markup, so its own characters are escaped; the headline is plain text.
    body = html.escape(notice.body, quote=False)
    return DesktopCommand([program, "--app-name=turnlog", "--", notice.headline, body], {})


def show_on_desktop(
    notice: Notification, environ: Mapping[str, str] | None = None, platform: str = sys.platform
) -> SendOutcome:
    """Show a message on the desktop."""
    environ = os.environ if environ is None else environ
    name = name_desktop_program(platform)
    program = shutil.which(name, path=environ.get("PATH"))
    if program is None or not os.path.isabs(program):  # noqa: PTH117 - a program in the current folder is not the system's
        return defer_message(f"{name} is not installed")
    command = build_desktop_command(notice, program, platform)
    try:
        done = subprocess.run(
            command.arguments,
            env={**environ, **command.variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return defer_message(f"{name} did not end within {_TIMEOUT_SECONDS:.0f} seconds")
    except OSError as error:
        return defer_message(f"{name}: {error.strerror or error}")
    if done.returncode:
        words = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
        return defer_message(f"{name} failed with exit status {done.returncode}" + (f": {words}" if words else ""))
    return accept_message()
