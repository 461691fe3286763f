"""Whatever is wrong with whatever session, a repair loses nothing that was said, and a second one has nothing to do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edit.test_strip_any import Wild
from tests.session.build import DATA
from turnlog.edit.illnesses.catalogue import ILLNESSES, REPAIRS_BY_KIND, diagnose_session
from turnlog.edit.illnesses.repair import (
    RepairOutcome,
    count_sent_blocks,
    repair_session,
)
from turnlog.edit.illnesses.verdict import judge_session
from turnlog.session.session import Session

TELLING = {"torn-line", "broken-line", "control-bytes", "other-session", "duplicate-uuid"}
"""Kinds whose repair leaves something out, and says so."""


def texts(session: Session) -> Counter[str]:
    """What people and models said, in all entries that can be read."""
    found: Counter[str] = Counter()
    for entry in session.file.entries:
        message = session.read_body(entry).get("message") if entry.type in ("user", "assistant") else None
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks if isinstance(blocks, list) else []:
            if isinstance(block, dict) and block.get("type") == "text":
                found[str(block.get("text"))] += 1
    return found


def must_be_well(data: bytes, only: tuple[str, ...] = ()) -> None:
    source = Session.from_bytes(data)
    before = judge_session(source)
    found = repair_session(source, only)
    if found.draft is None:
        return
    after = Session(found.draft.file)
    if not TELLING & {treatment.kind for treatment in found.treatments if treatment.done}:
        assert not texts(source) - texts(after)
    assert judge_session(after).resumes >= before.resumes
    must_send_no_less(source, after, found, only)
    sick = {symptom.kind for symptom in diagnose_session(after) if symptom.severity != "info" or symptom.kind in only}
    assert sick.isdisjoint(treatment.kind for treatment in found.treatments if treatment.left == 0)
    if found.is_cured:
        assert repair_session(after, only) == RepairOutcome([], None, [])


def must_send_no_less(source: Session, after: Session, found: RepairOutcome, only: tuple[str, ...]) -> None:
    """Whatever is wrong with a session, only a repair that was asked for by its name takes away what is sent."""
    done = {treatment.kind for treatment in found.treatments if treatment.done}
    exempt = {name for kind in done for name in ILLNESSES[kind].refused_blocks}
    if done.isdisjoint(only):
        assert {name for name, _ in count_sent_blocks(source) - count_sent_blocks(after)} <= exempt


GENUINE = sorted([*DATA.glob("sessions/**/????????-*.jsonl"), *DATA.glob("variants/*.jsonl")])


@pytest.mark.parametrize("path", GENUINE, ids=lambda path: path.relative_to(DATA).as_posix())
def test_a_genuine_session_with_a_hole_in_it_is_repaired(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for at in {len(lines) // 4, len(lines) // 2, len(lines) - 2}:
        must_be_well(b"".join(lines[: max(at, 0)] + lines[at + 1 :]))


@pytest.mark.corpus
def test_sessions_of_other_people_are_repaired(corpus: Path) -> None:
    for path in sorted([*corpus.glob("wild/**/*.jsonl"), *corpus.glob("variants/*.jsonl")]):
        if path.stat().st_size < 1 << 20:
            must_be_well(path.read_bytes())


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!"}}
HARM = (
    "parent cut copy copy-changed root swap drop-result drop-call time sidechain stranger strange-tail thinking image"
    " name glue tear control leaf boundary"
).split()


class Harmed(Wild):
    """A session as it may come, and then some harm."""

    def harm(self) -> bytes:
        tail = b""
        for _ in range(self._draw(st.integers(1, 4))):
            rows = [line for line in self.lines if "uuid" in line]
            if rows:
                what = str(self._draw(st.sampled_from(HARM)))
                tail = self._one(self._draw(st.sampled_from(rows)), rows, what) or tail
        data = self.data()
        lines = data.splitlines(keepends=True)
        if tail == b"glue" and lines:
            at = self._draw(st.integers(0, len(lines) - 1))
            lines[at] = self._draw(st.sampled_from([b"", b"\0\0", b'{"type":"us'])) + lines[at].rstrip()
            return b"".join(lines)
        if tail == b"control":
            return data.replace(b"do it", b"do\x02 it", 1).replace(b"text of", b"text\nof", 1)
        return data + (b'{"type":"us' if tail == b"tear" else b"")

    def _one(self, row: dict[str, Any], rows: list[dict[str, Any]], what: str) -> bytes | None:
        other = self._draw(st.sampled_from(rows))
        message = row.get("message", {})
        match what:
            case "parent":
                row["parentUuid"] = self.pick("gone", other["uuid"])
            case "root":
                row["parentUuid"] = None
            case "cut":
                self.lines.remove(row)
            case "copy":
                self.lines.append(dict(row))
            case "copy-changed":
                self.lines.append({**row, "parentUuid": self.pick(row["parentUuid"], other["uuid"]), "n": 1})
            case "swap":
                at, to = self.lines.index(row), self.lines.index(other)
                self.lines[at], self.lines[to] = self.lines[to], self.lines[at]
            case "drop-result" | "drop-call":
                kind = "tool_result" if what == "drop-result" else "tool_use"
                content = message.get("content")
                if isinstance(content, list):
                    message["content"] = [block for block in content if block.get("type") != kind]
            case "time":
                row["timestamp"] = self.pick(None, "never", other["timestamp"])
            case "sidechain":
                row["isSidechain"] = True
            case "stranger":
                row["sessionId"] = "another"
            case "strange-tail":
                for later in rows[rows.index(row) :]:
                    later["sessionId"] = "another"
            case "thinking" | "image" | "name" if isinstance(message.get("content"), list):
                block = {"thinking": {"type": "thinking", "thinking": "x"}, "image": IMAGE}.get(what)
                message["content"].append(block or {"type": "tool_use", "id": "cx", "name": "n" * 300, "input": {}})
            case "leaf":
                self.note("last-prompt", leafUuid=self.pick("gone", other["uuid"]))
            case "boundary":
                self.boundary(preservedMessages={"anchorUuid": row["uuid"], "uuids": ["gone", other["uuid"]]})
            case _:
                return what.encode()
        return None


@st.composite
def draw_harmed_session(draw: st.DrawFn) -> bytes:
    build = Harmed(draw)
    build.grow()
    return build.harm()


@given(draw_harmed_session())
def test_any_session_is_repaired_without_losing_what_was_said(data: bytes) -> None:
    must_be_well(data)


@given(draw_harmed_session(), st.sampled_from(list(REPAIRS_BY_KIND)))
def test_any_kind_alone_is_repaired_without_losing_what_was_said(data: bytes, kind: str) -> None:
    must_be_well(data, (kind,))


@given(st.binary(max_size=300))
def test_any_bytes_can_be_given(data: bytes) -> None:
    repair_session(Session.from_bytes(data))
