"""Files that change as a whole: old or new content, nothing in between, and nothing outside of a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from turnlog.entries.atomic_file import create_file, flush_folder, read_whole_file, replace_file
from turnlog.errors import Changed, TurnlogError

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and limits are those of POSIX")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "projects" / "p" / "s.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"a":1}\n')
    return path


def names(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir())


def test_a_file_is_replaced_at_once(file: Path) -> None:
    with file.open("rb") as before:
        replace_file(file, [b"one\n", b"two\n"], root=file.parent, expected=read_whole_file(file).checkpoint)
        assert before.read() == b'{"a":1}\n'
    assert file.read_bytes() == b"one\ntwo\n"
    assert names(file) == ["s.json"]


@posix
def test_a_replaced_file_keeps_its_mode_and_gets_the_time_of_the_write(file: Path) -> None:
    file.chmod(0o640)
    os.utime(file, ns=(1_000, 2_000))
    replace_file(file, b"new", root=file.parent, mode=0o600)
    assert file.stat().st_mode & 0o777 == 0o640
    assert file.stat().st_mtime_ns > 2_000


@posix
def test_a_missing_file_is_made_with_the_given_mode(file: Path) -> None:
    other = file.with_name("new.json")
    replace_file(other, b"{}", root=file.parent, mode=0o644)
    assert (other.read_bytes(), other.stat().st_mode & 0o777) == (b"{}", 0o644)


def grow_file(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"{}\n")


def other(file: Path) -> None:
    file.rename(file.with_name("old"))
    file.write_bytes(b'{"a":1}\n')


@posix
@pytest.mark.parametrize(
    ("change", "words"),
    [(grow_file, "was written"), (other, "replaced in the meantime"), (Path.unlink, "removed in the meantime")],
)
def test_a_file_that_changes_while_the_new_one_is_written_stays(
    file: Path, change: Callable[[Path], None], words: str
) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"new"
        change(file)

    with pytest.raises(Changed, match=words):
        replace_file(file, chunks(), root=file.parent, expected=read_whole_file(file).checkpoint)
    assert b"new" not in b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert not [name for name in names(file) if name.endswith(".tmp")]


def test_a_file_that_clients_append_to_is_not_replaced_without_what_they_append(tmp_path: Path) -> None:
    """The session writer carries lines over that come while it writes; this one would lose them."""
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"{}\n")
    with pytest.raises(ValueError, match=r"entries\.writer"):
        replace_file(file, b"", root=tmp_path, expected=read_whole_file(file).checkpoint)
    assert file.read_bytes() == b"{}\n"


def test_what_was_looked_at_must_still_be_there(file: Path) -> None:
    seen = read_whole_file(file).checkpoint
    file.unlink()
    with pytest.raises(Changed, match="no longer exists"):
        replace_file(file, b"new", root=file.parent, expected=seen)
    assert names(file) == []


@posix
def test_what_a_killed_process_left_is_gone_after_the_next_write(file: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from turnlog.entries.atomic_file import replace_file\n"
        "def chunks():\n    yield b'half'\n    os.kill(os.getpid(), 9)\n"
        "replace_file(Path(sys.argv[1]), chunks(), root=Path(sys.argv[1]).parent)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(file)], check=False).returncode == -9
    assert len(names(file)) == 2
    assert file.read_bytes() == b'{"a":1}\n'
    replace_file(file, b"new", root=file.parent)
    assert (names(file), file.read_bytes()) == (["s.json"], b"new")


def test_a_new_content_that_fails_leaves_no_trace(file: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"new"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        replace_file(file, chunks(), root=file.parent)
    assert (names(file), file.read_bytes()) == (["s.json"], b'{"a":1}\n')


@posix
def test_a_replaced_file_is_reached_through_a_link_within_the_folder_and_never_outside(
    file: Path, tmp_path: Path
) -> None:
    root = tmp_path / "projects"
    (root / "q").symlink_to(file.parent)
    replace_file(root / "q" / "s.json", b"new\n", root=root)
    assert file.read_bytes() == b"new\n"
    outside = tmp_path / "outside.json"
    outside.write_bytes(b"mine\n")
    link = file.with_name("t.json")
    link.symlink_to(outside)
    with pytest.raises(TurnlogError, match=r"resolves to .*outside\.json, which is outside"):
        replace_file(link, b"{}\n", root=root)
    assert outside.read_bytes() == b"mine\n"


@posix
def test_a_replaced_link_stays_a_link(file: Path) -> None:
    link = file.with_name("t.json")
    link.symlink_to(file)
    replace_file(link, b"new", root=file.parent)
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_a_folder_that_is_gone_needs_no_flushing(tmp_path: Path) -> None:
    flush_folder(tmp_path / "gone")


def test_a_new_file_appears_whole_and_private(tmp_path: Path) -> None:
    create_file(tmp_path / "new.jsonl", [b"{}\n", b"{}\n"], root=tmp_path)
    assert (tmp_path / "new.jsonl").read_bytes() == b"{}\n{}\n"
    assert names(tmp_path / "new.jsonl") == ["new.jsonl"]
    if os.name == "posix":
        assert (tmp_path / "new.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_never_takes_the_place_of_another(file: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        monkeypatch.setattr(os, "link", refuse_to_link)
    with pytest.raises(FileExistsError):
        create_file(file, b"{}", root=file.parent)
    assert file.read_bytes() == b'{"a":1}\n'
    assert names(file) == ["s.json"]


def test_a_new_file_appears_where_files_have_one_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse_to_link)
    create_file(tmp_path / "new", b"{}", root=tmp_path)
    assert names(tmp_path / "new") == ["new"]


def refuse_to_link(*_: object) -> None:
    raise OSError(95, "not supported")


def test_of_a_new_file_that_could_not_be_written_nothing_stays(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"{}\n"
        raise Changed("no more")

    with pytest.raises(Changed):
        create_file(tmp_path / "new", broken(), root=tmp_path)
    assert names(tmp_path / "new") == []
