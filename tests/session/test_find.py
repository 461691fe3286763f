"""Finding a session by what a person calls it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.session.build import Build
from turnlog.demo import config_dir
from turnlog.entries.peek import Peek, peek_safely
from turnlog.entries.titles import SessionTitles
from turnlog.errors import Ambiguous, NotFound
from turnlog.session.session_lookup import SessionFileList, compute_recency, find_session_file, list_sessions_or_demo

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaab-0000-4000-8000-000000000002"
THREE = "cccccccc-0000-4000-8000-000000000003"


def add(
    config: Path, name: str, *, title: str = "", wait: float = 0, slug: str = "-p", mtime: float | None = None
) -> Path:
    build = Build()
    build.wait(wait)
    build.prompt(f"first words of {name[0]}")
    build.answer("hi")
    if title:
        build.note("custom-title", customTitle=title)
    return put(config, name, build.data(), slug=slug, mtime=mtime)


def put(config: Path, name: str, data: bytes, *, slug: str = "-p", mtime: float | None = None) -> Path:
    folder = config / "projects" / slug
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_bytes(data)
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path


def test_a_path_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = add(tmp_path, ONE)
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("HOME", str(path.parent))
    monkeypatch.setenv("USERPROFILE", str(path.parent))
    for name in (str(path), path.name, f"./{path.name}", f"~/{path.name}"):
        assert find_session_file(name, []).resolve() == path.resolve()


@pytest.mark.parametrize("name", ["gone.jsonl", "./gone", "../gone", "~nobody-at-all/gone", os.path.abspath("gone")])  # noqa: PTH100
def test_what_can_only_be_a_path_and_is_none_is_not_found(tmp_path: Path, name: str) -> None:
    add(tmp_path, ONE)
    with pytest.raises(NotFound, match="no such file"):
        find_session_file(name, [tmp_path])


@pytest.mark.parametrize("name", ["/clear", "/CLEAR", "~/notes are gone", "/review all of…"])
def test_a_title_that_looks_like_a_path_is_found(tmp_path: Path, name: str) -> None:
    """Lists print such titles, so they must be understood."""
    titles = ["/clear", "~/notes are gone", "/review all of it"]
    paths = {title: add(tmp_path, f"{number}{ONE[1:]}", title=title) for number, title in enumerate(titles)}
    assert find_session_file(name, [tmp_path]) == next(
        path for title, path in paths.items() if title[:5] == name[:5].lower()
    )


def test_a_mistyped_path_is_not_taken_for_a_part_of_a_title(tmp_path: Path) -> None:
    add(tmp_path, ONE, title="Compare /tmp/gone.jsonl with the other")
    with pytest.raises(NotFound, match=r"/tmp/gone\.jsonl: no such file"):
        find_session_file("/tmp/gone.jsonl", [tmp_path])


def test_a_title_like_a_path_that_two_sessions_have_names_both(tmp_path: Path) -> None:
    add(tmp_path, ONE, title="/clear")
    add(tmp_path, TWO, title="/clear")
    with pytest.raises(Ambiguous, match="2 sessions"):
        find_session_file("/clear", [tmp_path])


def test_a_folder_is_no_session(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="a folder, not a session file; name one of the files in it"):
        find_session_file(str(tmp_path), [tmp_path])


def test_a_session_is_found_by_its_id_or_the_start_of_it_in_any_case(tmp_path: Path) -> None:
    path = add(tmp_path, ONE)
    add(tmp_path, THREE)
    assert find_session_file(ONE, [tmp_path]) == find_session_file("AAA", [tmp_path]) == path


def test_a_session_is_found_by_any_of_its_titles(tmp_path: Path) -> None:
    path = add(tmp_path, ONE, title="Fix a/b  testing")
    other = add(tmp_path, THREE)
    assert find_session_file("fix a/b testing", [tmp_path]) == path
    assert find_session_file("First words of c", [tmp_path]) == other


def test_a_session_is_found_by_a_part_of_its_title_that_no_other_has(tmp_path: Path) -> None:
    one, two = add(tmp_path, ONE, title="Fix cent rounding"), add(tmp_path, TWO, title="Fix the cart")
    for part, path in (("cent", one), ("FIX  Cent", one), ("the cart", two), ("Fix the c…", two)):
        assert find_session_file(part, [tmp_path]) == path


def test_a_whole_title_is_better_than_a_part_of_another(tmp_path: Path) -> None:
    one = add(tmp_path, ONE, title="Fix the cart")
    add(tmp_path, TWO, title="Fix the cart again")
    assert find_session_file("fix the cart", [tmp_path]) == one


def test_a_part_of_several_titles_names_the_sessions(tmp_path: Path) -> None:
    add(tmp_path, ONE, title="Fix cent rounding", mtime=1)
    add(tmp_path, TWO, title="Fix " + "x" * 80, mtime=2)
    told = f"'fix' is in the titles of 2 sessions: {TWO} 'Fix {'x' * 56}…', {ONE} 'Fix cent rounding'; use one of"
    with pytest.raises(Ambiguous, match=re.escape(told)) as error:
        find_session_file("fix", [tmp_path])
    assert error.value.exit_status == 2


def test_of_many_titles_only_some_are_named(tmp_path: Path) -> None:
    for number in range(6):
        add(tmp_path, f"{number}aaaaaaa-0000-4000-8000-000000000001", title=f"Fix {number}")
    with pytest.raises(Ambiguous, match=r"of 6 sessions: .* …; use one of these ids"):
        find_session_file("fix", [tmp_path])


def test_a_title_in_the_middle_of_a_large_file_is_found_and_an_index_spares_reading_it(tmp_path: Path) -> None:
    build = Build()
    build.prompt("first words")
    build.answer("y" * 200_000)
    build.note("custom-title", customTitle="In the middle")
    build.answer("y" * 200_000)
    path = put(tmp_path, ONE, build.data())
    assert find_session_file("in the middle", [tmp_path]) == path
    known = {str(path): Peek(titles=SessionTitles(custom="As the index has it"))}
    assert find_session_file("as the index", [tmp_path], lambda files: known) == path


def test_a_very_long_title_is_no_path(tmp_path: Path) -> None:
    path = add(tmp_path, ONE, title="word " * 100)
    assert find_session_file("word " * 100, [tmp_path]) == path


def test_leftovers_are_not_found_by_the_titles_of_others(tmp_path: Path) -> None:
    path = put(tmp_path, ONE, b'{"type":"summary","summary":"T","leafUuid":"x"}\n' + Build().data())
    with pytest.raises(NotFound):
        find_session_file("T", [tmp_path])
    assert find_session_file("aaa", [tmp_path]) == path


def test_a_start_that_fits_several_ids_names_them(tmp_path: Path) -> None:
    add(tmp_path, ONE, mtime=1)
    add(tmp_path, TWO, mtime=2)
    with pytest.raises(Ambiguous, match=f"'aaaa' matches 2 sessions: {TWO}, {ONE}; use more of the id"):
        find_session_file("aaaa", [tmp_path])


def test_of_many_only_some_are_named(tmp_path: Path) -> None:
    for number in range(7):
        add(tmp_path, f"aaaaaaaa-0000-4000-8000-00000000000{number}")
    with pytest.raises(Ambiguous, match=r"matches 7 sessions: .* …; use more of the id"):
        find_session_file("aaaa", [tmp_path])


def test_the_same_session_in_two_folders_is_told_apart_by_path(tmp_path: Path) -> None:
    one, two = add(tmp_path, ONE, slug="-p", mtime=1), add(tmp_path, ONE, slug="-q", mtime=2)
    with pytest.raises(Ambiguous) as error:
        find_session_file(ONE, [tmp_path])
    assert str(error.value) == f"'{ONE}' matches 2 sessions: {two}, {one}; use the path"


@pytest.mark.parametrize("name", ["aabaaaaa", "ccccdccc-0000", "frist words of a"])
def test_an_unknown_name_names_the_closest(tmp_path: Path, name: str) -> None:
    add(tmp_path, ONE)
    add(tmp_path, THREE)
    with pytest.raises(NotFound, match=r"closest matches: .*; `turnlog ls` lists all sessions") as error:
        find_session_file(name, [tmp_path])
    assert (ONE if name[0] in "af" else THREE) in str(error.value)


@pytest.mark.parametrize("name", ["zzzz", ""])
def test_a_name_like_none_is_just_unknown(tmp_path: Path, name: str) -> None:
    add(tmp_path, ONE)
    with pytest.raises(NotFound, match=f"^no session is called '{name}'; `turnlog ls` lists all sessions$"):
        find_session_file(name, [tmp_path])


def test_last_is_the_session_with_the_newest_word_not_the_newest_file(tmp_path: Path) -> None:
    """A title that was written later, or a copy, does not make a session newer."""
    add(tmp_path, ONE, mtime=1_900_000_000)
    newest = add(tmp_path, TWO, wait=3600, mtime=1_800_000_000)
    put(tmp_path, THREE, b"", mtime=1_950_000_000)
    assert find_session_file("last", [tmp_path]) == newest


def test_what_was_written_before_the_newest_word_is_not_the_last_session(tmp_path: Path) -> None:
    newest = add(tmp_path, ONE, wait=3600)
    add(tmp_path, TWO, wait=10**7, mtime=1_000_000_000)
    assert find_session_file("last", [tmp_path]) == newest


def test_a_machine_with_nothing_but_leftovers_has_no_last_session(tmp_path: Path) -> None:
    put(tmp_path, ONE, b"")
    with pytest.raises(NotFound, match="no session on this machine contains a conversation"):
        find_session_file("last", [tmp_path])


def test_a_machine_without_sessions_has_those_of_the_demo(tmp_path: Path) -> None:
    files, is_demo, _ = list_sessions_or_demo([tmp_path])
    assert is_demo
    assert find_session_file("last", [tmp_path]) == find_session_file("Volume discounts", [])
    assert {item.config_dir for item in files} == {config_dir()}
    add(tmp_path, ONE)
    assert isinstance(list_sessions_or_demo([tmp_path]), SessionFileList)
    assert not list_sessions_or_demo([tmp_path]).is_demo


def test_a_session_without_any_time_is_as_old_as_its_file(tmp_path: Path) -> None:
    put(tmp_path, ONE, b'{"type":"user","message":{"content":"x"}}\n', mtime=1_000_000_000)
    (item,) = list_sessions_or_demo([tmp_path]).files
    assert compute_recency(item, peek_safely(item.file)) == 1_000_000_000
    assert compute_recency(item, peek_safely(item.file), is_demo=True) == 0


def test_a_file_that_vanished_tells_nothing(tmp_path: Path) -> None:
    path = add(tmp_path, ONE)
    (item,) = list_sessions_or_demo([tmp_path]).files
    path.unlink()
    assert peek_safely(item.file).junk == "unreadable"


def test_the_last_session_is_found_by_its_last_timestamp_if_a_copy_gave_all_files_the_same_time(tmp_path: Path) -> None:
    for number in range(30):
        build = Build()
        build.prompt(f"session {number}", timestamp=f"2026-03-{number % 29 + 1:02d}T08:00:00.000Z")
        path = put(tmp_path, f"aaaaaaaa-0000-4000-8000-{number:012d}", build.data())
        os.utime(path, (1_800_000_000, 1_800_000_000))
    assert find_session_file("last", [tmp_path]).stem.endswith("028")
