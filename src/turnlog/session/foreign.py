"""Files that are no sessions of Claude Code, though they may look like it: other agents write JSON lines too."""

from __future__ import annotations

from ..entries.entry import Body, Scrap
from ..entries.reader import Transcript
from ..entries.types import ENTRIES

# Fields that the first object has -> what such a file is.
_KNOWN: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"type", "payload", "timestamp"}), "as in a Codex rollout"),
    (frozenset({"id", "timestamp", "instructions"}), "as in an old Codex rollout"),
    (frozenset({"display", "pastedContents"}), "as in the client's prompt history, history.jsonl"),
    (frozenset({"session_id", "hook_event_name"}), "as the client hands it to hooks"),
    (frozenset({"role", "content"}), "as in a plain list of messages"),
)


def foreign(file: Transcript) -> str | None:
    """Why a file is no session of Claude Code, in plain words; None if it is one, or empty."""
    if not file.entries:
        return _no_entry(file)
    first = file.body(file.entries[0])
    if any(entry.type in ENTRIES for entry in file.entries):
        return _streamed(first)
    kind = first.get("type")
    said = f"type {kind!r}" if isinstance(kind, str) else "no type"
    like = next((f", {words}" for fields, words in _KNOWN if fields <= first.keys()), "")
    return f"no entry of it has a type that Claude Code writes; the first has {said}{like}"


def _streamed(first: Body) -> str | None:
    """Output of a headless run: the same types, but neither parents nor session ids as a session file has them."""
    if first.get("type") == "system" and first.get("subtype") == "init" and "sessionId" not in first:
        return "it is what `claude -p --output-format stream-json` prints, not the session file of that run"
    return None


def _no_entry(file: Transcript) -> str | None:
    told = [scrap for scrap in file.scraps if scrap.kind not in ("blank", "bom", "comment", "padding")]
    if not told:
        return None
    whole = b"".join(map(file.raw, file.scraps[:2])).lstrip(b"\xef\xbb\xbf \t\r\n")
    if whole.startswith((b"{", b"[")) and len(file.scraps) > 1:
        return f"no line of it is an entry; it may be one JSON document over several lines ({_reason(told[0])})"
    return f"no line of it is an entry; the first is no JSON object: {_reason(told[0])}"


def _reason(scrap: Scrap) -> str:
    return scrap.reason
