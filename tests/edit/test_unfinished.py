"""What a killed clone leaves behind is removed by the next one, and is never taken for a lost session."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from tests.edit.furnished_session import MINE, furnish, picture
from tests.edit.kill_steps import is_killed_at
from turnlog.edit.clone import clone_session
from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.illnesses.lost_transcripts import list_leftovers
from turnlog.edit.unfinished_sessions import keep_unfinished_note, remove_unfinished
from turnlog.entries.clients import read_process_domain
from turnlog.entries.layout import MAKING_NOTE_PREFIX

posix = pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signals")


def without_times(config: Path) -> dict[str, str]:
    return {place: seen.content for place, seen in picture(config).items()}


@posix
def test_killed_before_any_step_nothing_is_left_after_the_next_clone(tmp_path: Path) -> None:
    for step in range(1, 200):
        config = tmp_path / str(step) / "claude"
        session = furnish(config)
        ghost, new = create_uuid(), create_uuid()
        known = {item.session_id for item in list_leftovers(config)}
        if not is_killed_at(lambda: clone_session(session, new=ghost), step):  # noqa: B023 - used at once
            break
        assert (session.parent / f"{ghost}.jsonl").exists() or {
            item.session_id for item in list_leftovers(config)
        } == known
        clone_session(session, new=new)
        is_made = (session.parent / f"{ghost}.jsonl").exists()
        names = [place for place in without_times(config) if ".turnlog" in place or (ghost in place and not is_made)]
        assert names == [], step
    else:
        pytest.fail("it never came to its end")
    assert step > 20


def test_a_session_that_another_process_is_making_is_left_alone(session: Path, config: Path) -> None:
    ghost = session.with_name(f"{create_uuid()}.jsonl")
    with keep_unfinished_note(ghost, config):
        ghost.with_suffix("").mkdir()
        assert remove_unfinished(session.parent, config) == []
        assert ghost.with_suffix("").is_dir()
    assert not list(session.parent.glob(f"{MAKING_NOTE_PREFIX}*"))


def test_a_session_that_was_finished_stays_and_only_its_note_goes(session: Path, config: Path) -> None:
    note = session.with_name(MAKING_NOTE_PREFIX + MINE)
    note.write_text(json.dumps({"pid": 0, "pidDomain": read_process_domain()}))
    before = without_times(config)
    assert remove_unfinished(session.parent, config) == []
    assert before == {
        **without_times(config),
        note.relative_to(config).as_posix(): before[note.relative_to(config).as_posix()],
    }


def test_a_note_of_another_machine_counts_for_a_day(session: Path, config: Path) -> None:
    ghost = create_uuid()
    note = session.with_name(MAKING_NOTE_PREFIX + ghost)
    note.write_text(json.dumps({"pid": 1, "pidDomain": "linux:another:pid:[1]"}))
    assert remove_unfinished(session.parent, config) == []
    os.utime(note, (time.time() - 90_000, time.time() - 90_000))
    assert remove_unfinished(session.parent, config) == [ghost]


def test_a_link_among_what_was_left_is_removed_and_not_followed(session: Path, config: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").write_text("mine")
    ghost = create_uuid()
    session.with_name(ghost).symlink_to(tmp_path / "mine")
    session.with_name(MAKING_NOTE_PREFIX + ghost).write_text(json.dumps({"pid": 0, "pidDomain": read_process_domain()}))
    remove_unfinished(session.parent, config)
    assert not os.path.lexists(session.with_name(ghost))
    assert (tmp_path / "mine" / "text").read_text() == "mine"
