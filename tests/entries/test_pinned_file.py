"""What was decided about a file holds for the file that is read or written, whatever happens to its path meanwhile."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from turnlog.entries.pinned_file import PinnedFile
from turnlog.errors import Changed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs links")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("secret")
    return folder


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "inside"
    (folder / "d").mkdir(parents=True)
    (folder / "d" / "a.txt").write_text("mine")
    return folder


def replace_by_link(path: Path, target: Path) -> None:
    shutil.move(path, path.with_name("moved"))
    path.symlink_to(target)


ACTIONS: list[Callable[[PinnedFile], object]] = [
    PinnedFile.check,
    PinnedFile.stat,
    PinnedFile.read,
    PinnedFile.unlink,
    lambda file: file.replace(b"evil", mode=0),
]


@pytest.mark.parametrize("act", ACTIONS)
@pytest.mark.parametrize("name", ["d/a.txt", "d/new.txt", "d/x/y/new.txt"])
def test_nothing_is_done_behind_a_folder_that_was_replaced_by_a_link(
    inside: Path, outside: Path, act: Callable[[PinnedFile], object], name: str
) -> None:
    file = PinnedFile(inside / name)
    replace_by_link(inside / "d", outside)
    with pytest.raises(Changed, match="replaced in the meantime"):
        act(file)
    assert [path.name for path in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_text() == "secret"
    assert (inside / "moved" / "a.txt").read_text() == "mine"


@pytest.mark.parametrize("act", ACTIONS[1:])
def test_nothing_is_done_behind_a_file_that_was_replaced_by_a_link(
    inside: Path, outside: Path, act: Callable[[PinnedFile], object]
) -> None:
    file = PinnedFile(inside / "d" / "a.txt")
    replace_by_link(inside / "d" / "a.txt", outside / "a.txt")
    with pytest.raises(Changed):
        act(file)
    assert (outside / "a.txt").read_text() == "secret"


@pytest.mark.parametrize("act", ACTIONS)
def test_a_folder_that_was_replaced_by_another_one_or_removed_is_not_used(
    inside: Path, act: Callable[[PinnedFile], object]
) -> None:
    for is_new in (True, False):
        file = PinnedFile(inside / "d" / "a.txt")
        shutil.move(inside / "d", inside / f"moved{is_new}")
        if is_new:
            (inside / "d").mkdir()
            (inside / "d" / "a.txt").write_text("other")
        with pytest.raises(Changed):
            act(file)


def test_a_missing_folder_that_appears_as_a_link_is_not_followed(inside: Path, outside: Path) -> None:
    file = PinnedFile(inside / "new" / "a.txt")
    (inside / "new").symlink_to(outside)
    with pytest.raises(Changed):
        file.replace(b"evil", mode=0)
    assert (outside / "a.txt").read_text() == "secret"


def test_a_link_that_appears_just_before_the_write_is_not_followed(inside: Path, outside: Path) -> None:
    """The check of the path came before; only the open folder is left to rely on."""
    file = PinnedFile(inside / "d" / "a.txt")
    with pytest.raises(Changed):
        file.replace(b"new", mode=0o600, check=lambda: replace_by_link(inside / "d", outside))
    assert (outside / "a.txt").read_text() == "secret"
    assert [path.name for path in (inside / "moved").iterdir()] == ["a.txt"]


def test_a_folder_that_is_replaced_while_it_is_entered_is_not_used(inside: Path, outside: Path) -> None:
    """A path that leads back when it is checked: only following no link tells the difference."""

    class Restless(PinnedFile):
        def check(self) -> None:
            super().check()
            if not os.path.lexists(inside / "new"):
                (inside / "new").symlink_to(outside)

    with pytest.raises(Changed):
        Restless(inside / "new" / "a.txt").replace(b"evil", mode=0)
    assert (outside / "a.txt").read_text() == "secret"


def test_a_file_behind_a_link_is_the_file_that_the_link_leads_to(inside: Path) -> None:
    (inside / "link").symlink_to("d/a.txt")
    file = PinnedFile(inside / "link")
    assert file.real == (inside / "d" / "a.txt").resolve()
    assert file.read() == b"mine"
    file.replace(b"new", mode=0o640, owner=file.stat())
    assert (inside / "link").is_symlink()
    assert (inside / "d" / "a.txt").read_bytes() == b"new"
    assert (inside / "d" / "a.txt").stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_written_with_its_folders_and_deleted(inside: Path) -> None:
    file = PinnedFile(inside / "x" / "y" / "new.txt")
    with pytest.raises(FileNotFoundError):
        file.stat()
    file.unlink()
    assert file.replace(b"one", mode=0).st_size == 3
    assert file.read() == b"one"
    file.unlink()
    file.unlink()
    assert list((inside / "x" / "y").iterdir()) == []


def test_a_failed_write_leaves_no_temporary_file(inside: Path) -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        PinnedFile(inside / "d" / "a.txt").replace(b"new", mode=0, check=fail)
    assert [path.read_text() for path in (inside / "d").iterdir()] == ["mine"]


def test_links_in_a_circle_are_an_error_of_the_system(inside: Path) -> None:
    (inside / "a").symlink_to("b")
    (inside / "b").symlink_to("a")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        PinnedFile(inside / "a").stat()


def test_a_path_through_a_file_fails_as_in_the_system(inside: Path) -> None:
    file = PinnedFile(inside / "d" / "a.txt" / "b" / "c")
    for act in (file.stat, lambda: file.replace(b"x", mode=0)):
        with pytest.raises((NotADirectoryError, FileExistsError)):
            act()


def test_a_closed_file_holds_no_descriptor(inside: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    files = [PinnedFile(inside / "d" / f"{number}") for number in range(50)]
    for file in files:
        file.close()
        file.close()
    after = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    assert after == before


def test_a_file_that_becomes_a_link_while_its_path_is_checked_is_not_used(inside: Path, outside: Path) -> None:
    class Restless(PinnedFile):
        def check(self) -> None:
            super().check()
            replace_by_link(inside / "d" / "a.txt", outside / "a.txt")

    with pytest.raises(Changed):
        Restless(inside / "d" / "a.txt").stat()


def test_a_link_to_itself_is_an_error_of_its_own(inside: Path) -> None:
    (inside / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        PinnedFile(inside / "loop").stat()


def test_without_an_open_folder_the_path_is_used(inside: Path) -> None:
    file = PinnedFile(inside / "d" / "a.txt")
    file.close()
    assert (file.stat().st_size, file.read()) == (len("mine"), b"mine")
