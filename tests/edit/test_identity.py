"""New ids: every id of a session's entries, wherever it stands but in texts, and no other byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import DATA, Build, encode_lines
from turnlog.edit.id_renewal import UNTOUCHED_TEXT_KEYS, IdRenewer, create_uuid
from turnlog.entries.reader import Transcript
from turnlog.session.session import Session

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
OLD = "11111111-2222-4333-8444-555555555555"
GENUINE = sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl"))


def renew_ids(data: bytes, old: str, identity: IdRenewer | None = None) -> bytes:
    """A whole file with new ids, as often as it takes."""
    ids = identity or IdRenewer(old, create_uuid())
    out = b"".join(map(ids.renew_line, data.splitlines(keepends=True)))
    if not ids.is_complete:
        ids.reset_mistakes()
        out = b"".join(map(ids.renew_line, data.splitlines(keepends=True)))
    return out


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from strings(inner, name)
            yield name, name
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, key)
    elif isinstance(value, str):
        yield key, value


def outside_texts(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The strings of an entry that are no texts: of what a tool gave back, only ids and paths of the client's own."""
    for key, value in body.items():
        if key == "toolUseResult":
            yield from ((k, v) for k, v in strings(value) if k in ("persistedOutputPath", "outputFile"))
        elif key == "attachment":
            yield from ((k, v) for k, v in strings(value) if UUID.fullmatch(v))
        elif key not in UNTOUCHED_TEXT_KEYS:
            yield from strings(value, key)


@pytest.mark.parametrize("path", GENUINE, ids=lambda path: path.relative_to(DATA / "sessions").as_posix())
def test_no_old_id_survives_outside_of_texts(path: Path) -> None:
    data = path.read_bytes()
    before, after = Transcript.from_bytes(data), Transcript.from_bytes(renew_ids(data, path.stem))
    old = {path.stem, *before.by_uuid}
    for entry in after.entries:
        found = {
            (key, value)
            for key, value in outside_texts(after.read_body(entry))
            for uuid in UUID.findall(value)
            if uuid in old
        }
        # Files that the session worked on are called what they are called on the disk.
        assert {(k, v) for k, v in found if k not in ("trackingPath", "filePath") and "/" not in k} == set()


@pytest.mark.parametrize("path", GENUINE, ids=lambda path: path.relative_to(DATA / "sessions").as_posix())
def test_the_copy_hangs_together_as_its_source_does_and_says_the_same(path: Path) -> None:
    data = path.read_bytes()
    copy = renew_ids(data, path.stem)
    before, after = Session.from_bytes(data), Session.from_bytes(copy)
    assert [entry.parent for entry in before.file.entries] == [entry.parent for entry in after.file.entries]
    assert len(after.file.by_uuid) == len(before.file.by_uuid)
    assert not set(after.file.by_uuid) & set(before.file.by_uuid)
    for one, other in zip(before.file.entries, after.file.entries, strict=True):
        old, new = before.read_body(one), after.read_body(other)
        assert old.get("message") == new.get("message")
        assert [key for key in old if key != "forkedFrom"] == list(new)
    if any(entry.type in ("user", "assistant") and not entry.is_sidechain for entry in before.entries):
        assert before.conversation().messages == after.conversation().messages


def test_the_same_id_is_the_same_everywhere() -> None:
    build = Build()
    prompt = build.prompt("one", uuid=create_uuid(), promptId=create_uuid())
    build.answer("two", uuid=create_uuid())
    build.note("last-prompt", leafUuid=prompt, lastPrompt=prompt)
    build.note("file-history-snapshot", messageId=prompt, snapshot={"messageId": prompt})
    rows = [json.loads(line) for line in renew_ids(encode_lines(build.lines), OLD).splitlines()]
    uuid = rows[0]["uuid"]
    assert uuid != prompt
    assert (
        rows[1]["parentUuid"] == rows[2]["leafUuid"] == rows[3]["messageId"] == rows[3]["snapshot"]["messageId"] == uuid
    )
    assert rows[2]["lastPrompt"] == prompt, "a text stays as it is"
    assert len({row["sessionId"] for row in rows}) == 1


def test_an_id_in_a_key_that_nobody_knows_is_found_although_its_entry_comes_later() -> None:
    later, strange = create_uuid(), create_uuid()
    lines: list[dict[str, Any]] = [
        {"type": "news", "about": {"entry": [later], "other": strange}},
        {"type": "user", "uuid": later},
    ]
    rows = [json.loads(line) for line in renew_ids(encode_lines(lines), OLD).splitlines()]
    assert rows[0]["about"]["entry"] == [rows[1]["uuid"]]
    assert rows[0]["about"]["other"] == strange


def test_paths_into_the_sessions_own_folder_name_the_new_session() -> None:
    ids = IdRenewer(OLD, create_uuid())
    result = {"persistedOutputPath": f"/c/projects/p/{OLD}/tool-results/1.txt", "stdout": f"see {OLD}"}
    row = json.loads(ids.renew_line(encode_lines([{"type": "user", "toolUseResult": result}])))
    assert row["toolUseResult"]["persistedOutputPath"] == f"/c/projects/p/{ids.new}/tool-results/1.txt"
    assert row["toolUseResult"]["stdout"] == f"see {OLD}"


def test_a_copy_does_not_say_that_it_was_forked_where_its_source_was() -> None:
    line = encode_lines([{"type": "user", "forkedFrom": {"sessionId": OLD, "messageUuid": create_uuid()}}])
    assert json.loads(IdRenewer(OLD, create_uuid()).renew_line(line)) == {"type": "user"}


@pytest.mark.parametrize(
    "line",
    [
        "garbage {uuid} {sid}\n",
        '{{"uuid":"{uuid}","sessionId":"{sid}","a":',
        '{{"uuid":"{uuid}"}}{{"sessionId":"{sid}"}}\n',
    ],
)
def test_lines_that_are_no_entries_keep_all_but_ids(line: str) -> None:
    uuid = create_uuid()
    ids = IdRenewer(OLD, create_uuid(), [uuid])
    old = line.format(uuid=uuid, sid=OLD)
    assert ids.renew_line(old.encode()).decode() == line.format(uuid=ids.renew_uuid(uuid), sid=ids.new)


def test_nobody_stays_nobody() -> None:
    nobody = "00000000-0000-0000-0000-000000000000"
    assert json.loads(IdRenewer(OLD, create_uuid()).renew_line(encode_lines([{"leafUuid": nobody}]))) == {
        "leafUuid": nobody
    }


def test_a_list_that_can_not_be_decoded_stays() -> None:
    deep = b'{"news":' + b"[" * 2000 + b"]" * 2000 + b',"uuid":"x"}\n'
    assert b"[" * 2000 in IdRenewer(OLD, create_uuid()).renew_line(deep)


@given(st.binary(max_size=200))
def test_any_bytes_are_taken(raw: bytes) -> None:
    IdRenewer(OLD, create_uuid()).renew_line(raw)


def test_ids_are_random_uuids_of_version_4() -> None:
    ids = {create_uuid() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", one) for one in ids)
