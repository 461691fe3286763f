"""Files that are not Claude Code sessions but may look like sessions, since other agents also write JSON lines."""

from __future__ import annotations

from turnlog.entries.entry import Body
from turnlog.entries.format import load_format
from turnlog.entries.reader import Transcript

# Fields of the first object -> what kind of file it is.
_KNOWN_FORMATS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"type", "payload", "timestamp"}), "as in a Codex rollout"),
    (frozenset({"id", "timestamp", "instructions"}), "as in an old Codex rollout"),
    (frozenset({"display", "pastedContents"}), "as in the client's prompt history, history.jsonl"),
    (frozenset({"session_id", "hook_event_name"}), "as in the input of a hook"),
    (frozenset({"role", "content"}), "as in a plain list of messages"),
)


def explain_foreign_file(file: Transcript) -> str | None:
    """Explain in plain words why a file is not a Claude Code session; return None if it is one or is empty."""
    known = load_format().entries
    if any(entry.type in known for entry in file.entries):
        return _explain_streamed_output(file.read_body(file.entries[0])) or _explain_other_agent(file)
    if not file.entries or (file.scraps and file.scraps[0].offset < file.entries[0].offset):
        return _explain_first_line(file)
    first = file.read_body(file.entries[0])
    kind = first.get("type")
    found = f"type {kind!r}" if isinstance(kind, str) else "no type"
    like = next((f", {origin}" for fields, origin in _KNOWN_FORMATS if fields <= first.keys()), "")
    if file.entries[0].flaw == "spread":
        like += "; the file may be one JSON document over several lines"
    return f"none of its entries has a type that Claude Code writes; the first has {found}{like}"


def _explain_streamed_output(first: Body) -> str | None:
    """Recognise the output of a headless run: the same entry types as in a session, without parents and session ids."""
    if first.get("type") == "system" and first.get("subtype") == "init" and "sessionId" not in first:
        return "it is the output of `claude -p --output-format stream-json`, not the session file of that run"
    return None


def _explain_other_agent(file: Transcript) -> str | None:
    """Recognise agents that copied Claude Code's entries, but keep what was said in another form."""
    first = next((entry for entry in file.entries if entry.type in ("user", "assistant")), None)
    if first is None or first.message is None or first.message.content is not None:
        return None
    if isinstance(file.read_body(first)["message"].get("parts"), list):
        return "its messages have `parts` in place of `content`, as in a session of Qwen Code"
    return None


def _explain_first_line(file: Transcript) -> str | None:
    """Explain a file that starts with something other than an entry."""
    bad_kinds = (scrap for scrap in file.scraps if scrap.kind not in ("blank", "bom", "comment", "padding"))
    scrap = next(bad_kinds, None)
    if scrap is None:
        return "none of its entries has a type that Claude Code writes" if file.entries else None
    if scrap.kind == "broken" and file.read_raw(scrap).lstrip().startswith((b"{", b"[")):
        return f"line 1 is not an entry; the file may be one JSON document over several lines ({scrap.reason})"
    return f"none of its lines is a Claude Code entry; the first problem: {scrap.reason}"
