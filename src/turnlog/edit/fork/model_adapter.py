"""Adapts a session so that a different model, or another provider's model, can continue it (`--for-model`).

Everything that the model would refuse is removed or changed: thinking signed by a different model (for another
provider, all thinking), blocks that only the API itself can write, and names and ids that the model does not accept.
Blocks from tools that the API ran are replaced with their text. Images and documents are kept, because turnlog can't
determine whether a model accepts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from turnlog.edit.api_names import ApiNames
from turnlog.edit.draft import Draft, DraftRow
from turnlog.entries.entry import Body
from turnlog.errors import UsageError
from turnlog.session.resume.refusals import THINKING_TYPES, find_thinking_fault
from turnlog.session.usage.prices import parse_model_name

OTHER_PROVIDER = "other-provider"
Json = dict[str, Any]
_PLAIN_BLOCK_TYPES = ("text", "image", "document", "tool_use", "tool_result", "search_result")
"""Blocks that every provider supports in some form."""
_API_ONLY_KEYS = ("cache_control", "citations")
"""Keys of plain blocks that are meaningful only to the API that wrote them, or only in one request."""
_DIRECT_CALLER = {"type": "direct"}
"""The caller of a call made by the model itself, not by a program that the API ran."""
_ANSWER_ONLY_KEYS = ("container", "context_management")
_TEXT_KEYS = (
    "text",
    "title",
    "url",
    "stdout",
    "stderr",
    "query",
    "code",
    "command",
    "file_text",
    "tool_name",
    "error_code",
)
"""Keys of unknown blocks whose values are readable text."""
_MAX_NESTING = 6
_MAX_NAME_CHARS = 128
_MAX_OTHER_NAME_CHARS = 64


class AdaptedDraft(NamedTuple):
    """A draft that a different model can continue, and the number of changes made."""

    draft: Draft
    counts: Mapping[str, int]
    """The number of removed or changed items, by description."""


def adapt_to_model(draft: Draft, model: str) -> AdaptedDraft:
    """Remove or change what a model would refuse."""
    name = model.strip()
    if not name or len(name.split()) > 1:
        raise UsageError(f"--for-model {model!r}: expected the name of a model or {OTHER_PROVIDER}")
    adapter = _ModelAdapter(draft, None if name == OTHER_PROVIDER else parse_model_name(name).key)
    changes = dict(adapter.list_changes())
    emptied = {place for place, values in changes.items() if values.get("message", {}).get("content") == []}
    for place in emptied:
        adapter.counts["entries left empty"] += 1
        del changes[place]
    return AdaptedDraft(
        draft.with_changes(changes).without_rows(emptied),
        {description: count for description, count in adapter.counts.items() if count},
    )


class _ModelAdapter:
    """Adapts the blocks of a draft to one model; None stands for another provider's model."""

    def __init__(self, draft: Draft, model: str | None) -> None:
        self._draft = draft
        self._model = model
        self.counts: Counter[str] = Counter()
        self._names = ApiNames(_MAX_NAME_CHARS if model is not None else _MAX_OTHER_NAME_CHARS)
        self._api_results: dict[str, list[str]] = {}
        """The text that the API's own tools returned, by call id."""
        for row in draft.rows:
            self._note_ids(row)

    def _note_ids(self, row: DraftRow) -> None:
        """Record ids that don't change, and text returned by the API's own tools."""
        heads = row.entry.message.blocks if row.entry is not None and row.entry.message is not None else []
        for head in heads:
            if head.type == "tool_use":
                self._names.reserve_id(head.id)
        if any(head.type not in (*_PLAIN_BLOCK_TYPES, *THINKING_TYPES) for head in heads):
            message = self._get_message(row) or {"content": []}
            for block in message["content"]:
                if isinstance(block, dict) and block.get("tool_use_id") and block.get("type") not in _PLAIN_BLOCK_TYPES:
                    self._api_results[str(block["tool_use_id"])] = _collect_texts(block.get("content"))

    def _get_message(self, row: DraftRow) -> Body | None:
        """Return the message of a row, or None if it has none or its content is plain text."""
        head = row.entry.message if row.entry is not None else None
        if row.changed.get("type", row.entry.type if row.entry is not None else None) not in ("user", "assistant"):
            return None
        if "message" not in row.changed and head is not None and isinstance(head.content, str):
            return None
        message = self._draft.get_value(row, "message")
        return message if isinstance(message, dict) and isinstance(message.get("content"), list) else None

    def list_changes(self) -> Iterator[tuple[int, Body]]:
        """Yield a new message for each row that must change, by position; its content is empty if no block is left."""
        for place, row in enumerate(self._draft.rows):
            if (message := self._get_message(row)) is None:
                continue
            model = message.get("model")
            content = [
                adapted
                for block in message["content"]
                if (adapted := self._adapt_block(block, model if isinstance(model, str) else None)) is not None
            ]
            fixed = {**message, "content": content}
            for key in _ANSWER_ONLY_KEYS:
                if fixed.pop(key, None):
                    self.counts["fields that belong to one request"] += 1
            if fixed != message:
                yield place, {"message": fixed, **self._rename_ids(row)}

    def _rename_ids(self, row: DraftRow) -> Body:
        """Return new values for the remaining call ids in an entry."""
        keys = ("sourceToolUseID", "toolUseID", "parentToolUseID")
        values = {key: self._draft.get_value(row, key) for key in keys}
        return {key: new for key, value in values.items() if (new := self._names.convert_id(value)) != value}

    def _adapt_block(self, block: object, model: str | None) -> object:
        """Return a block in a form that the model accepts, or None to remove it."""
        if not isinstance(block, dict):
            return block
        kind = block.get("type")
        if kind in THINKING_TYPES:
            return self._adapt_thinking(block, model)
        if kind not in _PLAIN_BLOCK_TYPES:
            return self._to_text_block(block)
        if kind == "text" and not str(block.get("text") or "").strip():
            self.counts["empty texts"] += 1
            return None
        return self._drop_extras(self._adapt_call(block) if kind == "tool_use" else self._adapt_result(block))

    def _adapt_thinking(self, block: Json, model: str | None) -> Json | None:
        is_same_model = self._model is not None and model is not None and parse_model_name(model).key == self._model
        if is_same_model and find_thinking_fault(block) is None:
            return block
        self.counts["thinking of another model" if not is_same_model else "thinking without a valid signature"] += 1
        return None

    def _to_text_block(self, block: Json) -> Json | None:
        """Convert an unknown block to its text; a call without a readable result is removed."""
        is_call = "input" in block
        texts = _collect_texts(block.get("input") if is_call else block)
        if is_call and not self._api_results.get(str(block.get("id"))):
            texts = []
        self.counts["API blocks turned into text" if texts else "API blocks"] += 1
        title = f"[{block.get('name') or block.get('type')}]"
        return {"type": "text", "text": "\n".join([title, *texts])} if texts else None

    def _adapt_call(self, block: Json) -> Json:
        identity, tool = self._names.convert_id(block.get("id")), self._names.convert_tool_name(block.get("name"))
        self.counts["call ids"] += identity != block.get("id")
        self.counts["tool names"] += tool != block.get("name")
        return {**block, **({"id": identity} if "id" in block else {}), **({"name": tool} if "name" in block else {})}

    def _adapt_result(self, block: Json) -> Json:
        result = dict(block)
        if "tool_use_id" in block:
            result["tool_use_id"] = self._names.convert_id(block["tool_use_id"])
        if isinstance(content := block.get("content"), list):
            result["content"] = [
                adapted for inner in content if (adapted := self._adapt_block(inner, None)) is not None
            ]
        return result

    def _drop_extras(self, block: Json) -> Json:
        extras = [
            key for key in _API_ONLY_KEYS if key in block and not (key == "citations" and block["type"] == "document")
        ]
        if "caller" in block and (self._model is None or block["caller"] != _DIRECT_CALLER):
            extras.append("caller")
        self.counts["fields that belong to one request"] += len(extras)
        return {key: value for key, value in block.items() if key not in extras} if extras else block


def _collect_texts(value: object, depth: int = 0) -> list[str]:
    """Collect the readable text in an unknown block."""
    if isinstance(value, str):
        return [value.strip()] if value.strip() else []
    if depth == _MAX_NESTING:
        return []
    if isinstance(value, list):
        return [text for inner in value for text in _collect_texts(inner, depth + 1)]
    if not isinstance(value, dict):
        return []
    texts = [text for key in _TEXT_KEYS for text in _collect_texts(value.get(key), depth + 1)]
    inner = value.get("content")
    return texts + (_collect_texts(inner, depth + 1) if not isinstance(inner, str) or not texts else [])
