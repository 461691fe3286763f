"""Recognises pushes and pull requests: by the command, by its success, and by what it printed."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from turnlog.live.events.event import Confidence

ShipmentKind = Literal["push", "pull-request"]
MAX_URL_CHARS = 500
_MAX_COMMAND_CHARS = 20_000
_MAX_OUTPUT_CHARS = 100_000

_HEREDOC = re.compile(r"<<-?[ \t]*+(['\"]?)(\w++)\1[^\n]*+\n.*?(?:(?<=\n)[ \t]*+\2(?=\s|$)|\Z)", re.DOTALL)
_QUOTED_TEXT = re.compile(r"'[^']*+'?|\"(?:[^\"\\]|\\.)*+\"?", re.DOTALL)
_COMMENT = re.compile(r"(?:(?<=\s)|^)#[^\n]*", re.MULTILINE)
_COMMAND_START = r"(?:^|[;&|\n({])[ \t]*+(?:(?:\w+=\S*|sudo|command|time|exec|env|then|do|else)\s+)*+"
_PUSH = re.compile(
    _COMMAND_START + r"git(?:\s+(?:-[Cc]\s+\S+|--?[\w-]+(?:=\S+)?))*+\s+push(?=\s|[;&|)}]|$)([^;&|\n]*)", re.MULTILINE
)
_CREATE_REQUEST = re.compile(
    _COMMAND_START + r"(?:gh\s+pr|glab\s+mr)\s+(?:create|new)(?=\s|$)([^;&|\n]*)", re.MULTILINE
)
_DRY_RUN = re.compile(r"(?:^|\s)(?:--dry-run|-n|--help|-h)(?=\s|$)")
_REQUEST_TOOL = re.compile(r"create_(?:pull|merge)_request$|createPullRequest$")
_REQUEST_URL = re.compile(r"https?://[^\s\"'<>\\]{1,400}/(?:pull|pulls|merge_requests|pull-requests)/\d+")
_PUSH_FAILURES = ("error: failed to push", "! [rejected]", "! [remote rejected]", "fatal: ", "error: src refspec")
_NOTHING_PUSHED = "Everything up-to-date"
_REF_UPDATE = re.compile(
    r"^ ?[ +*=-]? ?(?:[0-9a-f]{6,}\.{2,3}[0-9a-f]{6,}|\[new [a-z]+\]|\[deleted\]) +.*", re.MULTILINE
)


class Shipment(NamedTuple):
    """A push or a pull request that succeeded."""

    kind: ShipmentKind
    url: str | None
    confidence: Confidence


def find_intended_shipments(tool: str, arguments: Any) -> tuple[ShipmentKind, ...]:
    """Return what a call will push or create if it succeeds."""
    if _REQUEST_TOOL.search(tool):
        return ("pull-request",)
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if not isinstance(command, str) or not ("push" in command or "create" in command or "new" in command):
        return ()
    bare = _drop_text(command[:_MAX_COMMAND_CHARS])
    found: list[ShipmentKind] = []
    if any(not _DRY_RUN.search(match[1]) for match in _PUSH.finditer(bare)):
        found.append("push")
    if any(not _DRY_RUN.search(match[1]) for match in _CREATE_REQUEST.finditer(bare)):
        found.append("pull-request")
    return tuple(found)


def confirm_shipments(intended: tuple[ShipmentKind, ...], output: str) -> list[Shipment]:
    """Return what a successful call really pushed or created, according to its output."""
    text = output[:_MAX_OUTPUT_CHARS]
    found: list[Shipment] = []
    if "push" in intended and not any(mark in text for mark in _PUSH_FAILURES):
        if _REF_UPDATE.search(text):
            found.append(Shipment("push", None, "sure"))
        elif _NOTHING_PUSHED not in text:
            found.append(Shipment("push", None, "inferred"))  # `git push -q`, or its output was cut off
    if "pull-request" in intended and (url := _REQUEST_URL.search(text)):
        found.append(Shipment("pull-request", url[0], "sure"))
    return found


def check_url(value: object) -> str | None:
    """Return the address in a `pr-link` entry; None if it is not one."""
    if not isinstance(value, str) or len(value) > MAX_URL_CHARS or not value.startswith(("https://", "http://")):
        return None
    return value if value.isprintable() and " " not in value else None


def _drop_text(command: str) -> str:
    """Remove heredocs, quoted text and comments, which may mention commands that don't run."""
    return _COMMENT.sub("", _QUOTED_TEXT.sub('""', _HEREDOC.sub("", command)))
