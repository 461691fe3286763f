"""Reading files: every byte is part of an entry or of a scrap, whatever stands there."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given

from tests.entries.strategies import BOM, assert_accounted, files
from turnlog.entries.entry import Entry
from turnlog.entries.reader import BytesSource, FileSource, Transcript, scan_lines
from turnlog.errors import Changed, Unreadable

FULL = os.environ.get("TURNLOG_FULL") == "1"
ROW = b'{"parentUuid":null,"type":"user","uuid":"%s","sessionId":"s","message":{"content":"hello"}}'


def kinds(data: bytes) -> list[str | None]:
    """What the pieces of a file are: the flaw of an entry or the kind of a scrap."""
    return [item.flaw if isinstance(item, Entry) else item.kind for item, _ in scan_lines(io.BytesIO(data))]


@given(data=files)
@example(data=b"")
@example(data=b"\n")
@example(data=BOM)
@example(data=BOM * 2)
@example(data=b"\0" * 4096)
@example(data=b'{"type":"user","uuid":""}')
@example(data=rb'{"\udc00":1,"type":"user"}')
@example(data=b"{}{}{}")
@example(data=b'{"a":' * 3000)
def test_every_byte_of_any_file_is_accounted_for(data: bytes) -> None:
    assert_accounted(data)


FILES: dict[str, tuple[bytes, list[str | None]]] = {
    "nothing": (b"", []),
    "an entry": (ROW % b"a" + b"\n", [None]),
    "an entry without a line end": (ROW % b"a", [None]),
    "several objects on one line": (ROW % b"a" + ROW % b"b" + ROW % b"c" + b"\n", ["followed", "behind", "behind"]),
    "a broken line": (b'{"type":"user"\n' + ROW % b"a" + b"\n", ["broken", None]),
    "blank lines": (b"\n" + ROW % b"a" + b"\n  \n", ["blank", None, "blank"]),
    "a comment line": (b"// made by hand\n" + ROW % b"a" + b"\n", ["comment", None]),
    "a torn tail": (ROW % b"a" + b"\n" + (ROW % b"b")[:40], [None, "torn"]),
    "a byte order mark": (BOM + ROW % b"a" + b"\n", ["bom", None]),
    "CR LF": (ROW % b"a" + b"\r\n" + ROW % b"b" + b"\r\n", [None, None]),
    "NULs between lines": (ROW % b"a" + b"\n" + b"\0" * 512 + b"\n", [None, "padding"]),
    "NULs in front of an entry": (b"\0" * 512 + ROW % b"a" + b"\n", ["padding", "behind"]),
    "NULs at the end": (ROW % b"a" + b"\n" + b"\0" * 512, [None, "padding"]),
    "invalid UTF-8 in a text": (ROW.replace(b"hello", b"\xff") % b"a" + b"\n", ["utf-8"]),
    "invalid UTF-8 in a field": (ROW % b"\xff" + b"\n", ["utf-8"]),
    "lone surrogates": (ROW % rb"\ud800" + b"\n", ["surrogate"]),
    "keys written twice": (b'{"type":"user","type":"assistant"}\n', [None]),
    "100,000 levels": (b'{"type":"user","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", ["deep"]),
    "numbers beyond 64 bits": (b'{"uuid":%s}\n' % (b"9" * 30), ["types"]),
    "5,000 digits": (b'{"uuid":%s}\n' % (b"9" * 5000), ["number"]),
    "1e400": (b'{"uuid":1e400}\n', ["number"]),
    "JSON that is no object": (b'1\n"x"\n[]\nnull\n', ["value"] * 4),
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_may_hold_is_told_apart(name: str) -> None:
    data, expected = FILES[name]
    assert kinds(data) == expected
    assert_accounted(data)


def test_the_last_of_a_key_written_twice_counts() -> None:
    (piece,) = scan_lines([b'{"type":"user","type":"assistant","uuid":"a","uuid":"b"}\n'])
    assert isinstance(piece.item, Entry)
    assert (piece.item.type, piece.item.uuid) == ("assistant", "b")


def test_scanning_may_begin_in_the_middle_of_a_file() -> None:
    pieces = list(scan_lines([b"{}\n", b"null\n", BOM + b"{}\n"], 100))
    assert [(item.offset, len(raw)) for item, raw in pieces] == [(100, 3), (103, 5), (108, 6)]


def test_scanning_takes_one_line_at_a_time() -> None:
    lines = iter([b"{}\n", b"null\n", b"{}\n"])
    pieces = scan_lines(lines)
    next(pieces)
    assert next(lines) == b"null\n"


MEMORY = """
import sys
from pathlib import Path
from turnlog.entries.reader import Transcript

def peak():
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return size if sys.platform == "darwin" else size * 1024
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

before = peak()
file = Transcript.open(Path(sys.argv[1]))
print(peak() - before, *((item.size, getattr(item, "uuid", None) or item.kind) for item in file.items), sep="\\n")
"""
LARGE = {
    "an entry": (ROW.replace(b'lo"}}', b"lo") % b"a", b'"}}\n', "a", 2.5),
    "a torn line": (ROW.replace(b'lo"}}', b"lo") % b"a", b"", "torn", 2.5),
    "a broken line": (ROW.replace(b'lo"}}', b"lo") % b"a", b'"}\n', "broken", 4.5),
    "NULs": (b"", b"", "padding", 2.5),
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
@pytest.mark.parametrize("name", LARGE)
def test_a_line_of_half_a_gigabyte_needs_a_small_multiple_of_it(name: str, tmp_path: Path) -> None:
    """In short runs the line has 20 MB."""
    start, end, expected, factor = LARGE[name]
    size = (500 if FULL else 20) << 20
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        file.write(start)
        if start:
            for _ in range(size >> 20):
                file.write(b"x" * (1 << 20))
        file.truncate(file.tell() if start else size)
        file.seek(0, io.SEEK_END)
        file.write(end)
    found = subprocess.run(
        [sys.executable, "-c", MEMORY, path], capture_output=True, encoding="utf-8", timeout=300, check=True
    ).stdout.splitlines()
    assert found[1:] == [str((path.stat().st_size, expected))]
    assert int(found[0]) <= factor * size
    path.unlink()


# Files.


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"none\.jsonl: No such file"):
        Transcript.open(tmp_path / "none.jsonl")


def test_a_folder_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"a folder, not a session file"):
        Transcript.open(tmp_path)


def test_a_name_that_no_file_can_have_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        Transcript.open(tmp_path / ("x" * 5000))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_unreadable() -> None:
    end, other = os.pipe()
    os.close(other)
    try:
        with pytest.raises(Unreadable, match=r"seek"):
            Transcript.open(Path(f"/dev/fd/{end}"))
    finally:
        os.close(end)


def test_bytes_can_be_had_at_any_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\nnull\n")
    file, memory = FileSource(path), BytesSource(b"{}\nnull\n")
    for source in (file, memory):
        assert source.read(3, 4) == b"null"
        assert source.read(0, 0) == b""
        assert list(source.read_lines(3)) == [b"null\n"]
        assert list(source.read_lines(8)) == []
        source.close()


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs a file of the kernel's that is read in parts")
def test_bytes_that_the_system_returns_in_parts_are_read_completely() -> None:
    source = FileSource(Path("/proc/self/smaps"))
    try:
        assert len(source.read(0, 10_000)) == 10_000
    finally:
        source.close()


def test_reading_past_the_end_of_a_file_that_was_cut_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(ROW % b"a" + b"\n" + ROW % b"b" + b"\n")
    file = Transcript.open(path)
    os.truncate(path, len(ROW))
    assert file.read_body(file.entries[0])["uuid"] == "a"
    with pytest.raises(Changed, match=r"truncated while being read"):
        file.read_body(file.entries[1])
    with pytest.raises(Changed, match=r"truncated while being read"):
        file.grow()
    file.close()


def test_whether_a_file_only_grew_can_be_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(ROW % b"a" + b"\n")
    file = Transcript.open(path)
    with path.open("ab") as appended:
        appended.write(ROW % b"b" + b"\n")
    assert file.find_stale_reason() is None
    path.write_bytes(ROW % b"c" + b"\n")
    assert file.find_stale_reason() is not None
    assert Transcript.from_bytes(ROW).find_stale_reason() is None
    file.close()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced")
def test_a_file_that_was_replaced_is_still_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(ROW % b"a" + b"\n")
    file = Transcript.open(path)
    (tmp_path / "b").write_bytes(b'{"other":"file, and longer than the one before; it must not be seen"}\n' * 9)
    (tmp_path / "b").replace(path)
    assert file.read_body(file.entries[0])["uuid"] == "a"
    assert file.find_stale_reason() == "replaced"
    assert not file.grow()
    assert Counter(entry.uuid for entry in file.entries) == {"a": 1}
    file.close()


def test_what_was_read_stays_after_closing_but_bodies_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(ROW % b"a" + b"\n")
    file = Transcript.open(path)
    file.close()
    assert file.entries[0].uuid == "a"
    with pytest.raises(ValueError, match=r"closed"):
        file.read_body(file.entries[0])
    file.close()
