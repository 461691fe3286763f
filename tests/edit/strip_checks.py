"""What must hold of a stripped session, whatever was wished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from turnlog.edit.draft import Draft
from turnlog.edit.strip.fates import FATE_GONE
from turnlog.edit.strip.strip import StripResult, strip_session
from turnlog.edit.strip.strip_options import StripOptions, StripRule
from turnlog.edit.strip.strip_plan import plan_strip
from turnlog.entries.entry import NO_PARENT
from turnlog.errors import Refused
from turnlog.session.graph import is_said
from turnlog.session.session import Session

THINKING = ("thinking", "redacted_thinking")
TAIL = ("last-prompt", "permission-mode", "mode", "ai-title", "custom-title", "tag", "agent-name")
EXTREME = StripOptions(StripRule(0, 0, 0), thinking=0, images=0, noise=True, duplicates=True, stale_reads=True)
Line = dict[str, Any]


def strip_draft(session: Session, wishes: StripOptions) -> StripResult:
    return strip_session(session, Draft.from_transcript(session.file), wishes)


def result(session: Session, wishes: StripOptions) -> Session:
    return Session(strip_draft(session, wishes).draft.to_transcript())


def must_be_sound(session: Session, wishes: StripOptions) -> Session:
    """Strip a session, and see that it is still the same one."""
    done = strip_draft(session, wishes)
    data = b"".join(done.draft.iterate_lines())
    after = Session.from_bytes(data)
    assert len(data) == done.report.bytes_after <= done.report.bytes_before
    assert b"".join(strip_draft(after, wishes).draft.iterate_lines()) == data, "stripping twice is stripping once"
    _graph(session, after)
    _blocks(session, after)
    _tail(session, after)
    if not session.file.repeated:  # of rows with one uuid the client takes the last
        _conversation(session, after, wishes)
    return after


def _graph(before: Session, after: Session) -> None:
    dangling = {row.parent_uuid for row in before.graph.rows_missing_parent}
    assert {row.parent_uuid for row in after.graph.rows_missing_parent} <= dangling
    assert len(after.graph.cycles) <= len(before.graph.cycles)
    assert {row.uuid for row in after.graph.roots} >= {row.uuid for row in before.graph.roots if _stays(row, after)}
    for kind in ("user", "assistant"):
        had = any(row.type == kind for row in before.entries)
        assert had == any(row.type == kind for row in after.entries)
    for row in after.graph.rows:
        if is_said(row) and row.uuid and (way := _prompts_above(before, row.uuid)):
            assert _prompts_above(after, row.uuid) == way, "branches stay branches"


def _stays(row: Any, after: Session) -> bool:
    return row.uuid in after.file.by_uuid


def _prompts_above(session: Session, uuid: str) -> list[str | None]:
    """The prompts that lead to a row; nothing for one that descends from no root."""
    way = list(session.graph.walk_up(uuid))
    return [row.uuid for row in way if row.type == "user" and is_said(row)] if way[-1].parent == NO_PARENT else []


def _blocks(before: Session, after: Session) -> None:
    """Pairs stay pairs, nothing is empty, and what was said is said."""
    had = _ids(before)
    has = _ids(after)
    assert has["tool_use"].keys() & had["tool_result"].keys() == has["tool_result"].keys() & had["tool_use"].keys()
    assert Counter(_texts(after)) == Counter(_texts(before))
    assert _empty(after) <= _empty(before)


def _empty(session: Session) -> int:
    spoken = (row for row in session.entries if row.type in ("user", "assistant") and row.message)
    return sum(row.message.content == [] for row in spoken if row.message)


def _ids(session: Session) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {"tool_use": {}, "tool_result": {}}
    for row in session.entries:
        for block in row.message.blocks if row.message and row.type in ("user", "assistant") else ():
            key = block.id if block.type == "tool_use" else block.tool_use_id
            if block.type in found and key:
                found[block.type][key] = row.index
    return found


def _texts(session: Session) -> Iterator[str]:
    for row in session.entries:
        message = session.read_body(row).get("message") if row.type in ("user", "assistant") else None
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks if isinstance(blocks, list) else ():
            text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
            if isinstance(text, str) and text.strip() and not text.startswith("[turnlog: "):
                yield text


def _tail(before: Session, after: Session) -> None:
    for kind in TAIL:
        old, new = (_last(session, kind) for session in (before, after))
        assert old == new, kind


def _last(session: Session, kind: str) -> Line | None:
    rows = [entry for entry in session.file.entries if entry.type == kind and not entry.is_lost]
    return {k: v for k, v in session.read_body(rows[-1]).items() if k != "leafUuid"} if rows else None


def _conversation(before: Session, after: Session, wishes: StripOptions) -> None:
    """What would be sent is the same, without what was taken out."""
    try:
        old = before.conversation()
    except Refused:
        return
    new = after.conversation()
    assert new.leaf.uuid == old.leaf.uuid
    chosen = plan_strip(before, wishes)
    gone = {("tool_use", key) for key, fate in chosen.calls.items() if fate.degree == FATE_GONE}
    gone |= {("tool_result", key) for key, fate in chosen.results.items() if fate.degree == FATE_GONE}
    said, left = list(_iter_blocks(new.messages)), [said for said in _iter_blocks(old.messages) if said[1:] not in gone]
    if all(row.message and row.message.id for row in before.entries if row.type == "assistant"):
        assert said == left
    else:  # the client takes rows without an id for one message, as long as no prompt stands between them
        assert sorted(map(str, said)) == sorted(map(str, left))
    thoughts = iter([block for message in old.messages for block in message["content"] if block["type"] in THINKING])
    for message in new.messages:
        assert message["content"]
        assert any(block["type"] not in THINKING for block in message["content"])
        assert all(block in thoughts for block in message["content"] if block["type"] in THINKING)


def _iter_blocks(messages: list[Line]) -> Iterator[tuple[str, str, Any]]:
    for message in messages:
        for block in message["content"]:
            kind = block["type"]
            if kind in ("image", "document") or (kind == "text" and block["text"].endswith(", was removed]")):
                yield message["role"], "picture", None
            elif kind not in THINKING:
                yield message["role"], kind, block.get("id") or block.get("tool_use_id") or block.get("text")
