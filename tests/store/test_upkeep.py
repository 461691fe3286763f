"""Emptying, checking and tidying an index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.session.build import Build
from tests.store.index_build import SLUG, TWO, Desk, build_prompts, content, main, recorded_lines, recount_spend
from turnlog.store.index.upkeep import empty_index, list_index_faults, tidy_index


def build_answered_session(number: int = 0) -> bytes:
    build = Build()
    build.prompt("question")
    build.answer("reply", id=f"m{number}", usage={"input_tokens": 3, "output_tokens": 4})
    return build.data()


@pytest.fixture
def filled_desk(desk: Desk) -> Desk:
    """An index of two sessions, of which one is gone."""
    desk.write(main(), build_answered_session())
    desk.write(main(TWO), build_answered_session(1) + b"".join(recorded_lines()[:30]))
    desk.refresh()
    (desk.config / main()).unlink()
    desk.refresh()
    return desk


def test_an_emptied_index_is_filled_again_by_the_next_refresh(filled_desk: Desk, tmp_path: Path) -> None:
    with filled_desk.open() as store:
        assert empty_index(store.db, [filled_desk.config]) == 1
        assert store.db.execute("SELECT count(*) FROM text").get == 0
        store.refresh([filled_desk.config])
        assert content(store.db).there == filled_desk.scratch(tmp_path / "scratch").there


def test_what_deleted_sessions_have_used_stays_counted_when_an_index_is_emptied(filled_desk: Desk) -> None:
    with filled_desk.open() as store:
        before = content(store.db)
        empty_index(store.db, [filled_desk.config])
        store.refresh([filled_desk.config])
        after = content(store.db)
        assert after.spend == recount_spend(store.db) == before.spend
    assert {path: (found.file, found.answers) for path, found in after.gone.items()} == {
        path: (found.file, found.answers) for path, found in before.gone.items()
    }


def test_so_it_does_when_nothing_is_left_to_read(filled_desk: Desk) -> None:
    (filled_desk.config / main(TWO)).unlink()
    filled_desk.refresh()
    with filled_desk.open() as store:
        before = content(store.db).spend
        empty_index(store.db, [filled_desk.config])
        store.refresh([filled_desk.config])
        assert content(store.db).spend == before


def test_an_index_that_is_sound_has_no_faults(filled_desk: Desk) -> None:
    with filled_desk.open() as store:
        assert list(list_index_faults(store.db)) == []


def test_a_file_that_was_changed_behind_its_back_is_told(desk: Desk) -> None:
    path = desk.write(main(), build_prompts("one", "two"))
    desk.refresh()
    path.write_bytes(build_prompts("something else altogether", "and more"))
    with desk.open() as store:
        (fault,) = list_index_faults(store.db)
    assert str(path) in fault
    assert "the next command reads it again" in fault


@pytest.mark.parametrize(
    "data", [b"", build_prompts("one"), build_prompts("one")[:-10]], ids=["empty", "whole", "torn"]
)
def test_a_file_that_was_deleted_meanwhile_is_no_error(desk: Desk, data: bytes) -> None:
    desk.write(main(), data).parent.mkdir(exist_ok=True)
    desk.refresh()
    (desk.config / main()).unlink()
    with desk.open() as store:
        assert all(str(desk.config / main()) in fault for fault in list_index_faults(store.db))


def test_a_file_that_shrank_is_told(desk: Desk) -> None:
    path = desk.write(main(), build_prompts("one", "two"))
    desk.refresh()
    os.truncate(path, 10)
    with desk.open() as store:
        assert len(list(list_index_faults(store.db))) == 1


def test_words_without_a_text_are_told(filled_desk: Desk) -> None:
    with filled_desk.open() as store:
        store.db.execute("DELETE FROM text WHERE id = (SELECT min(id) FROM text)")
        faults = list(list_index_faults(store.db))
    assert any("do not belong to any text" in fault for fault in faults)


def test_a_damaged_full_text_table_is_told(filled_desk: Desk) -> None:
    with filled_desk.open() as store:
        store.db.execute("UPDATE done_data SET block = zeroblob(length(block)) WHERE id > 10")
        assert any("`done` is damaged" in fault for fault in list_index_faults(store.db))


def test_tidying_keeps_everything_and_gives_space_back(desk: Desk, tmp_path: Path) -> None:
    for number in range(20):
        desk.write(
            main(f"{number:08d}-0000-4000-8000-000000000001"),
            b"".join(recorded_lines()[number * 15 : number * 15 + 40]),
        )
        desk.refresh()
    desk.write(f"projects/{SLUG}/{TWO}/subagents/agent-a.jsonl", build_prompts("agent"))
    for number in range(15):
        desk.write(main(f"{number:08d}-0000-4000-8000-000000000001"), build_prompts("short"))
    desk.refresh()
    before = desk.content()
    with desk.open() as store:
        size = store.status().size
        tidy_index(store.db)
        assert store.status().size < size
        assert list(list_index_faults(store.db)) == []
    assert desk.content() == before
    assert desk.content() == desk.scratch(tmp_path / "scratch")
