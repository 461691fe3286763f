"""The pieces of a conversation: each block that would be sent, with its group and size.

A piece is a block in a message. Images in results are separate pieces. Sizes are in bytes of UTF-8 text, because the
number of bytes per token is similar in every script. Pieces do not contain text; `read_piece_text` reads it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from turnlog.entries.entry import Body, Entry
from turnlog.errors import Refused
from turnlog.session.failures import has_failed, to_result_text
from turnlog.session.graph import holds_result
from turnlog.session.picture_tokens import estimate_picture_tokens
from turnlog.session.prompts import parse_queued_prompt, parse_user_body
from turnlog.session.resume.parts import build_message_part, may_contribute
from turnlog.session.resume.resume_thread import ResumeThread
from turnlog.session.session import Session
from turnlog.session.usage.prices import SYNTHETIC_MODEL

Json = dict[str, Any]

PIECE_GROUPS = {
    "prompts": "what a person typed",
    "answers": "what the model said",
    "thinking": "what the model thought",
    "calls": "inputs of tools",
    "results": "results of tools",
    "attachments": "what the client added: reminders, files, notifications, output of commands",
    "images": "images and documents, wherever they are",
    "summary": "what replaces the conversation before a compaction",
}
"""The groups of pieces, with what each contains."""

_TYPED_KINDS = frozenset({"prompt", "command", "bash"})
_PICTURE_TYPES = frozenset({"image", "document"})
_PATH_FIELDS = ("file_path", "notebook_path")
MIN_CUTTABLE_CHARS = 200
"""The shortest string inside a call's input that may be cut."""
CUT_MARK = "[turnlog: "
"""Marks a cut. Two inputs that are equal after a cut may have differed before."""
_SIGNATURE_OVERHEAD_BYTES = 174
"""The bytes before the encrypted, base64-encoded thinking in a signature (measured on 390 blocks)."""


class ContextPiece(Struct, gc=False):
    """One block in a conversation."""

    row: Entry
    at: int
    """Its position among the blocks of the row."""
    turn: int
    """The number of its turn; 0 if it has none."""
    group: str
    """One of PIECE_GROUPS."""
    kind: str = ""
    """The tool, or the kind of attachment."""
    size: int = 0
    """The bytes of text that are sent."""
    fixed: int = 0
    """Tokens that do not depend on text, such as those of an image."""
    stored: int = 0
    """The bytes that it occupies in the file, including the client's own copies."""
    call: str = ""
    """The id of the call that it is or belongs to."""
    texts: tuple[tuple[int, int], ...] = ()
    """(characters, bytes) of each text in it that can be cut."""
    path: str = ""
    """The file that the call names."""
    partial: bool = False
    """Whether the call reads only part of the file."""
    twin: int = 0
    """A number shared by calls of the same tool with the same input."""
    failed: bool = False


class ContextPieces(Struct):
    thread: ResumeThread
    all: list[ContextPiece]


def build_context_pieces(session: Session, leaf: str | None = None) -> ContextPieces:
    """List the pieces of the conversation that would be resumed now, in order."""
    thread, leaf = _find_thread(session, leaf)
    messages = session.conversation(leaf).messages
    sent = Counter(_make_block_key(block) for message in messages for block in message["content"])
    return ContextPieces(thread, list(list_pieces_of_rows(session, thread.rows, sent)))


def _find_thread(session: Session, leaf: str | None) -> tuple[ResumeThread, str | None]:
    """Return the thread that would be resumed; for a sub-agent's file, which can't be resumed, the whole thread."""
    try:
        return session.build_thread(leaf), leaf
    except Refused:
        spoken = [row for row in session.entries if row.type in ("user", "assistant") and row.uuid]
        if leaf is not None or not spoken or not all(row.is_sidechain for row in spoken):
            raise
        return session.build_thread(spoken[-1].uuid), spoken[-1].uuid


def list_pieces_of_rows(
    session: Session, rows: Iterable[Entry], sent: Counter[Any] | None = None
) -> Iterator[ContextPiece]:
    """Yield the pieces of the given rows; with `sent`, only as many copies of each block as are sent."""
    rows = list(rows)
    model = next((row.message.model for row in reversed(rows) if _is_answer(row) and row.message), None)
    calls: dict[str, ContextPiece] = {}
    for row in rows:
        if not may_contribute(row):
            continue
        body = session.read_body(row)
        part = build_message_part(row, body, as_sent=row.type == "attachment")
        turn = session.find_turn(row)
        for at, block in enumerate(part.blocks if part else ()):
            if sent is not None and row.type != "attachment":
                if not sent[key := _make_block_key(block)]:
                    continue
                sent[key] -= 1
            if _is_foreign_thinking(block, row, model):
                continue
            yield from _build_pieces(row, body, block, ContextPiece(row, at, turn.number if turn else 0, ""), calls)


def _is_answer(row: Entry) -> bool:
    return row.type == "assistant" and row.message is not None and row.message.model not in (None, SYNTHETIC_MODEL)


def _is_foreign_thinking(block: Json, row: Entry, model: str | None) -> bool:
    """Return whether a block is thinking signed by a different model, which is not sent [28]."""
    signed = block["type"] == "thinking" and bool(block.get("signature"))
    return signed and row.message is not None and row.message.model != model


def _make_block_key(block: Json) -> Any:
    """Return a key that distinguishes a block from the others in a conversation."""
    value = block.get("id") or block.get("tool_use_id") or block.get("text") or block.get("thinking")
    return block["type"], value if isinstance(value, str) else None


def _build_pieces(
    row: Entry, body: Body, block: Json, piece: ContextPiece, calls: dict[str, ContextPiece]
) -> Iterator[ContextPiece]:
    """Yield the piece for a block, and those for any images inside it."""
    match block["type"]:
        case "tool_use":
            yield _fill_call(block, piece, calls)
        case "tool_result":
            yield from _fill_result(body, block, piece, calls)
        case "thinking" | "redacted_thinking":
            yield _fill_thinking(block, piece)
        case kind if kind in _PICTURE_TYPES:
            yield _fill_picture(block, piece, "prompt")
        case "text":
            piece.group, piece.kind = _classify_text(row, body)
            yield _set_size(piece, str(block.get("text")))
        case kind:
            piece.group, piece.kind = ("answers", kind) if row.type == "assistant" else ("attachments", kind)
            piece.size = piece.stored = estimate_json_bytes(block)
            yield piece


def _classify_text(row: Entry, body: Body) -> tuple[str, str]:
    """Return the group and kind of a text block."""
    if row.type == "assistant":
        return "answers", ""
    if row.type == "attachment":
        attachment = body.get("attachment")
        if row.kind != "queued_command" or not isinstance(attachment, dict):
            return "attachments", row.kind or "attachment"
        kind = parse_queued_prompt(attachment).kind
        return ("prompts", "") if kind in _TYPED_KINDS else ("attachments", kind)
    if row.type != "user":
        return "attachments", row.subtype or str(row.type)
    kind = "beside a result" if holds_result(row) else parse_user_body(body).kind
    return ("prompts", "") if kind in _TYPED_KINDS else ("summary", "") if kind == "summary" else ("attachments", kind)


def _fill_call(block: Json, piece: ContextPiece, calls: dict[str, ContextPiece]) -> ContextPiece:
    arguments = block.get("input")
    fields = arguments if isinstance(arguments, dict) else {}
    piece.group, piece.kind, piece.call = "calls", str(block.get("name")), str(block.get("id"))
    piece.size = piece.stored = estimate_json_bytes(arguments) + len(piece.kind)
    piece.texts = tuple(
        (len(text), count_text_bytes(text)) for text in _list_strings(arguments) if len(text) > MIN_CUTTABLE_CHARS
    )
    piece.path = next((path for name in _PATH_FIELDS if isinstance(path := fields.get(name), str)), "")
    piece.partial = any(fields.get(name) is not None for name in ("offset", "limit"))
    piece.twin = 0 if any(CUT_MARK in text for text in _list_strings(arguments)) else _hash_input(piece.kind, arguments)
    calls[piece.call] = piece
    return piece


def _hash_input(name: str, arguments: Any) -> int:
    parts: list[Any] = [name]
    todo = [arguments]
    while todo:
        item = todo.pop()
        if isinstance(item, dict | list):
            parts.append(tuple(item) if isinstance(item, dict) else len(item))
            todo += item.values() if isinstance(item, dict) else item
        else:
            parts.append(item)
    return hash(tuple(parts))


def _fill_result(
    body: Body, block: Json, piece: ContextPiece, calls: dict[str, ContextPiece]
) -> Iterator[ContextPiece]:
    piece.group, piece.call = "results", str(block.get("tool_use_id"))
    piece.failed = has_failed(block.get("is_error"), to_result_text(block.get("content")), body.get("toolUseResult"))
    if call := calls.get(piece.call):
        call.failed = piece.failed
        piece.kind, piece.path, piece.partial, piece.twin = call.kind, call.path, call.partial, call.twin
    content = block.get("content")
    inner = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    pictures = [item for item in inner if item.get("type") in _PICTURE_TYPES]
    texts = [content] if isinstance(content, str) else [t for i in inner if isinstance(t := i.get("text"), str)]
    others = [item for item in inner if item.get("type") not in (*_PICTURE_TYPES, "text")]
    piece.texts = tuple((len(text), count_text_bytes(text)) for text in texts)
    piece.size = sum(size for _, size in piece.texts) + sum(map(estimate_json_bytes, others))
    piece.stored = piece.size + estimate_json_bytes(body.get("toolUseResult"))
    yield piece
    for picture in pictures:
        yield _fill_picture(picture, ContextPiece(piece.row, piece.at, piece.turn, "", call=piece.call), piece.kind)


def _fill_thinking(block: Json, piece: ContextPiece) -> ContextPiece:
    """Fill in a thinking piece; the newest clients keep only its signature, which indicates its length."""
    text, signature = block.get("thinking"), block.get("signature") or block.get("data")
    signature_size = len(signature) if isinstance(signature, str) else 0
    piece.group = "thinking"
    piece.size = (
        count_text_bytes(text)
        if isinstance(text, str) and text
        else max(0, signature_size * 3 // 4 - _SIGNATURE_OVERHEAD_BYTES)
    )
    piece.stored = (count_text_bytes(text) if isinstance(text, str) else 0) + signature_size
    return piece


def _fill_picture(block: Json, piece: ContextPiece, kind: str) -> ContextPiece:
    piece.group, piece.kind = "images", kind
    piece.fixed, piece.stored = estimate_picture_tokens(block), estimate_json_bytes(block)
    return piece


def _set_size(piece: ContextPiece, text: str) -> ContextPiece:
    piece.size = piece.stored = count_text_bytes(text)
    return piece


def count_text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def estimate_json_bytes(value: Any) -> int:
    """Estimate the size of a JSON value in bytes, however deeply nested it is."""
    total, todo = 0, [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += item.values()
            total += 2 + sum(count_text_bytes(str(key)) + 4 for key in item)
        elif isinstance(item, list):
            todo += item
            total += 2 + len(item)
        else:
            total += count_text_bytes(item) + 2 if isinstance(item, str) else 0 if item is None else 4
    return total


def _list_strings(value: Any) -> Iterator[str]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            todo += item.values() if isinstance(item, dict) else item


def read_piece_text(session: Session, piece: ContextPiece) -> str:
    """Read the text of a piece or its result; return an empty string for a call or an image."""
    part = build_message_part(piece.row, session.read_body(piece.row), as_sent=piece.row.type == "attachment")
    block = part.blocks[piece.at] if part else {}
    if piece.group == "results":
        return to_result_text(block.get("content"))
    text = block.get("thinking") if piece.group == "thinking" else block.get("text")
    return text if isinstance(text, str) else ""
