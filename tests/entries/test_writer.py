"""Session files: whole lines at the end, whole files in the place of others, and nothing outside of a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from turnlog.entries import writer
from turnlog.entries.atomic_file import lock_file, read_whole_file
from turnlog.entries.writer import append_lines, create_session_file, place_session_file, replace_session_file
from turnlog.errors import Changed, TurnlogError

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and limits are those of POSIX")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"a":1}\n')
    return path


def names(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir())


def test_a_line_is_appended_and_its_place_told(file: Path) -> None:
    assert append_lines(file, b"{}\n", root=file.parent) == 8
    assert file.read_bytes() == b'{"a":1}\n{}\n'


@pytest.mark.parametrize("old", [b"", b"{}\n"])
def test_nothing_is_put_between_whole_lines(file: Path, old: bytes) -> None:
    file.write_bytes(old)
    append_lines(file, b"{}\n", root=file.parent)
    assert file.read_bytes() == old + b"{}\n"


@pytest.mark.parametrize("old", [b'{"a":1}', b'{"a":', b"{}\n\0\0"])
def test_a_last_line_without_end_gets_one_before_something_is_appended(file: Path, old: bytes) -> None:
    file.write_bytes(old)
    place = append_lines(file, b"{}\n", root=file.parent)
    assert file.read_bytes() == old + b"\n{}\n"
    assert file.read_bytes()[place:] == b"{}\n"


def test_a_line_that_may_be_in_the_making_is_left_alone_where_that_is_wanted(file: Path) -> None:
    file.write_bytes(b'{"a":')
    with pytest.raises(Changed, match="being written"):
        append_lines(file, b"{}\n", root=file.parent, mend=False)
    assert file.read_bytes() == b'{"a":'


def test_nothing_is_appended_to_a_file_that_changed(file: Path) -> None:
    seen = read_whole_file(file).checkpoint
    append_lines(file, b"{}\n", root=file.parent, expected=seen)
    with pytest.raises(Changed, match="modified in the meantime"):
        append_lines(file, b"{}\n", root=file.parent, expected=seen)
    file.write_bytes(b'{"b":1}\n')
    with pytest.raises(Changed, match="replaced in the meantime"):
        append_lines(file, b"{}\n", root=file.parent, expected=seen)
    assert file.read_bytes() == b'{"b":1}\n'


def test_a_missing_file_is_not_made_by_appending(file: Path) -> None:
    file.unlink()
    with pytest.raises(FileNotFoundError):
        append_lines(file, b"{}\n", root=file.parent)


@posix
def test_many_writers_tear_no_line(file: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from turnlog.entries.writer import append_lines\n"
        "path = Path(sys.argv[1]); line = sys.argv[2].encode() * 3000 + b'\\n'\n"
        "for _ in range(30): append_lines(path, line, root=path.parent)"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(file), letter]) for letter in "xyz"]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    lines = file.read_bytes().splitlines()[1:]
    assert sorted(set(lines)) == [letter * 3000 for letter in (b"x", b"y", b"z")]
    assert len(lines) == 90


@posix
def test_a_writer_waits_for_another_turnlog_that_holds_the_file(file: Path) -> None:
    with file.open("ab", buffering=0) as held:
        lock_file(held.fileno())
        held.write(b'{"b":')
        waiting = threading.Thread(target=append_lines, args=(file, b'{"c":3}\n'), kwargs={"root": file.parent})
        waiting.start()
        waiting.join(0.3)  # longer than a writer looks again; the outcome does not depend on it
        held.write(b"2}\n")
    waiting.join()
    assert file.read_bytes() == b'{"a":1}\n{"b":2}\n{"c":3}\n'


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a write is done")
def test_a_writer_waits_for_a_long_write_of_a_client_without_locks(file: Path) -> None:
    """A client's write is seen in parts; who takes those for a torn line adds an empty line."""
    client = "import os, sys; fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND); line = b'c' * (1 << 24) + b'\\n'\n"
    running = subprocess.Popen([sys.executable, "-c", client + "for _ in range(8): os.write(fd, line)", str(file)])
    while running.poll() is None:
        append_lines(file, b"{}\n", root=file.parent, flush=False)
    assert running.returncode == 0
    assert {line[:1] for line in file.read_bytes().split(b"\n")[:-1]} == {b"{", b"c"}


@pytest.fixture
def limit_file_size() -> Iterator[Callable[[int], None]]:
    """Let files grow up to a size only, as a full disk would."""
    import resource

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, old)


@posix
def test_half_a_line_is_taken_back_when_the_disk_is_full(file: Path, limit_file_size: Callable[[int], None]) -> None:
    limit_file_size(13)
    with pytest.raises(TurnlogError, match=r"only 5 of 9 bytes.*disk full"):
        append_lines(file, b'{"b":22}\n', root=file.parent)
    assert file.read_bytes() == b'{"a":1}\n'


@posix
def test_half_a_line_stays_if_somebody_wrote_behind_it(file: Path, limit_file_size: Callable[[int], None]) -> None:
    file.write_bytes(b"." * 20)
    with file.open("rb+", buffering=0) as opened:
        opened.seek(5)
        limit_file_size(10)
        with pytest.raises(TurnlogError, match="only 5 of 9"):
            writer._write_at_end(opened.fileno(), b"123456789", file)
    assert file.read_bytes() == b"....." + b"12345" + b"." * 10


@posix
def test_lines_appended_while_a_session_file_is_replaced_follow_the_new_content(file: Path) -> None:
    seen = read_whole_file(file).checkpoint
    with file.open("rb+") as old:
        replace_session_file(file, b"new\n", root=file.parent)
        old.seek(0, os.SEEK_END)
        old.write(b'{"late":1}\n')
        old.flush()
        writer._carry_over_appended(old.fileno(), seen.size, file)
    assert file.read_bytes() == b'new\n{"late":1}\n'


def test_a_session_file_is_replaced_if_it_is_still_what_was_read(file: Path) -> None:
    seen = read_whole_file(file).checkpoint
    replace_session_file(file, [b"one\n", b"two\n"], root=file.parent, expected=seen)
    assert file.read_bytes() == b"one\ntwo\n"
    with pytest.raises(Changed, match="in the meantime"):
        replace_session_file(file, b"three\n", root=file.parent, expected=seen)
    assert file.read_bytes() == b"one\ntwo\n"


def test_replacing_a_missing_session_file_creates_it(file: Path) -> None:
    replace_session_file(file.with_name("new.jsonl"), b"{}\n", root=file.parent)
    assert file.with_name("new.jsonl").read_bytes() == b"{}\n"


def test_a_new_session_file_never_takes_the_place_of_another(file: Path) -> None:
    create_session_file(file.with_name("new.jsonl"), [b"{}\n", b"{}\n"], root=file.parent)
    assert file.with_name("new.jsonl").read_bytes() == b"{}\n{}\n"
    with pytest.raises(FileExistsError):
        create_session_file(file, b"{}\n", root=file.parent)
    assert file.read_bytes() == b'{"a":1}\n'


def test_a_file_written_beside_its_place_replaces_another_only_where_that_is_allowed(file: Path) -> None:
    beside = file.with_name("beside")
    beside.write_bytes(b"{}\n")
    with pytest.raises(FileExistsError):
        place_session_file(beside, file)
    assert (file.read_bytes(), beside.read_bytes()) == (b'{"a":1}\n', b"{}\n")
    place_session_file(beside, file, may_replace=True)
    assert (file.read_bytes(), beside.exists()) == (b"{}\n", False)


@posix
def test_a_link_is_followed_within_the_folder_and_not_out_of_it(file: Path, tmp_path: Path) -> None:
    root = tmp_path / "projects"
    (root / "q").symlink_to(file.parent)
    append_lines(root / "q" / "s.jsonl", b"{}\n", root=root)
    assert file.read_bytes() == b'{"a":1}\n{}\n'
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(b"mine\n")
    link = file.with_name("t.jsonl")
    link.symlink_to(outside)
    for write in (append_lines, replace_session_file):
        with pytest.raises(TurnlogError, match=r"resolves to .*outside\.jsonl, which is outside"):
            write(link, b"{}\n", root=root)
    assert outside.read_bytes() == b"mine\n"


def test_lines_that_need_not_outlive_a_power_failure_are_added_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n")
    assert writer.append_lines(path, b"two\n", root=tmp_path, flush=False) == 4
    assert path.read_bytes() == b"one\ntwo\n"
