"""What a conversation is made of: each block that would be sent, whose it is, and how large.

A piece is a block of a message. Images in results are pieces of their own. Sizes are bytes of text in UTF-8, because
a token has about as many of them in any script. No texts are kept: `words` reads one again.
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
from turnlog.session.resume.parts import build_message_part
from turnlog.session.resume.resume_thread import ResumeThread
from turnlog.session.session import Session
from turnlog.session.usage.prices import SYNTHETIC_MODEL

Json = dict[str, Any]

PIECE_GROUPS = {
    "prompts": "what a person typed",
    "answers": "what the model said",
    "thinking": "what the model thought",
    "calls": "what tools were given",
    "results": "what tools gave back",
    "attachments": "what the client added: reminders, files, notifications, outputs of commands",
    "images": "pictures and documents, wherever they stand",
    "summary": "what stands for the conversation before a compaction",
}
"""What a piece can be."""

_TYPED_KINDS = frozenset({"prompt", "command", "bash"})
_PICTURE_TYPES = frozenset({"image", "document"})
_PATH_FIELDS = ("file_path", "notebook_path")
MIN_CUTTABLE_CHARS = 200
"""Shorter strings inside a call's input are never cut."""
CUT_MARK = "[turnlog: "
"""Where something was cut. What is left of two inputs may be equal, and they were not."""
_SIGNATURE_OVERHEAD_BYTES = 174
"""A signature holds the thinking, encrypted and in base64, behind so many bytes (measured on 390 blocks)."""


class ContextPiece(Struct, gc=False):
    """One block of a conversation."""

    row: Entry
    at: int
    """Its place among the blocks of the row."""
    turn: int
    """The number of its turn; 0 outside of any."""
    group: str
    """One of GROUPS."""
    kind: str = ""
    """The tool, or the kind of attachment."""
    size: int = 0
    """Bytes of text that are sent."""
    fixed: int = 0
    """Tokens that do not depend on any text: those of an image."""
    stored: int = 0
    """Bytes that it takes in the file, with the client's own copies."""
    call: str = ""
    """The id of the call that it is, or that it belongs to."""
    texts: tuple[tuple[int, int], ...] = ()
    """(characters, bytes) of each text in it that could be cut."""
    path: str = ""
    """The file that the call names."""
    partial: bool = False
    """Whether the call reads only a part of the file."""
    twin: int = 0
    """The same number for calls of the same tool with the same input."""
    failed: bool = False


class ContextPieces(Struct):
    """A conversation, and what its pieces are."""

    thread: ResumeThread
    all: list[ContextPiece]


def build_context_pieces(session: Session, leaf: str | None = None) -> ContextPieces:
    """The pieces of the conversation that would be resumed now, in order."""
    found, leaf = _find_thread(session, leaf)
    sent = Counter(_make_block_key(block) for said in session.conversation(leaf).messages for block in said["content"])
    return ContextPieces(found, list(list_pieces_of_rows(session, found.rows, sent)))


def _find_thread(session: Session, leaf: str | None) -> tuple[ResumeThread, str | None]:
    """What would be resumed; of a sub-agent's file, which the client does not resume, all that leads to its end."""
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
    """The pieces of some rows; with `sent`, only so many of each block as are sent."""
    rows = list(rows)
    model = next((row.message.model for row in reversed(rows) if _is_answer(row) and row.message), None)
    calls: dict[str, ContextPiece] = {}
    for row in rows:
        body = session.read_body(row)
        said = build_message_part(row, body, as_sent=row.type == "attachment")
        turn = session.find_turn(row)
        for at, block in enumerate(said.blocks if said else ()):
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
    """Whether a block is signed thinking of another model, which is not sent [28]."""
    signed = block["type"] == "thinking" and bool(block.get("signature"))
    return signed and row.message is not None and row.message.model != model


def _make_block_key(block: Json) -> Any:
    """What tells a block from others of a conversation."""
    value = block.get("id") or block.get("tool_use_id") or block.get("text") or block.get("thinking")
    return block["type"], value if isinstance(value, str) else None


def _build_pieces(
    row: Entry, body: Body, block: Json, piece: ContextPiece, calls: dict[str, ContextPiece]
) -> Iterator[ContextPiece]:
    """The piece that a block is, and the images inside it."""
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
    """The group and kind of a text."""
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
    given = block.get("input")
    fields = given if isinstance(given, dict) else {}
    piece.group, piece.kind, piece.call = "calls", str(block.get("name")), str(block.get("id"))
    piece.size = piece.stored = estimate_json_bytes(given) + len(piece.kind)
    piece.texts = tuple(
        (len(text), count_text_bytes(text)) for text in _list_strings(given) if len(text) > MIN_CUTTABLE_CHARS
    )
    piece.path = next((path for name in _PATH_FIELDS if isinstance(path := fields.get(name), str)), "")
    piece.partial = any(fields.get(name) is not None for name in ("offset", "limit"))
    piece.twin = 0 if any(CUT_MARK in text for text in _list_strings(given)) else _hash_input(piece.kind, given)
    calls[piece.call] = piece
    return piece


def _hash_input(name: str, given: Any) -> int:
    marks: list[Any] = [name]
    todo = [given]
    while todo:
        item = todo.pop()
        if isinstance(item, dict | list):
            marks.append(tuple(item) if isinstance(item, dict) else len(item))
            todo += item.values() if isinstance(item, dict) else item
        else:
            marks.append(item)
    return hash(tuple(marks))


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
    """The newest clients keep only the signature of a thought: it tells how long that was."""
    text, signature = block.get("thinking"), block.get("signature") or block.get("data")
    sealed = len(signature) if isinstance(signature, str) else 0
    piece.group = "thinking"
    piece.size = (
        count_text_bytes(text)
        if isinstance(text, str) and text
        else max(0, sealed * 3 // 4 - _SIGNATURE_OVERHEAD_BYTES)
    )
    piece.stored = (count_text_bytes(text) if isinstance(text, str) else 0) + sealed
    return piece


def _fill_picture(block: Json, piece: ContextPiece, kind: str) -> ContextPiece:
    piece.group, piece.kind = "images", kind
    piece.fixed, piece.stored = estimate_picture_tokens(block), estimate_json_bytes(block)
    return piece


def _set_size(piece: ContextPiece, text: str) -> ContextPiece:
    piece.size = piece.stored = count_text_bytes(text)
    return piece


def count_text_bytes(text: str) -> int:
    """The bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def estimate_json_bytes(value: Any) -> int:
    """About the bytes of a JSON value, however deep it is nested."""
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
    """What a piece says: its text, or that of a result; nothing for a call or an image."""
    said = build_message_part(piece.row, session.read_body(piece.row), as_sent=piece.row.type == "attachment")
    block = said.blocks[piece.at] if said else {}
    if piece.group == "results":
        return to_result_text(block.get("content"))
    text = block.get("thinking") if piece.group == "thinking" else block.get("text")
    return text if isinstance(text, str) else ""
