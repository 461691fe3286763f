"""Clones: a new session with new ids, all that belongs to it, and the source as it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.edit.furnished_session import MINE, picture
from tests.session.build import DATA, Build
from turnlog.edit.clone import clone_session
from turnlog.edit.closing_entries import compose_copy_title
from turnlog.edit.draft import Draft
from turnlog.edit.id_renewal import create_uuid
from turnlog.entries.reader import Transcript
from turnlog.errors import TurnlogError, UsageError
from turnlog.session.session import Session

SESSIONS = sorted(path for path in DATA.glob("sessions/*/*/projects/*/????????-*.jsonl") if path.stat().st_size > 5000)


def copy_recording(tmp_path: Path, path: Path) -> Path:
    """A recorded session in a config folder that may be written to."""
    shutil.copytree(path.parents[2], tmp_path / "claude", copy_function=shutil.copyfile)
    return tmp_path / "claude" / path.relative_to(path.parents[2])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.relative_to(DATA / "sessions").as_posix())
def test_a_clone_of_a_genuine_session_says_the_same_and_has_the_same_sub_agents(tmp_path: Path, path: Path) -> None:
    source = copy_recording(tmp_path, path)
    before = source.read_bytes()
    made = clone_session(source)
    with Session.open(source) as old, Session.open(made.path) as new:
        talks = any(row.type in ("user", "assistant") for row in old.entries if not row.is_sidechain)
        if talks:
            assert old.conversation().messages == new.conversation().messages
        assert [agent.agent_id for agent in old.agents] == [agent.agent_id for agent in new.agents]
        assert [turn.prompt for turn in old.turns] == [turn.prompt for turn in new.turns]
        assert len(old.graph.branches) == len(new.graph.branches)
        assert new.title == made.title
        assert made.title.startswith("Clone of ")
        assert len(new.file.entries) == len(old.file.entries) + 3
    assert source.read_bytes() == before


def test_all_that_belongs_to_a_session_goes_along_and_nothing_else_changes(session: Path, config: Path) -> None:
    before = picture(config)
    made = clone_session(session)
    after = picture(config)
    assert {place: seen for place, seen in after.items() if place in before and seen.kind != 0o040000} == {
        place: seen for place, seen in before.items() if seen.kind != 0o040000
    }
    new = {place.replace(made.session_id, "NEW") for place in set(after) - set(before)}
    project = "projects/-home-dana-webshop/NEW"
    assert {place for place in new if after[place.replace("NEW", made.session_id)].kind == 0o100000} == {
        f"{project}.jsonl",
        f"{project}/custom-title.json",
        f"{project}/subagents/agent-a1b2c3d.jsonl",
        f"{project}/subagents/agent-a1b2c3d.meta.json",
        f"{project}/subagents/agent-beef.jsonl",
        f"{project}/subagents/workflows/wf_1/journal.jsonl",
        f"{project}/tool-results/toolu_1.txt",
        "file-history/NEW/0123@v1",
        "todos/NEW-agent-NEW.json",
        "tasks/NEW/1.json",
    }
    assert all(MINE not in place for place in set(after) - set(before))


def test_where_it_came_from_is_written_into_the_clone(session: Path) -> None:
    made = clone_session(session)
    first = rows(made.path)[0]
    assert (first["type"], first["verb"]) == ("turnlog", "clone")
    assert first["forkedFrom"] == {"sessionId": MINE}


def test_a_clone_of_a_clone_counts_and_still_names_its_source(session: Path) -> None:
    one = clone_session(session)
    two = clone_session(one.path)
    assert two.title == one.title.replace("Clone of", "Clone 2 of")
    origins = [row["forkedFrom"]["sessionId"] for row in rows(two.path) if "forkedFrom" in row]
    assert origins == [one.session_id]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fix it", "Clone of Fix it"),
        ("Clone of Fix it", "Clone 2 of Fix it"),
        ("Clone 9 of Fix it", "Clone 10 of Fix it"),
        ("Fork of Fix it", "Clone 2 of Fix it"),
        (None, "Clone of 11111111"),
        ("a\x1b[31m\nb", "Clone of a [31m b"),
    ],
)
def test_titles_tell_what_a_session_is(title: str | None, expected: str) -> None:
    assert compose_copy_title("clone", title, MINE) == expected


def test_a_title_of_ones_own(session: Path) -> None:
    assert clone_session(session, title="Second try").title == "Second try"
    with pytest.raises(UsageError, match="empty"):
        clone_session(session, title="  ")


def test_broken_and_unknown_lines_come_along(session: Path) -> None:
    with session.open("ab") as file:
        file.write(b'garbage\n{"type":"news","uuid":"u","what":[1.0]}\n\n{"type":"user","par')
    made = clone_session(session)
    lines = made.path.read_bytes().splitlines()
    assert b"garbage" in lines
    assert any(b'"what":[1.0]' in line for line in lines)
    assert b'{"type":"user","par' not in lines
    assert Transcript.from_bytes(made.path.read_bytes()).scraps


def test_what_stands_in_the_way_is_not_overwritten_and_nothing_stays(session: Path, config: Path) -> None:
    new = create_uuid()
    session.with_name(f"{new}.jsonl").write_text("mine")
    before = picture(config)
    with pytest.raises(TurnlogError, match="already exists"):
        clone_session(session, new=new)
    assert picture(config).keys() == before.keys()


def test_when_a_file_can_not_be_written_it_is_named_and_nothing_stays(session: Path, config: Path) -> None:
    new = create_uuid()
    (config / "tasks" / new).write_text("no folder")
    before = picture(config)
    with pytest.raises(TurnlogError, match=f"tasks/{new}.*; nothing was written"):
        clone_session(session, new=new)
    assert picture(config).keys() == before.keys()


def test_a_result_that_resumes_worse_is_refused(session: Path, config: Path) -> None:
    before = picture(config)
    with Session.open(session) as opened:
        draft = Draft.from_transcript(opened.file)
        answers = {at for at, row in enumerate(draft.rows) if row.entry and row.entry.type == "assistant"}
        with pytest.raises(TurnlogError, match="would be harder to resume"):
            clone_session(session, draft.without_rows(answers))
    assert picture(config) == before


def test_a_file_outside_of_any_config_folder_is_cloned_beside_itself(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    build.answer("hi")
    (tmp_path / "loose").mkdir()
    made = clone_session(build.write(tmp_path / "loose", MINE))
    assert made.path.parent == tmp_path / "loose"
    assert made.files == 0
    assert [path.name for path in (tmp_path / "loose").iterdir() if path.is_dir()] == []


def test_an_id_that_is_known_only_later_makes_all_be_written_again(session: Path) -> None:
    later = create_uuid()
    body = session.read_bytes()
    session.write_bytes(
        json.dumps({"type": "news", "about": later}).encode()
        + b"\n"
        + body
        + json.dumps({"type": "user", "uuid": later}).encode()
    )
    found = rows(clone_session(session).path)
    assert found[1]["about"] == next(row["uuid"] for row in reversed(found) if row["type"] == "user")
    assert found[1]["about"] != later


def test_no_more_than_was_there_at_the_start_is_copied(session: Path) -> None:
    whole = session.read_bytes()
    made = clone_session(session)
    assert len(rows(made.path)) == len(whole.splitlines()) + 3


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello\nworld\n", "none of its lines is a Claude Code entry"),
        (b'{"role":"user","content":"hi"}\n', "as in a plain list of messages"),
        (b"x" * 300_000, "none of its lines is a Claude Code entry"),
    ],
)
def test_a_file_that_is_no_session_is_told_with_the_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / f"{MINE}.jsonl"
    path.write_bytes(data)
    with pytest.raises(TurnlogError, match=f"not a Claude Code session: .*{reason}"):
        clone_session(path)
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_a_session_whose_first_line_is_very_long_is_one(tmp_path: Path) -> None:
    build = Build()
    build.prompt("x" * 300_000)
    build.answer("hi")
    assert clone_session(build.write(tmp_path, MINE)).size > 300_000


@pytest.mark.parametrize("draft", [False, True])
@pytest.mark.parametrize("tail", [b'{"type":"user","mess', b"\xff\xfe", b'{"type":"user"', b"[", b"\0" * 99])
def test_a_last_line_that_is_cut_off_is_left_out_and_told(session: Path, tail: bytes, draft: bool) -> None:
    whole = clone_session(session)
    session.write_bytes(session.read_bytes() + tail)
    file = Transcript.open(session)
    made = clone_session(session, Draft.from_transcript(file) if draft else None)
    file.close()
    assert (whole.torn_bytes, made.torn_bytes) == (0, len(tail))
    with Session.open(made.path) as found:
        assert [scrap.kind for scrap in found.file.scraps] == []
    assert len(rows(made.path)) == len(rows(whole.path))


@pytest.mark.parametrize("draft", [False, True])
def test_a_whole_last_line_without_its_end_stays(session: Path, draft: bool) -> None:
    session.write_bytes(session.read_bytes() + b'{"type":"mode","mode":"x"}{"type":"mode","mode":"y"}')
    file = Transcript.open(session)
    made = clone_session(session, Draft.from_transcript(file) if draft else None)
    file.close()
    assert made.torn_bytes == 0
    assert b'"mode":"y"}\n' in made.path.read_bytes()


@pytest.mark.parametrize("draft", [False, True])
def test_nul_bytes_that_are_not_the_last_line_stay(session: Path, draft: bool) -> None:
    """Without them the client would read what it passes over now."""
    session.write_bytes(session.read_bytes() + b"\0\0\n" + b'{"type":"mode","mode":"y"}\0\0')
    file = Transcript.open(session)
    made = clone_session(session, Draft.from_transcript(file) if draft else None)
    file.close()
    assert made.torn_bytes == 0
    assert b"\0\0\n" in made.path.read_bytes()
    assert b'"mode":"y"}\0\0\n' in made.path.read_bytes()


FOREIGN = "f0f0f0f0-0000-4000-8000-00000000000{}"


def test_ids_that_no_entry_has_stay_and_the_others_follow(session: Path) -> None:
    entries = [json.loads(line) for line in session.read_bytes().splitlines()]
    own, foreign = entries[0]["uuid"], [FOREIGN.format(digit) for digit in range(5)]
    head = [
        {"type": "summary", "summary": "of another session", "leafUuid": foreign[0]},
        {"type": "summary", "summary": "of this one", "leafUuid": own},
        {"type": "file-history-snapshot", "messageId": own, "snapshot": {"messageId": own, "trackedFileBackups": {}}},
        {"type": "file-history-snapshot", "messageId": foreign[1], "snapshot": {"messageId": foreign[1]}},
    ]
    tail = [{"type": "system", "uuid": FOREIGN.format(9), "parentUuid": own, "logicalParentUuid": foreign[2]}]
    lines = [json.dumps(row).encode() + b"\n" for row in [*head, *entries, *tail]]
    glued = b'{"type":"last-prompt","leafUuid":"%b"}{"type":"last-prompt","leafUuid":"%b"}\n'
    session.write_bytes(b"".join(lines) + glued % (foreign[3].encode(), foreign[4].encode()))
    made = clone_session(session)
    raw = made.path.read_bytes().splitlines()
    found = [json.loads(line) for line in raw if b"}{" not in line]
    uuids = {row["uuid"] for row in found if "uuid" in row}
    other, mine, first, second = found[1:5]
    assert other["leafUuid"] == foreign[0]
    assert mine["leafUuid"] in uuids
    assert (first["messageId"], first["snapshot"]["messageId"]) == (mine["leafUuid"], mine["leafUuid"])
    assert (second["messageId"], second["snapshot"]["messageId"]) == (foreign[1], foreign[1])
    assert next(row for row in found if row["type"] == "system")["logicalParentUuid"] == foreign[2]
    assert next(line for line in raw if b"}{" in line) == (glued % (foreign[3].encode(), foreign[4].encode()))[:-1]
    assert own.encode() not in made.path.read_bytes()
