"""What one call changed, from whatever of it was recorded."""

from __future__ import annotations

from typing import Any

import pytest

from turnlog.session.files.changes import (
    GUESSED_TABS_NOTE,
    NO_TEXT_NOTE,
    NOTEBOOK_NOTE,
    TEXT_NOT_FOUND_NOTE,
    UNKNOWN_BEFORE_NOTE,
    FileChange,
    build_command_change,
    build_edit_change,
    build_notebook_change,
    build_write_change,
)
from turnlog.session.files.contents import FileContent, TextForm, to_file_content
from turnlog.session.files.patches import apply_hunks, compare_texts


def patch(before: str, after: str) -> list[dict[str, Any]]:
    """A patch as the client records it."""
    return [
        {
            "oldStart": max(hunk.old_start, 1),
            "oldLines": hunk.old_count,
            "newStart": max(hunk.new_start, 1),
            "newLines": hunk.new_count,
            "lines": list(hunk.lines),
        }
        for hunk in compare_texts(before, after)
    ]


def edit(given: Any = None, result: Any = None, known: str | None = None, *, absent: bool = False) -> FileChange:
    return build_edit_change(given, result, None if known is None else to_file_content(known), absent=absent)


def after(change: FileChange) -> str | None:
    return change.after.file_text if change.after else None


ONE = {"oldString": "two", "newString": "2", "replaceAll": False}


def test_a_recorded_patch_that_fits_the_recorded_file_is_the_difference() -> None:
    change = edit({}, ONE | {"originalFile": "one\ntwo\n", "structuredPatch": patch("one\ntwo\n", "one\n2\n")})
    assert (after(change), change.source, change.note) == ("one\n2\n", "patch", None)


def test_the_strings_and_the_file_before_are_enough() -> None:
    change = edit({}, ONE | {"originalFile": "one\ntwo\n"})
    assert (after(change), change.source) == ("one\n2\n", "texts")


def test_the_input_and_what_is_known_of_the_file_are_enough() -> None:
    change = edit({"old_string": "two", "new_string": "2"}, None, "one\ntwo\ntwo\n")
    assert (after(change), change.source) == ("one\n2\ntwo\n", "texts")


def test_replace_all_replaces_all() -> None:
    change = edit({"old_string": "two", "new_string": "2", "replace_all": True}, None, "two\ntwo\n")
    assert after(change) == "2\n2\n"


def test_what_is_taken_away_takes_its_line_end_with_it() -> None:
    assert after(edit({"old_string": "two", "new_string": ""}, None, "one\ntwo\nthree\n")) == "one\nthree\n"
    assert after(edit({"old_string": "two\n", "new_string": ""}, None, "one\ntwo\n\n")) == "one\n\n"
    assert after(edit({"old_string": "tw", "new_string": ""}, None, "two\n")) == "o\n"


def test_several_edits_follow_each_other() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]
    change = edit({"edits": edits}, {"originalFileContents": "a\n"})
    assert after(change) == "c\n"


def test_a_patch_in_which_tabs_became_spaces_does_not_spoil_the_file() -> None:
    before, wanted = "f:\n\tone\n\t\ttwo\n", "f:\n\tone\n\t\t2\n"
    spaced = patch(before.replace("\t", "  "), wanted.replace("\t", "  "))
    change = edit({}, {"oldString": "\t\ttwo", "newString": "\t\t2", "originalFile": before, "structuredPatch": spaced})
    assert (after(change), change.source) == (wanted, "texts")


def test_added_lines_get_their_tabs_back_even_if_the_patch_fits() -> None:
    spaced = patch("one\n", "one\n  two\n")
    change = edit(
        {}, {"oldString": "one", "newString": "one\n\ttwo", "originalFile": "one\n", "structuredPatch": spaced}
    )
    assert after(change) == "one\n\ttwo\n"


def test_where_strings_and_patch_say_different_things_the_patch_is_believed() -> None:
    result = ONE | {"originalFile": "one\ntwo\n", "structuredPatch": patch("one\ntwo\n", "one\nzwei\n")}
    assert after(edit({}, result)) == "one\nzwei\n"


def test_a_patch_is_enough_where_the_strings_are_not_found() -> None:
    result = {"oldString": "gone", "newString": "x", "originalFile": "a\n", "structuredPatch": patch("a\n", "b\n")}
    assert after(edit({}, result)) == "b\n"


def test_a_patch_alone_is_a_difference_of_an_unknown_file() -> None:
    change = edit({}, ONE | {"originalFile": None, "structuredPatch": patch("one\ntwo\n", "one\n2\n")})
    assert (change.before, change.after, change.source, change.note) == (None, None, "patch", None)
    assert change.hunks is not None
    assert apply_hunks("one\ntwo\n", change.hunks) == "one\n2\n"


def test_the_tabs_of_an_unknown_file_are_guessed_and_that_is_said() -> None:
    before, wanted = "\tone\n\t\ttwo\n", "\tone\n\t\t2\n"
    spaced = patch(before.replace("\t", "  "), wanted.replace("\t", "  "))
    change = edit({}, {"oldString": "\t\ttwo", "newString": "\t\t2", "structuredPatch": spaced})
    assert change.note == GUESSED_TABS_NOTE
    assert change.hunks is not None
    assert apply_hunks(before, change.hunks) == wanted


def test_a_recorded_patch_that_does_not_fit_what_was_known_stands_alone() -> None:
    """A command changed the file meanwhile."""
    result = ONE | {"originalFile": None, "structuredPatch": patch("new\none\ntwo\n", "new\none\n2\n")}
    change = edit({}, result, "one\ntwo\n")
    assert (change.before, change.source) == (None, "patch")
    assert change.hunks is not None
    assert apply_hunks("new\none\ntwo\n", change.hunks) == "new\none\n2\n"
    over = build_write_change(
        {"content": "x\n"}, {"type": "update", "structuredPatch": patch("new\n", "x\n")}, to_file_content("old\n")
    )
    assert (over.before, over.source) == (None, "patch")


def test_a_recorded_patch_is_kept_even_if_it_does_not_fit_the_recorded_file() -> None:
    change = edit({}, ONE | {"originalFile": "other\n", "structuredPatch": patch("a\n", "b\n")})
    assert (change.after, change.source, change.note) == (None, "patch", TEXT_NOT_FOUND_NOTE)


@pytest.mark.parametrize(
    ("given", "result", "known", "note"),
    [
        ({"old_string": "a", "new_string": "b"}, None, None, UNKNOWN_BEFORE_NOTE),
        ({"old_string": "a", "new_string": "b"}, None, "x\n", TEXT_NOT_FOUND_NOTE),
        ({"old_string": "", "new_string": "b"}, None, "x\n", TEXT_NOT_FOUND_NOTE),
        ({"old_string": "x"}, None, "x\n", TEXT_NOT_FOUND_NOTE),
        ({"edits": [5]}, None, "x\n", TEXT_NOT_FOUND_NOTE),
        ("x", 5, None, UNKNOWN_BEFORE_NOTE),
    ],
)
def test_it_is_said_why_an_edit_cannot_be_rebuilt(given: Any, result: Any, known: str | None, note: str) -> None:
    change = edit(given, result, known)
    assert (change.after, change.hunks, change.note) == (None, None, note)


@pytest.mark.parametrize(("known", "absent"), [(None, False), ("", False), ("stale\n", True)])
def test_an_edit_that_replaces_nothing_makes_a_file(known: str | None, absent: bool) -> None:
    change = edit({"old_string": "", "new_string": "made\n"}, None, known, absent=absent)
    assert (after(change), change.created) == ("made\n", True)


def test_line_ends_and_mark_of_the_file_are_kept() -> None:
    known = FileContent("one\ntwo\n", TextForm(True, True))
    change = build_edit_change(
        {},
        ONE | {"originalFile": "one\ntwo\n", "structuredPatch": patch("one\ntwo\n", "one\n2\n")},
        known,
        absent=False,
    )
    assert after(change) == "\ufeffone\r\n2\r\n"
    assert change.hunks is not None
    assert change.hunks[0].lines == (" \ufeffone\r", "-two\r", "+2\r")


# -- Write


def test_a_write_over_a_recorded_file_is_the_difference_of_both() -> None:
    change = build_write_change(
        {"content": "proposal"}, {"type": "update", "content": "new\n", "originalFile": "old\n"}, None
    )
    assert (after(change), change.created, change.source) == ("new\n", False, "texts")
    assert change.before == to_file_content("old\n")


def test_a_write_over_a_known_file_is_the_difference_to_that() -> None:
    change = build_write_change({"content": "new\n"}, {"type": "update"}, to_file_content("old\n"))
    assert change.before == to_file_content("old\n")
    assert change.hunks is not None


def test_a_write_that_makes_a_file_begins_with_nothing() -> None:
    change = build_write_change(
        {"content": "new\n"}, {"type": "create", "originalFile": None}, to_file_content("stale\n")
    )
    assert (change.created, change.before, after(change)) == (True, None, "new\n")


def test_a_write_over_an_unknown_file_still_tells_what_the_file_holds_then() -> None:
    change = build_write_change({"content": "new\n"}, None, None)
    assert (after(change), change.hunks, change.note) == ("new\n", None, UNKNOWN_BEFORE_NOTE)


@pytest.mark.parametrize(("text", "note"), [("new\n", None), ("\tnew\n", GUESSED_TABS_NOTE)])
def test_a_write_with_a_patch_alone_has_that_difference(text: str, note: str | None) -> None:
    change = build_write_change({"content": text}, {"structuredPatch": patch("old\n", "new\n")}, None)
    assert (after(change), change.source, change.note) == (text, "patch", note)


def test_a_write_without_text_is_not_rebuilt() -> None:
    assert build_write_change("x", {"content": 5}, None).note == NO_TEXT_NOTE


@pytest.mark.parametrize(
    ("original", "text", "wanted"),
    [
        ("a\r\nb\r\n", "new\ntext\n", "new\r\ntext\r\n"),
        ("a\r\nb\r\n", "new\r\n", "new\r\r\n"),
        ("a\r\nb\nc\n", "new\n", "new\n"),
        ("a\nb\n", "new\r\n", "new\r\n"),
    ],
)
def test_a_client_that_records_carriage_returns_also_writes_them(original: str, text: str, wanted: str) -> None:
    assert after(build_write_change({}, {"content": text, "originalFile": original}, None)) == wanted


# -- notebooks and commands


def test_a_notebook_before_and_after_is_recorded() -> None:
    change = build_notebook_change(
        {"original_file": '{"a": 1}\n', "updated_file": '{"a": 2}\n'}, to_file_content("x\r\n")
    )
    assert (after(change), change.source) == ('{"a": 2}\r\n', "texts")


@pytest.mark.parametrize("result", [None, {"original_file": "x"}, {"updated_file": "x"}])
def test_older_clients_do_not_record_the_notebook(result: Any) -> None:
    assert build_notebook_change(result, None).note == NOTEBOOK_NOTE


def test_a_command_changes_what_was_known() -> None:
    change = build_command_change({"hunks": patch("a\n", "b\n")}, to_file_content("a\n"))
    assert (after(change), change.created) == ("b\n", False)


def test_a_command_makes_a_file() -> None:
    change = build_command_change({"hunks": patch("", "b\n"), "created": True}, to_file_content("stale\n"))
    assert (after(change), change.created, change.before) == ("b\n", True, None)


def test_the_patch_of_a_command_stands_alone_where_the_file_is_not_known_or_another() -> None:
    for known in (None, to_file_content("other\n")):
        change = build_command_change({"hunks": patch("a\n", "b\n")}, known)
        assert change.hunks is not None
        assert change.after is None


def test_a_command_without_hunks_is_not_rebuilt() -> None:
    change = build_command_change({"hunks": [], "created": True}, None)
    assert (change.hunks, change.created) == (None, True)
