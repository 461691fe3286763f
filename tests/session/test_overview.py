"""What a session is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.entries.title_rows import ROWS, write
from tests.session.build import Build, base, find_recording, genuine, open_variant
from turnlog.entries.titles import read_titles
from turnlog.session.overview import count_entries_by_type, list_distinct
from turnlog.session.session import Session
from turnlog.session.texts.lines import read_text_lines
from turnlog.session.texts.outline import TranscriptOutline


def test_a_given_title_is_better_than_one_of_the_model_and_that_better_than_the_first_prompt() -> None:
    build = base()
    assert build.session().title == "u1 text"
    build.note("summary", summary="An old summary", leafUuid="a3")
    assert build.session().title == "An old summary"
    build.note("ai-title", aiTitle="By the model")
    assert build.session().title == "By the model"
    build.note("custom-title", customTitle="By the user")
    assert build.session().title == "By the user"


def test_the_last_title_counts() -> None:
    build = base()
    build.note("custom-title", customTitle="One")
    build.note("custom-title", customTitle="Two")
    build.note("custom-title", customTitle="")
    build.note("custom-title", customTitle=7)
    assert build.session().title == "Two"


def test_the_first_and_the_last_prompt_are_both_kept() -> None:
    build = base()
    build.note("last-prompt", lastPrompt="u3 text", leafUuid="a3")
    titles = build.session().titles
    assert (titles.first_prompt, titles.last_prompt) == ("u1 text", "u3 text")


def test_the_last_summary_counts_whatever_entry_it_names() -> None:
    """Whether the entry is in the file can't be told from its ends, and all lists must show the same title."""
    build = base()
    build.note("summary", summary="Mine", leafUuid="a2")
    build.note("summary", summary="Somebody's", leafUuid=["odd"])
    assert build.session().titles.summary == "Somebody's"
    build.note("summary", summary=5)
    assert build.session().titles.summary == "Somebody's"


def test_a_prompt_without_words_gives_no_title() -> None:
    build = Build()
    build.prompt([{"type": "image"}])
    build.answer("a cat")
    assert build.session().title is None


def test_a_notification_gives_no_title() -> None:
    build = Build()
    build.prompt("<task-notification>over</task-notification>")
    build.answer("I see.")
    build.prompt("what now?")
    assert build.session().title == "what now?"


@pytest.mark.parametrize(
    ("run", "title"),
    [
        ("2.1.325/tui_basic", "Fruit shop"),
        ("2.1.45/tui_basic", "Fruit shop"),
        ("2.1.325/plain", "hello"),
        ("2.0.76/tui_edge", "EDIT-ONE please"),
    ],
)
def test_recorded_sessions_have_the_title_that_was_given_or_typed_first(run: str, title: str) -> None:
    assert genuine(run).title == title


def test_each_value_is_named_once_in_order() -> None:
    assert list_distinct(["b", None, "a", "b", ""]) == ["b", "a"]


def test_versions_models_folders_and_git_branches_are_listed() -> None:
    build = base()
    build.prompt("more", cwd="/home/dana/webshop/src", version="2.1.326", gitBranch="main")
    build.answer("yes", model="claude-sonnet-5", gitBranch="fix")
    build.answer("No response requested.", model="<synthetic>")
    session = build.session()
    assert session.versions == ["2.1.325", "2.1.326"]
    assert session.models == ["claude-opus-5", "claude-sonnet-5"]
    assert session.folders == ["/home/dana/webshop", "/home/dana/webshop/src"]
    assert session.git_branches == ["main", "fix"]


def test_a_session_lasts_from_its_first_to_its_last_time() -> None:
    assert base().session().span == ("2026-01-01T10:01:00.000Z", "2026-01-01T10:06:00.000Z")
    assert Session.from_bytes(b"").span == (None, None)


def test_when_turnlog_made_a_copy_is_not_when_the_session_ran() -> None:
    build = base()
    span = build.session().span
    build.note("turnlog", verb="clone", timestamp="2027-01-01T00:00:00.000Z")
    assert build.session().span == span


def test_entries_are_counted_by_type_and_subtype() -> None:
    build = base()
    build.system("turn_duration", durationMs=5)
    build.lines.append({"x": 1})
    assert count_entries_by_type(build.session().file.entries) == {
        "user": 3,
        "assistant": 3,
        "system/turn_duration": 1,
        "(no type)": 1,
    }


def test_each_change_of_the_permission_mode_is_told_once() -> None:
    build = Build()
    build.note("permission-mode", permissionMode="default")
    build.prompt(permissionMode="default")
    build.prompt(permissionMode="plan")
    build.prompt(permissionMode=3)
    build.prompt(permissionMode="default")
    session = build.session()
    modes = session.permission_modes
    assert [event.value for event in modes] == ["default", "plan", "default"]
    assert modes[1].time == "2026-01-01T10:02:00.000Z"


def test_pull_requests_are_named_once() -> None:
    build = Build()
    build.note("pr-link", prUrl="https://example.org/1")
    build.note("pr-link", prUrl="https://example.org/1")
    build.note("pr-link", prUrl=5)
    session = build.session()
    assert session.pull_requests == ["https://example.org/1"]


def test_failed_requests_and_answers_that_are_errors_are_told() -> None:
    build = base()
    build.system("api_error", error={"status": 529})
    build.answer("API Error: 529", isApiErrorMessage=True, model="<synthetic>")
    build.row("assistant", message={"content": "Request timed out"}, isApiErrorMessage=True)
    build.row("assistant", message="lost", isApiErrorMessage=True)
    build.row("assistant", message={"content": [3]}, isApiErrorMessage=True)
    session = build.session()
    values = [event.value for event in session.api_errors]
    assert values == [{"status": 529}, "API Error: 529", "Request timed out", None, None]


def test_recorded_retries_are_told() -> None:
    session = genuine("2.1.325/errors")
    assert len(session.api_errors) >= 4


def test_the_id_is_the_name_of_the_file(tmp_path: Path, open_session: Callable[[Path], Session]) -> None:
    path = find_recording("2.1.325/plain")
    assert open_session(path).session_id == path.stem
    other = tmp_path / "copy.jsonl"
    other.write_bytes(path.read_bytes())
    assert open_session(other).session_id == path.stem


def test_without_a_file_name_the_id_is_what_most_entries_say() -> None:
    build = base()
    build["u1"]["sessionId"] = "another"
    assert build.session().session_id == build["u2"]["sessionId"]
    assert open_variant("minimum-without-sessionid").session_id is None


@given(rows=ROWS)
def test_the_index_and_whoever_opens_a_session_give_it_the_title_that_lists_do(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any]
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "named.jsonl", *rows)
    outline = TranscriptOutline()
    for placed in filter(None, read_text_lines(path.read_bytes().splitlines(keepends=True))):
        outline.add_placed_line(placed)
    with Session.open(path) as session:
        assert session.title == outline.best == read_titles(path).best
        assert session.prompts == outline.prompts
