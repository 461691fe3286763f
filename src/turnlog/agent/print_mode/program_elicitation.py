"""Passes what an MCP server asks the person on to the program that runs turnlog (`elicitation`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.agent.person import Nobody
from turnlog.agent.print_mode.control_channel import ControlChannel
from turnlog.agent.tools.call_result import to_object
from turnlog.agent.tools.tool import Question

Object = Mapping[str, Any]
_ACTIONS = ("accept", "decline", "cancel")
_DISPLAY_KEYS = {"title": "title", "displayName": "display_name", "description": "description"}


class FormFiller(Nobody):
    """A program that decides about no calls, but answers the servers."""

    fills_in_forms = True

    def __init__(self, channel: ControlChannel) -> None:
        self._channel = channel

    def answer(self, question: Question) -> Object | None:
        return send_elicitation(self._channel, question.arguments) if question.kind == "form" else None


def send_elicitation(channel: ControlChannel, params: Object) -> Object:
    """Ask the program and return its answer; a program that does not answer declines."""
    request: dict[str, Any] = {
        "subtype": "elicitation",
        "mcp_server_name": str(params.get("server")),
        "message": str(params.get("message") or ""),
        "mode": "url" if params.get("mode") == "url" else "form",
    }
    if request["mode"] == "url":
        request |= {"url": params.get("url"), "elicitation_id": params.get("elicitationId")}
    else:
        schema = to_object(params.get("requestedSchema"))
        properties = to_object(schema.get("properties"))
        request |= {"requested_schema": dict(schema), **({"property_order": list(properties)} if properties else {})}
    shown = to_object(to_object(params.get("_meta")).get("anthropic/permissionDisplay"))
    request |= {key: shown[name] for name, key in _DISPLAY_KEYS.items() if isinstance(shown.get(name), str)}
    answer = channel.send_request(request)
    if answer.is_withdrawn:
        return {"action": "cancel"}
    found = to_object(answer.content)
    action = found.get("action") if found.get("action") in _ACTIONS else "decline"
    content = found.get("content")
    return {"action": action, **({"content": content} if action == "accept" and isinstance(content, Mapping) else {})}
