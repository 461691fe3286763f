"""Builds the request for each kind of server, and recognizes its reply.

    webhook    the message as JSON; header Idempotency-Key
    slack      an incoming webhook; special characters are escaped, links are not unfolded
    telegram   sendMessage without markup, so that no text can become a link or a mention
    ntfy       JSON with `sequence_id`, which makes a repeat replace the first copy (ntfy 2.16 or newer)

Every request has the id of its message as Idempotency-Key. It stays the same when the message is sent again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from turnlog.notify.channels import NotifyChannel
from turnlog.notify.notification import Notification
from turnlog.render.json_bytes import to_json_bytes

_MAX_RETRY_SECONDS = 86_400.0


class ServerRequest(NamedTuple):
    """The body and the headers of a request."""

    body: bytes
    headers: dict[str, str]


def build_server_request(channel: NotifyChannel, notice: Notification, tries: int = 0) -> ServerRequest:
    """Build the request that carries a message; `tries` is how many times it was sent before."""
    headers = {**channel.headers, "content-type": "application/json", "idempotency-key": notice.id}
    return ServerRequest(to_json_bytes(_build_document(channel, notice, tries)), headers)


def _build_document(channel: NotifyChannel, notice: Notification, tries: int) -> dict[str, Any]:
    match channel.kind:
        case "slack":
            text = notice.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            return {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
        case "telegram":
            return {"chat_id": channel.chat, "text": notice.text, "link_preview_options": {"is_disabled": True}}
        case "ntfy":
            body = notice.body or notice.headline
            urgent = notice.kind in ("needs", "failed")
            return {
                "topic": channel.topic,
                "title": notice.headline,
                "message": body,
                "priority": 4 if urgent else 3,
                "sequence_id": notice.id,
            }
        case _:
            fields = _describe_member(notice)
            return {**fields, "members": [_describe_member(member) for member in notice.members], "attempt": tries + 1}


def _describe_member(notice: Notification) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(notice).items() if name != "members"}


def is_expected_reply(channel: NotifyChannel, raw: bytes) -> bool:
    """Return whether a successful reply comes from this kind of server, not from a proxy or login page in between."""
    match channel.kind:
        case "slack":
            return raw.strip() == b"ok"
        case "telegram":
            return _parse_object(raw).get("ok") is True
        case "ntfy":
            return isinstance(_parse_object(raw).get("id"), str)
        case _:
            return True


def read_retry_seconds(channel: NotifyChannel, raw: bytes) -> float | None:
    """Read how long to wait from the body of a reply, where Telegram states it."""
    parameters = _parse_object(raw).get("parameters") if channel.kind == "telegram" else None
    seconds = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if not isinstance(seconds, int | float) or seconds <= 0:
        return None
    return float(min(seconds, _MAX_RETRY_SECONDS))


def read_reply_text(raw: bytes) -> str:
    """Read the human-readable message from a reply."""
    document = _parse_object(raw)
    for name in ("description", "error", "message", "detail"):
        if isinstance(text := document.get(name), str):
            return text
    return "" if document else raw[:1000].decode("utf-8", "replace")


def _parse_object(raw: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
