"""Walks through a JSON value, and separates text from structural strings, which must not change.

In an entry, ids, links, type names, times and signatures are not changed. The input and output of a tool (`input`,
`toolUseResult`) contain no structural strings, whatever their keys are called.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, Protocol

from turnlog.redact.assignments import find_rule_for_key
from turnlog.redact.random_runs import JWK_PRIVATE
from turnlog.redact.secret_names import find_secret_words
from turnlog.redact.secret_rule import SECRET_MARK

MAX_JSON_DEPTH = 300
TOO_DEEP_TEXT = "[nested too deep to redact]"
STRUCTURE_KEYS = frozenset(
    # ids and links
    "uuid parentUuid logicalParentUuid leafUuid sessionId session_id id messageId message_id snapshotMessageId"
    " messageUuid tool_use_id toolUseID parentToolUseID sourceToolUseID sourceToolAssistantUUID"
    " interruptedMessageId refusedMessageId requestId requestID requestRef promptId prompt_id agentId"
    " parentSessionId parentLastUuid headUuid tailUuid anchorUuid afterUuid uuids allUuids clearedAttachmentUUIDs"
    " compactedToolIds summarizedTurnPromptUuids commandUuid deliveryId delivery_id source_uuid runId taskId"
    " bridgeSessionId ownerAccountUuid ownerOrganizationUuid accountUuid continuedInSessionId sessionGroupingId"
    " callId base file_id"
    # names of kinds, times, versions
    " type subtype role model stop_reason stop_sequence timestamp version userType entrypoint operation media_type"
    # what only the API can read
    " signature encrypted_content encrypted_index encrypted_stdout".split()
)
_CALL_BLOCK_TYPES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_KEPT_KEYS = STRUCTURE_KEYS | {"name", "data"}
_PLAIN_TYPES = frozenset({int, float, bool, type(None)})
_FREE_FORM_KEYS = frozenset({"input", "toolUseResult", "mcpMeta", "structured_output"})
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]{0,60}")


JsonPath = tuple[Any, str | int] | None
"""The path of the enclosing object or list, and the key or index in it; None at the top."""


class StringVisitor(Protocol):
    """Handles each string in a value."""

    def get_clean_texts(self) -> Container[str]:
        """Return the strings that are known not to contain secrets; the object is always up to date."""

    def redact_text(self, text: str, path: JsonPath) -> str:
        """Replace the secrets in text."""

    def redact_whole(self, rule: str, text: str, path: JsonPath) -> str:
        """Replace a whole string whose key reveals that it is a secret."""

    def note_changed_thinking(self, path: JsonPath) -> None:
        """Record that the text of a signed thinking block changed."""


class JsonWalk:
    """A walk through one value; with `free`, none of its strings are structural."""

    def __init__(self, visitor: StringVisitor) -> None:
        self._visitor = visitor
        self._clean = visitor.get_clean_texts()

    def walk_value(self, value: Any, path: JsonPath, free: bool, name: str = "", depth: int = 0) -> Any:
        """Return the value with its text redacted; `name` is the key or option that it belongs to."""
        if isinstance(value, str):
            return self._visit_text(value, path, name)
        if isinstance(value, dict):
            return TOO_DEEP_TEXT if depth > MAX_JSON_DEPTH else self._walk_object(value, path, free, depth)
        if isinstance(value, list | tuple):
            return TOO_DEEP_TEXT if depth > MAX_JSON_DEPTH else self._walk_list(value, path, free, name, depth)
        return value

    def _visit_text(self, text: str, path: JsonPath, name: str) -> str:
        redacted = text if text in self._clean else self._visitor.redact_text(text, path)
        if name and redacted == text and (rule := find_rule_for_key(name, text)):
            return self._visitor.redact_whole(rule, text, path)
        return redacted

    def _walk_list(self, items: Any, path: JsonPath, free: bool, name: str, depth: int) -> list[Any]:
        redacted: list[Any] = []
        option = name
        for index, item in enumerate(items):
            redacted.append(self.walk_value(item, (path, index), free, option, depth + 1))
            option = item if isinstance(item, str) and item.startswith("-") and "=" not in item else name
        return redacted

    def _walk_object(self, items: Mapping[str, Any], path: JsonPath, free: bool, depth: int) -> dict[str, Any]:
        redacted: dict[str, Any] = {}
        label = items.get("name", items.get("key"))
        clean, is_jwk = self._clean, "kty" in items
        for key, value in items.items():
            # Most strings in a session are keys, and only a few keys are distinct.
            new_key = key if key in clean else self._visit_key(key, path, redacted)
            kind = type(value)
            if kind in _PLAIN_TYPES or (not free and key in _KEPT_KEYS and self._is_structure(items, key)):
                is_tool_name = key == "name" and kind is str
                redacted[new_key] = self._redact_tool_name(value, (path, new_key)) if is_tool_name else value
                continue
            name = label if key == "value" and isinstance(label, str) else key
            if is_jwk and key in JWK_PRIVATE:
                name = "private_key"
            if kind is str and value in clean and not find_secret_words(name):
                redacted[new_key] = value
                continue
            redacted[new_key] = self.walk_value(value, (path, new_key), free or key in _FREE_FORM_KEYS, name, depth + 1)
        is_thought = not free and items.get("type") == "thinking" and items.get("signature")
        if is_thought and redacted.get("thinking") != items.get("thinking"):
            self._visitor.note_changed_thinking(path)
        return redacted

    def _visit_key(self, key: str, path: JsonPath, taken: Mapping[str, Any]) -> str:
        new = base = self._visitor.redact_text(key, path)
        number = 1
        while new in taken:
            number += 1
            new = f"{base}~{number}"
        return new

    def _redact_tool_name(self, name: str, path: JsonPath) -> str:
        """Redact a tool's name; the placeholder has only characters that the API allows there."""
        redacted = name if name in self._clean else self._visitor.redact_text(name, path)
        return SECRET_MARK.sub(lambda mark: mark[0].strip("[]").replace(":", "_"), redacted)

    def _is_structure(self, items: Mapping[str, Any], key: str) -> bool:
        if key == "name":
            return items.get("type") in _CALL_BLOCK_TYPES
        if key == "data":
            return items.get("type") == "redacted_thinking"
        return key in STRUCTURE_KEYS


def format_json_path(path: JsonPath) -> str:
    """Format a path as text: `message.content[0].text`."""
    steps = []
    while path:
        path, step = path
        steps.append(_format_path_step(step))
    return "".join(reversed(steps)).removeprefix(".")


def _format_path_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _PLAIN_KEY.fullmatch(step):
        return f".{step}"
    return f"[{step if len(step) <= 60 else step[:59] + '…'!r}]"
