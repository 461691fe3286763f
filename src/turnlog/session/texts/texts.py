"""The searchable text of an entry, by kind.

Everything that a person, the model or a tool wrote is included. Ids, hashes, signatures and encoded files (images) are
excluded, and so is text that the same entry repeats: the client stores a tool's result twice, once as the model saw it
and once in its own structure (`toolUseResult`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from turnlog.entries.entry import Body
from turnlog.entries.marks import classify_by_mark
from turnlog.entries.speakers import SENDING_SPEAKERS, TYPING_SPEAKERS, identify_speaker
from turnlog.session.failures import has_failed, to_result_text
from turnlog.session.messages import FILLER_TEXT
from turnlog.session.prompts import parse_queued_prompt
from turnlog.session.texts.lines import LineBlock, PlacedLine, TextLine
from turnlog.session.usage.prices import SYNTHETIC_MODEL

TEXT_KINDS = {
    "title": "the name of a session, given by a person or a model; a tag; an agent's name",
    "prompt": "typed by a person: a prompt, a slash command, a `!` command",
    "answer": "what the model said",
    "peer": "from another session, an agent, a teammate or a channel",
    "summary": "the summary of a compaction",
    "thinking": "what the model thought",
    "call": "the name and the input of a tool call",
    "result": "what a tool returned",
    "attachment": "what the client added for the model to see: files, reminders, output of hooks",
    "system": "what the client recorded: errors, commands, the end of a turn",
    "meta": "what the client wrote as the user or the model: caveats, output of commands, notifications",
    "other": "everything else",
}
"""The kinds of text, with what each contains."""
SAID_KINDS = ("title", "prompt", "answer", "peer", "summary")
"""What people usually remember about a session; the other kinds describe what was done."""

_TITLE_FIELDS = {
    "summary": "summary",
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "tag": "tag",
    "agent-name": "agentName",
}
_PATH_FIELDS = frozenset({"file_path", "filePath", "notebook_path", "path", "filename", "displayPath"})
_CALL_TYPES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_REPEATED_FIELDS = frozenset({"oldString", "newString", "edits", "prompt"})
"""Fields of a structured result that repeat the input of its call."""
_REPEATED_WRITE_FIELDS = _REPEATED_FIELDS | {"content"}
_WRITE_RESULT_TYPES = ("create", "update")
_UNSAID_BLOCK_TYPES = ("tool_use", "thinking")
# Fields of an entry that say what it is and where it belongs.
_ENVELOPE_FIELDS = frozenset(
    "type uuid parentUuid logicalParentUuid sessionId session_id timestamp version requestId userType entrypoint"
    " isSidechain cwd gitBranch slug promptId messageId leafUuid toolUseID parentToolUseID sourceToolAssistantUUID"
    " sourceToolUseID interruptedMessageId agentId permissionMode forkedFrom apiBlockIndex headUuid anchorUuid tailUuid"
    " level id model".split()
)
# Inner fields with content that nobody can read.
_OPAQUE_FIELDS = frozenset(
    "type uuid parentUuid sessionId messageId tool_use_id toolUseID timestamp signature media_type base64"
    " encrypted_content encrypted_index encryptedContent backupFileName digests service_tier".split()
)
_UNREADABLE_TYPES = ("base64", "redacted_thinking")
_DATA_FIELDS = frozenset({"data"})
_NO_OPAQUE_FIELDS: frozenset[str] = frozenset()
_MIN_ENCODED_CHARS = 256
_ENCODED_START = re.compile(rf"[A-Za-z0-9+/_-]{{{_MIN_ENCODED_CHARS}}}")
_MAX_RULER_LETTERS = 6
"""A word with this few different letters is a ruler, such as `-----`."""


class ShownEarlier(NamedTuple):
    """What earlier entries in a transcript have shown, much of which is repeated in results."""

    calls: Container[str] = ()
    """The ids of earlier calls."""
    files: Container[str] = ()
    """The paths of files that were shown or written in full, and since then changed only by edits that were shown."""


class SearchText(Struct, gc=False):
    """One piece of text from an entry."""

    kind: str
    """One of TEXT_KINDS."""
    words: str
    paths: tuple[str, ...] = ()
    """The files that it names."""
    tool: str | None = None
    """The tool of a call."""
    call: str | None = None
    """The id of the call that the text belongs to or answers."""
    failed: bool = False
    """Whether it is the result of a failed call, or an API error."""
    seen: int | None = None
    """The number of characters that the model saw, if that is more than the text has (a file with numbered lines)."""


_NOTHING_SHOWN = ShownEarlier()


def list_search_texts(placed: PlacedLine, familiar: ShownEarlier = _NOTHING_SHOWN) -> list[SearchText]:
    """List the text in an entry, without what its structured result repeats from earlier entries."""
    line = placed.line
    kind, message = line.type, line.message
    if message is None or kind not in ("user", "assistant"):
        return _list_other_texts(kind or "", placed.body)
    content = message.content
    if isinstance(content, str):
        found = [_build_text(line, content)]
    else:
        blocks = content or ()
        found = [text for block in blocks if (text := _read_block_text(line, block)) is not None]
        if placed.is_flawed or len(found) < len(blocks):
            found += _list_unusual_texts(line, placed.body)
        if len(found) > 1 and found[0].kind == "peer":
            _assign_to_peer(found)
    if asides := line.asides:
        found.append(SearchText("meta", "\n".join(list_readable_strings(asides))))
    if (structure := line.tool_use_result) is not None:
        if type(structure) is dict and "file" in structure:
            _replace_numbered_text(structure, found)
        if extra := _read_structured_result(structure, found, familiar):
            found.append(extra)
    return found


def join_result(texts: list[SearchText]) -> None:
    """Join a result with the text that only the client's own structure of it contains, which comes last.

    One row of an index then finds both, and words of which each contains some.
    """
    if len(texts) < 2:
        return
    shown, extra = texts[-2:]
    if extra.kind == shown.kind == "result" and extra.call == shown.call is not None:
        shown.seen = len(shown.words) if shown.seen is None else shown.seen
        shown.words = f"{shown.words}\n{extra.words}" if extra.words else shown.words
        shown.paths += extra.paths
        texts.pop()


def count_unsaid_letters(placed: PlacedLine) -> int | None:
    """Count the characters of an answer that consists of one call or one thought; return None for any other line.

    Most answers do, and a first look at them needs only their length (`list_search_texts` gives their text).
    """
    line = placed.line
    if line.type != "assistant" or (message := line.message) is None or placed.is_flawed:
        return None
    content = message.content
    if type(content) is not list or len(content) != 1:
        return None
    block = content[0]
    if block.type not in _UNSAID_BLOCK_TYPES or line.tool_use_result is not None or line.asides:
        return None
    if block.type == "tool_use":
        return len(block.name or "") + _count_readable_letters(block.input)
    return None if block.thinking is None else len(block.thinking)


def _count_readable_letters(value: Any) -> int:
    """Count the characters of the readable strings inside a call's input, each with the line end before it."""
    if type(value) is dict and "media_type" not in value and "type" not in value:
        count = 0
        for item in value.values():
            kind = type(item)
            if kind is str:
                if item and (len(item) <= _MIN_ENCODED_CHARS or not _is_encoded(item)):
                    count += len(item) + 1
            elif kind is dict or kind is list:
                break
        else:
            return count
    strings = list_readable_strings(value, _NO_OPAQUE_FIELDS)
    return sum(map(len, strings)) + len(strings)


def _build_text(line: TextLine, text: str) -> SearchText:
    if line.type == "assistant":
        is_error = bool(line.is_api_error_message)
        is_filler = (
            text == FILLER_TEXT and not is_error and line.message is not None and line.message.model == SYNTHETIC_MODEL
        )
        return SearchText("meta" if is_filler else "answer", text, (), None, None, is_error)
    if line.is_compact_summary:
        return SearchText("summary", text)
    speaker = identify_speaker(text, line.origin, is_meta=line.is_meta).kind
    if speaker == "client" and not line.is_meta and classify_by_mark(text) == "summary":
        return SearchText("summary", text)
    return SearchText(_classify_speaker(speaker), text)


def _assign_to_peer(found: list[SearchText]) -> None:
    """Change prompts to `peer`: text after another agent's message in the same entry was not typed by a person."""
    for text in found:
        if text.kind == "prompt":
            text.kind = "peer"


def _classify_speaker(speaker: str) -> str:
    return "prompt" if speaker in TYPING_SPEAKERS else "peer" if speaker in SENDING_SPEAKERS else "meta"


def _read_block_text(line: TextLine, block: LineBlock) -> SearchText | None:
    """Return the text of a block, or None if the block must be decoded in full."""
    kind = block.type
    if kind == "tool_use":
        name = block.name or ""
        text = "\n".join([name, *list_readable_strings(block.input, _NO_OPAQUE_FIELDS)])
        return SearchText("call", text, _list_paths(block.input), name, block.id)
    if kind == "tool_result":
        content = block.content
        text = content if type(content) is str else "\n".join(list_readable_strings(content))
        failed = has_failed(block.is_error, to_result_text(content), line.tool_use_result)
        return SearchText("result", text, (), None, block.tool_use_id, failed)
    if kind == "text" and block.text is not None:
        return _build_text(
            line, "\n".join([block.text, *list_readable_strings(block.citations)]) if block.citations else block.text
        )
    if kind == "thinking" and block.thinking is not None:
        return SearchText("thinking", block.thinking)
    return None


def _list_unusual_texts(line: TextLine, body: Body) -> Iterator[SearchText]:
    """Yield the text of blocks other than the usual ones."""
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            kind, text = "other", "\n".join(list_readable_strings(block))
        elif _is_usual_block(block):
            continue
        else:
            kind = _classify_block(block, line)
            text = "\n".join(
                _list_document_texts(block) if block.get("type") == "document" else list_readable_strings(block)
            )
        if text:
            yield SearchText(kind, text)


def _classify_block(block: Body, line: TextLine) -> str:
    name = str(block.get("type"))
    if name in _CALL_TYPES:
        return "call"
    return "result" if name.endswith("tool_result") else "other" if line.type == "assistant" else "attachment"


def _is_usual_block(block: Body) -> bool:
    """Return whether `_read_block_text` handles a block."""
    kind = block.get("type")
    return kind in ("tool_use", "tool_result") or (kind in ("text", "thinking") and isinstance(block.get(kind), str))


def _list_document_texts(block: Body) -> Iterator[str]:
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
        yield source["data"]
    yield from list_readable_strings(block)


def _replace_numbered_text(result: Body, texts: list[SearchText]) -> None:
    """Replace the numbered lines of a file with its plain text so that phrases can span line ends."""
    read = result["file"]
    content = read.get("content") if isinstance(read, dict) else None
    if not texts or not isinstance(read, dict) or not isinstance(content, str):
        return
    shown_text = texts[-1].words
    end = _find_end_of_file(read, content, shown_text)
    if end is not None and _is_shown_numbered(content, shown_text):
        texts[-1].words, texts[-1].seen = content + shown_text[end:], len(shown_text)


def _find_end_of_file(read: Body, content: str, shown_text: str) -> int | None:
    """Find where a file's numbered lines end in what the model saw; text added by the client may follow."""
    start = read.get("startLine")
    if not isinstance(start, int):
        return None
    whole = content.removesuffix("\n")
    number, last = start + whole.count("\n"), whole[whole.rfind("\n") + 1 :]
    for mark in (f"{number}\u2192{last}", f"{number}\t{last}"):
        if (at := shown_text.rfind(mark)) >= 0:
            return at + len(mark)
    return None


def _read_structured_result(result: Any, texts: list[SearchText], familiar: ShownEarlier) -> SearchText | None:
    """Return the text in the client's own structured result that the model did not see."""
    shown_text, call = (texts[-1].words, texts[-1].call) if texts else ("", None)
    paths: tuple[str, ...] = ()
    if isinstance(result, dict):
        added = _list_additional_texts(result, shown_text, _list_repeated_fields(result, call, familiar))
        paths = _list_paths(result) or _list_paths(result.get("file"))
    else:
        added = [
            text
            for text in list_readable_strings(result)
            if text not in shown_text and text.removeprefix("Error: ") not in shown_text
        ]
    return SearchText("result", "\n".join(added), paths, call=call) if added or paths else None


def _list_additional_texts(result: Body, shown_text: str, repeated: Container[str]) -> list[str]:
    added: list[str] = []
    for key, value in result.items():
        if key in repeated or key in _OPAQUE_FIELDS:
            continue
        shape = type(value)
        if shape is str:
            if value and value not in shown_text and not _is_encoded(value):
                added.append(value)
        elif shape is dict and key == "file":
            added += _list_file_texts(value, shown_text)
        elif shape is dict or shape is list:
            added += [text for text in list_readable_strings(value) if text not in shown_text]
    return added


def _list_repeated_fields(result: Body, call: str | None, familiar: ShownEarlier) -> Container[str]:
    """List the fields of a structured result that repeat the call or a file that was shown before."""
    input_fields = _NO_OPAQUE_FIELDS
    if call is not None and call in familiar.calls and not result.get("userModified"):
        input_fields = _REPEATED_FIELDS if result.get("type") not in _WRITE_RESULT_TYPES else _REPEATED_WRITE_FIELDS
    if not isinstance(result.get("originalFile"), str):
        return input_fields
    fields = set(input_fields)
    if isinstance(path := result.get("filePath"), str) and path in familiar.files:
        fields.add("originalFile")
    if isinstance(result.get("newString"), str) or isinstance(result.get("content"), str):
        fields.add("structuredPatch")  # it contains only lines from the old file and the new lines
    return fields


def find_whole_file_path(result: Any) -> str | None:
    """Return the path of the file whose whole content, before or after a change, is in a `toolUseResult`."""
    if not isinstance(result, dict):
        return None
    path, read = result.get("filePath"), result.get("file")
    if isinstance(path, str):
        written = result.get("type") in _WRITE_RESULT_TYPES and isinstance(result.get("content"), str)
        return path if written or isinstance(result.get("originalFile"), str) else None
    if isinstance(read, dict) and read.get("startLine") == 1 and read.get("numLines") == read.get("totalLines"):
        path = read.get("filePath")
        return path if isinstance(path, str) and isinstance(read.get("content"), str) else None
    return None


def _list_file_texts(value: Body, shown_text: str) -> list[str]:
    """List text in a Read result that the model did not see; the content itself was shown with numbered lines."""
    values = [inner for key, inner in value.items() if key != "content" and key not in _OPAQUE_FIELDS]
    content = value.get("content")
    if not (isinstance(content, str) and _is_shown_numbered(content, shown_text)):
        values.append(content)
    return [text for text in list_readable_strings(values) if text not in shown_text]


def _is_shown_numbered(content: str, shown_text: str) -> bool:
    """Return whether content was shown with numbered lines, judging by a sample of its lines."""
    if len(content) > len(shown_text):
        return False
    if shown_text.startswith(content):
        return True
    for at in range(0, len(content), len(content) // 6 + 1):
        start = content.rfind("\n", 0, at) + 1
        end = content.find("\n", at)
        if content[start : end if end >= 0 else None] not in shown_text:
            return False
    return True


def _list_paths(fields: Any) -> tuple[str, ...]:
    if not isinstance(fields, dict) or _PATH_FIELDS.isdisjoint(fields):
        return ()
    return tuple(path for key, path in fields.items() if key in _PATH_FIELDS and isinstance(path, str) and path)


def _list_other_texts(kind: str, body: Body) -> list[SearchText]:
    """List the text in an entry other than a message."""
    if field := _TITLE_FIELDS.get(kind):
        title = body.get(field)
        return [SearchText("title", title)] if isinstance(title, str) and title else []
    name = kind if kind in ("attachment", "system") else "other"
    inner = body.get("attachment")
    paths = _list_paths(inner) if isinstance(inner, dict) else _list_tracked_files(body)
    inside = [value for key, value in body.items() if key not in _ENVELOPE_FIELDS]
    found = list(dict.fromkeys(list_readable_strings(inside)))
    queued = _read_queued_text(inner) if kind == "attachment" and isinstance(inner, dict) else None
    if queued is not None:
        found = [text for text in found if queued.words not in text and text not in queued.words]
    text = "\n".join(found)
    failed = kind == "system" and body.get("subtype") == "api_error"
    rest = [SearchText(name, text, paths, None, None, failed)] if text or paths else []
    return [queued, *rest] if queued is not None else rest


def _read_queued_text(attachment: Body) -> SearchText | None:
    """Return what was typed or arrived while the model was working; the client attaches it to the running turn."""
    if attachment.get("type") != "queued_command":
        return None
    text = "\n".join(list_readable_strings(attachment.get("prompt")))
    return SearchText(_classify_speaker(parse_queued_prompt(attachment).speaker.kind), text) if text else None


def _list_tracked_files(body: Body) -> tuple[str, ...]:
    """List the files in a snapshot of the file history, in which their names are keys."""
    snapshot = body.get("snapshot")
    files = snapshot.get("trackedFileBackups") if isinstance(snapshot, dict) else None
    return tuple(files) if isinstance(files, dict) else ()


def list_readable_strings(value: Any, opaque: frozenset[str] = _OPAQUE_FIELDS) -> list[str]:
    """List the strings inside a JSON value in order, without opaque fields and encoded files."""
    found: list[str] = []
    kind = type(value)  # exact types, because values come from a decoder and there are many
    if kind is dict:
        items = iter(_list_visible_values(value, opaque))
    elif kind is list:
        items = iter(value)
    elif kind is str and value:
        items = iter((value,))
    else:
        return found
    waiting: list[Iterator[Any]] = []
    while True:
        for item in items:
            kind = type(item)
            if kind is str:
                if item and (len(item) <= _MIN_ENCODED_CHARS or not _is_encoded(item)):
                    found.append(item)
            elif kind is dict:
                waiting.append(items)
                items = iter(_list_visible_values(item, opaque))
                break
            elif kind is list:
                waiting.append(items)
                items = iter(item)
                break
        else:
            if not waiting:
                return found
            items = waiting.pop()


def _list_visible_values(value: Body, opaque: frozenset[str]) -> Iterable[Any]:
    """List what is inside an object, without opaque fields and encoded data."""
    if "media_type" in value or value.get("type") in _UNREADABLE_TYPES:
        opaque |= _DATA_FIELDS
    elif not opaque:
        return value.values()
    return [inner for key, inner in value.items() if key not in opaque]


def _is_encoded(text: str) -> bool:
    """Return whether the text starts like a base64 file, with a word longer than any in real text."""
    return (
        len(text) > _MIN_ENCODED_CHARS
        and _ENCODED_START.match(text) is not None
        and len(set(text[:_MIN_ENCODED_CHARS])) > _MAX_RULER_LETTERS
    )
