"""The files that a session's calls touched."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import Build, genuine


def build_touching(*calls: tuple[str, Any, bool | None]) -> Build:
    """A session with calls: (tool, input, whether the result is an error or None for no result)."""
    build = Build()
    build.prompt()
    for number, (name, given, error) in enumerate(calls):
        build.call(f"c{number}", name, given)
        if error is not None:
            build.result(f"c{number}", error=error)
    return build


def test_reads_and_writes_are_counted_for_each_file() -> None:
    build = build_touching(
        ("Read", {"file_path": "/a"}, False),
        ("Edit", {"file_path": "/a"}, False),
        ("Write", {"file_path": "/b"}, False),
        ("NotebookEdit", {"notebook_path": "/n"}, False),
        ("Read", {"file_path": "/a"}, False),
    )
    found = [(item.path, item.reads, item.writes, item.failures) for item in build.session().files]
    assert found == [("/a", 2, 1, 0), ("/b", 0, 1, 0), ("/n", 0, 1, 0)]


def test_a_file_is_known_from_its_first_touch_to_its_last() -> None:
    build = build_touching(("Read", {"file_path": "/a"}, False), ("Read", {"file_path": "/a"}, False))
    (item,) = build.session().files
    assert (item.first, item.last) == (build.lines[1]["timestamp"], build.lines[3]["timestamp"])


@pytest.mark.parametrize("error", [True, None])
def test_a_call_that_failed_or_was_never_answered_touched_nothing(error: bool | None) -> None:
    (item,) = build_touching(("Write", {"file_path": "/a"}, error)).session().files
    assert (item.reads, item.writes, item.failures) == (0, 0, 1)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Bash", {"file_path": "/a"}),
        ("Read", {}),
        ("Read", {"file_path": ""}),
        ("Read", {"file_path": 5}),
        ("Read", "x"),
    ],
)
def test_calls_without_a_path_touch_no_file(name: str, given: Any) -> None:
    assert build_touching((name, given, False)).session().files == []


def test_a_recorded_session_touched_the_files_of_its_script() -> None:
    found = {item.path.rsplit("/", 1)[-1]: item for item in genuine("2.1.325/tui_edge").files}
    assert found["cart.py"].reads == 1
    assert found["cart.py"].writes == 2
    assert found["NOTES.md"].writes == 1
