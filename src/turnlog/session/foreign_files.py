"""Files that are no sessions of Claude Code, though they may look like it: other agents write JSON lines too."""

from __future__ import annotations

from turnlog.entries.entry import Body
from turnlog.entries.format import load_format
from turnlog.entries.reader import Transcript

# Fields that the first object has -> what such a file is.
_KNOWN_FORMATS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"type", "payload", "timestamp"}), "as in a Codex rollout"),
    (frozenset({"id", "timestamp", "instructions"}), "as in an old Codex rollout"),
    (frozenset({"display", "pastedContents"}), "as in the client's prompt history, history.jsonl"),
    (frozenset({"session_id", "hook_event_name"}), "as the client hands it to hooks"),
    (frozenset({"role", "content"}), "as in a plain list of messages"),
)


def explain_foreign_file(file: Transcript) -> str | None:
    """Why a file is no session of Claude Code, in plain words; None if it is one, or empty."""
    known = load_format().entries
    if any(entry.type in known for entry in file.entries):
        return _explain_streamed_output(file.read_body(file.entries[0]))
    if not file.entries or (file.scraps and file.scraps[0].offset < file.entries[0].offset):
        return _explain_first_line(file)
    first = file.read_body(file.entries[0])
    kind = first.get("type")
    said = f"type {kind!r}" if isinstance(kind, str) else "no type"
    like = next((f", {words}" for fields, words in _KNOWN_FORMATS if fields <= first.keys()), "")
    return f"no entry of it has a type that Claude Code writes; the first has {said}{like}"


def _explain_streamed_output(first: Body) -> str | None:
    """Output of a headless run: the same types, but neither parents nor session ids as a session file has them."""
    if first.get("type") == "system" and first.get("subtype") == "init" and "sessionId" not in first:
        return "it is what `claude -p --output-format stream-json` prints, not the session file of that run"
    return None


def _explain_first_line(file: Transcript) -> str | None:
    """The same for a file that begins with something else than an entry."""
    told = next((scrap for scrap in file.scraps if scrap.kind not in ("blank", "bom", "comment", "padding")), None)
    if told is None:
        return "no entry of it has a type that Claude Code writes" if file.entries else None
    if told.kind == "broken" and file.read_raw(told).lstrip().startswith((b"{", b"[")):
        return f"line 1 is no entry; it may be one JSON document over several lines ({told.reason})"
    return f"no line of it is an entry of Claude Code; the first says: {told.reason}"
