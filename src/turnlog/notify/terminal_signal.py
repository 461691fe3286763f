"""Signals a message in the terminal that the program runs in.

    bell      the bell character
    osc9      a notification of iTerm2, Windows Terminal, kitty, WezTerm and others: ESC ] 9 ; text BEL
    osc777    one of urxvt, foot, Ghostty and others: ESC ] 777 ; notify ; title ; body BEL

The text of a message has no control characters left (`notification.clean_text`). They are removed again here, because
a control character could end the sequence and start a different one.
"""

from __future__ import annotations

import os
import sys

from turnlog.notify.channels import TerminalStyle
from turnlog.notify.notification import MAX_BODY_CHARS, MAX_TITLE_CHARS, Notification, clean_text
from turnlog.notify.outcome import SendOutcome, accept_message, refuse_message

_BELL, _OSC = "\a", "\x1b]"


def build_terminal_signal(notice: Notification, style: TerminalStyle) -> str:
    """Build the characters that signal a message."""
    if style == "bell":
        return _BELL
    headline = clean_text(notice.headline, MAX_TITLE_CHARS * 2)
    body = clean_text(notice.body, MAX_BODY_CHARS)
    if style == "osc9":
        text = f"{headline} ({body})" if body else headline
        return f"{_OSC}9;{text}{_BELL}"  # "9;4;…" would be a progress bar, but a headline starts with a fixed word
    return f"{_OSC}777;notify;{headline.replace(';', ',')};{body.replace(';', ',')}{_BELL}"


def signal_terminal(notice: Notification, style: TerminalStyle) -> SendOutcome:
    """Signal a message in the controlling terminal, without waiting for it."""
    name = "CONOUT$" if sys.platform == "win32" else "/dev/tty"
    flags = os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        fd = os.open(name, flags)
    except OSError:
        return refuse_message("the program that notifies has no terminal")
    try:
        os.write(fd, build_terminal_signal(notice, style).encode())
    except BlockingIOError:
        return refuse_message("the terminal does not accept output")
    except OSError as error:
        return refuse_message(f"the terminal: {error.strerror or error}")
    finally:
        os.close(fd)
    return accept_message()
