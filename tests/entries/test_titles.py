"""The names of a session: which entries give them, and that no way of reading a file finds others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.entries.title_rows import FILLER, ROWS, build_prompt_row, build_title_row, write
from turnlog.entries.peek import complete_all_titles, complete_titles, peek_file, peek_safely, read_best_title
from turnlog.entries.titles import TITLE_ORDER, SessionTitles, read_titles


def test_a_title_between_the_two_ends_of_a_large_file_is_found(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl", build_prompt_row("typed"), FILLER, build_title_row("custom-title", "Named"), FILLER
    )
    assert peek_safely(str(path)).titles is None
    assert read_best_title(path) == "Named"


def test_a_prompt_behind_the_first_window_is_better_than_a_command_in_it(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        build_prompt_row("<command-name>/clear</command-name>"),
        FILLER,
        build_prompt_row("typed"),
        FILLER,
    )
    assert read_best_title(path) == "typed"


def test_a_title_that_a_person_gave_at_the_end_needs_no_further_reading(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", build_prompt_row("typed"), FILLER, build_title_row("custom-title", "Named"))
    ends = peek_safely(str(path))
    assert ends.titles is not None
    assert ends.titles.best == "Named"


def test_an_empty_title_takes_no_other_away(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        build_title_row("ai-title", "Old"),
        build_title_row("ai-title", ""),
        build_title_row("ai-title", None),
    )
    assert read_best_title(path) == "Old"
    assert read_titles(path).best == "Old"


def test_lines_that_name_nothing_change_nothing(tmp_path: Path) -> None:
    lines = [
        b'{"type":"user","message":{"content":"later"}}',
        b'{"type":"user",',
        b'{"x":"user","type":["user"]}',
        b"{}",
    ]
    path = write(tmp_path / "s.jsonl", build_prompt_row("first"), *lines)
    assert read_titles(path) == SessionTitles(first_prompt="first")


def test_a_file_that_is_gone_has_no_title(tmp_path: Path) -> None:
    assert read_best_title(tmp_path / "none.jsonl") is None
    assert complete_all_titles([str(tmp_path / "none.jsonl")]) == [SessionTitles()]


def test_many_files_give_their_titles_in_the_order_given(tmp_path: Path) -> None:
    paths = [str(write(tmp_path / f"{n}.jsonl", build_prompt_row(f"prompt {n}"))) for n in range(100)]
    assert [titles.best for titles in complete_all_titles(paths)] == [f"prompt {n}" for n in range(100)]


@pytest.mark.parametrize("count", range(len(TITLE_ORDER)))
def test_the_first_name_in_the_order_is_shown(count: int) -> None:
    names = TITLE_ORDER[count:]
    assert SessionTitles(**{name: name for name in names}).best == names[0]


@given(rows=ROWS)
def test_the_ends_of_a_file_give_the_title_of_the_whole_or_none(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "titles.jsonl", *rows)
    assert complete_titles(str(path), peek_file(path)).best == read_titles(path).best
