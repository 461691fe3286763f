"""A walk through a JSON value: which strings are texts, and which hold the structure together and stay.

Inside an entry ids, links, type names, times and signatures stay as they are. What a tool took and gave (`input`,
`toolUseResult`) is free: nothing there is structure, whatever its keys are called.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, Protocol

from turnlog.redact.assignments import named
from turnlog.redact.runs import JWK_PRIVATE

DEPTH = 300
TOO_DEEP = "[nested too deep to redact]"
KEPT = frozenset(
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
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_FREE = frozenset({"input", "toolUseResult", "mcpMeta", "structured_output"})
_WORD = re.compile(r"[A-Za-z_][\w-]{0,60}")


Path = tuple[Any, str | int] | None
"""The path of the object or list around, and the key or index in it; None at the top."""


class Visitor(Protocol):
    """What is done at each string."""

    def clean_texts(self) -> Container[object]:
        """Texts that are known to stay as they are."""

    def text(self, text: str, path: Path) -> str:
        """Redact a text."""

    def whole(self, rule: str, text: str, path: Path) -> str:
        """Redact a text that is a secret as a whole, as its key says."""

    def thought(self, path: Path) -> None:
        """Take note that the text of a signed thinking block changed."""


class Walk:
    """One walk; `free` where nothing is structure."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor

    def value(self, value: Any, path: Path, free: bool, name: str = "", depth: int = 0) -> Any:
        """Give the value with its texts redacted; `name` is the key or the option that it belongs to."""
        if isinstance(value, str):
            return self._text(value, path, name)
        if isinstance(value, dict):
            return TOO_DEEP if depth > DEPTH else self._object(value, path, free, depth)
        if isinstance(value, list | tuple):
            return TOO_DEEP if depth > DEPTH else self._list(value, path, free, name, depth)
        return value

    def _text(self, text: str, path: Path, name: str) -> str:
        redacted = text if text in self._visitor.clean_texts() else self._visitor.text(text, path)
        if name and redacted == text and (rule := named(name, text)):
            return self._visitor.whole(rule, text, path)
        return redacted

    def _list(self, items: Any, path: Path, free: bool, name: str, depth: int) -> list[Any]:
        found: list[Any] = []
        option = name
        for index, item in enumerate(items):
            found.append(self.value(item, (path, index), free, option, depth + 1))
            option = item if isinstance(item, str) and item.startswith("-") and "=" not in item else name
        return found

    def _object(self, items: Mapping[str, Any], path: Path, free: bool, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        label = items.get("name", items.get("key"))
        clean, is_jwk = self._visitor.clean_texts(), "kty" in items
        for key, value in items.items():
            # Most strings of a session are keys, and few are different.
            new_key = key if key in clean else self._key(key, path, found)
            if not free and self._stays(items, key):
                found[new_key] = value
                continue
            name = label if key == "value" and isinstance(label, str) else key
            if is_jwk and key in JWK_PRIVATE:
                name = "private_key"
            found[new_key] = self.value(value, (path, new_key), free or key in _FREE, name, depth + 1)
        is_thought = not free and items.get("type") == "thinking" and items.get("signature")
        if is_thought and found.get("thinking") != items.get("thinking"):
            self._visitor.thought(path)
        return found

    def _key(self, key: str, path: Path, taken: Mapping[str, Any]) -> str:
        new = base = self._visitor.text(key, path)
        number = 1
        while new in taken:
            number += 1
            new = f"{base}~{number}"
        return new

    def _stays(self, items: Mapping[str, Any], key: str) -> bool:
        if key == "name":
            return items.get("type") in _CALLS
        if key == "data":
            return items.get("type") == "redacted_thinking"
        return key in KEPT


def shown(path: Path) -> str:
    """A path as text: `message.content[0].text`."""
    steps = []
    while path:
        path, step = path
        steps.append(_step(step))
    return "".join(reversed(steps)).removeprefix(".")


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _WORD.fullmatch(step):
        return f".{step}"
    return f"[{step if len(step) <= 60 else step[:59] + '…'!r}]"
